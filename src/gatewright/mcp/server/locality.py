"""Tells local requests from proxied and remote ones, and removes this machine's paths from messages to the latter.

A reverse proxy that listens for others and asks a gateway on loopback makes every peer a local one. So the peer's address alone
says nothing: a request that says that it was passed on, or that names another host than this machine, is of somebody elsewhere.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Mapping
from ipaddress import ip_address
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Caller, Outcome, Refusal
from gatewright.command_text import as_heard, heard_elsewhere, is_heard_elsewhere
from gatewright.short_cache import cached_if_short
from gatewright.standing import NOTHING, Standing

__all__ = ["is_near", "is_passed_on", "told", "worded", "worded_nearby"]

_PASSED_ON = frozenset(
    {
        b"forwarded",
        b"via",
        b"x-real-ip",
        b"x-client-ip",
        b"x-cluster-client-ip",
        b"x-original-host",
        b"x-envoy-external-address",
        b"true-client-ip",
        b"cf-connecting-ip",
        b"cf-ray",
        b"fastly-client-ip",
        b"tailscale-user-login",
        b"x-amzn-trace-id",
        b"x-cloud-trace-context",
        b"cdn-loop",
    }
)
_PASSED_ON_PREFIX = b"x-forwarded"


def is_passed_on(headers: Mapping[bytes, bytes]) -> bool:
    """Whether headers, by name in lower case, are those of a request that a proxy passed on, or name another host than this machine."""
    if any(name in _PASSED_ON or name.startswith(_PASSED_ON_PREFIX) for name in headers):
        return True
    return not _is_local_host(headers.get(b"host", b""))


def is_near(scope: Mapping[str, Any], *, passed_on: bool) -> bool:
    """Whether an ASGI connection is of a program of this machine. `passed_on` is what its headers say."""
    client = scope.get("client")
    return not passed_on and client is not None and _is_loopback(str(client[0]))


@cached_if_short(256)
def _is_local_host(host: bytes) -> bool:
    text = host.decode("latin-1").lower()
    name, colon, port = text.rpartition(":")
    bare = (name if colon and port.isdigit() else text).strip("[]")
    return bare == "localhost" or bare.endswith(".localhost") or _is_loopback(bare)


@cached_if_short(256)
def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return False


async def told(serve: Callable[[], Awaitable[None]], caller: Caller | Refusal) -> None:
    """Serve somebody elsewhere: commands are spelled without folders of this machine, except for its operators."""
    # An operator's key opens all of it anyway, and its commands should work as they are shown (decision 0053).
    if isinstance(caller, Caller) and caller.kind == "operator":
        await serve()
        return
    with heard_elsewhere():
        await serve()


def worded(
    call: Call, back: Back, further: Callable[[Call, Back], Coroutine[Any, Any, Outcome]]
) -> Coroutine[Any, Any, Outcome]:
    """Hook of the kernel: a caller elsewhere hears no folders of this machine in a refusal that was worded before."""
    work = further(call, back)
    return _plain(work) if is_heard_elsewhere() else work


def worded_nearby(call: Call) -> Standing | None:
    """Of callers nearby, as those of prepared calls are (`http_app`), nothing is worded otherwise."""
    return None if is_heard_elsewhere() else NOTHING


async def _plain(work: Awaitable[Outcome]) -> Outcome:
    outcome = await work
    if isinstance(outcome, Answer) or not outcome.message:
        return outcome
    return replace(outcome, message=as_heard(outcome.message))
