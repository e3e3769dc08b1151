"""`About`: what a kept frame or answer is of (tool, prompt, resource, task, server), judged by its caller's grants when handed out late.

A grant that is taken back ends the calls that run, and what had ended before is not handed out after it either: on a stream that a client
resumes (`Last-Event-ID`), to who comes back with a `requestState`, as the result of a task, on a session's own stream.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Protocol

from gatewright.call import Call, Caller, Kind, Target
from gatewright.mcp.protocol.mcp_server import Inbound
from gatewright.mcp.wire.headers_and_meta import META_SERVER

__all__ = ["NOTHING_TAKEN_BACK", "About", "Kept", "of_call", "of_request", "of_server"]


_NO_PARAMS: Mapping[str, Any] = MappingProxyType({})


class About(NamedTuple):
    """What something is of. Lists, and methods that name none of it, are of nothing that can be taken back alone."""

    kind: Kind | Literal["template", "task", "server"]
    name: str
    """As its caller called it; empty of none."""
    inner: str = ""
    """The argument `name`: of a tool of the gateway by which another is called, that one. Of a method: the server that it is addressed to."""
    target: Target | None = None
    """The tool that was meant when it was called (`Kept.meant`): what it is called may lead elsewhere since, or nowhere."""


class Kept(Protocol):
    """Judges what is kept for callers."""

    def meant(self, caller: Caller, profile: str, about: About) -> About:
        """The same with what it means now, which is asked when a call begins: later its server may not list that any more."""

    def withheld(self, caller: Caller, profile: str, about: About) -> bool:
        """Whether what was kept for a caller is not for it any more."""


class _Nothing:
    def meant(self, caller: Caller, profile: str, about: About) -> About:
        """It is judged by nothing."""
        return about

    def withheld(self, caller: Caller, profile: str, about: About) -> bool:
        """Nothing is taken back here."""
        return False


NOTHING_TAKEN_BACK: Kept = _Nothing()
"""Where all callers may see everything."""


def of_request(inbound: Inbound) -> About:
    """What a request is of."""
    spec, params, method = inbound.spec, inbound.params, inbound.method
    if method in _OF_TASK:
        return About("task", _text(params.get("taskId")))
    if method == "completion/complete":
        return _completed(params.get("ref"))
    if spec.kind == "method":
        meta = params.get("_meta")
        return About(
            "method", method, _text(meta.get(META_SERVER) if isinstance(meta, dict) else "")
        )
    arguments = params.get("arguments")
    inner = arguments.get("name") if isinstance(arguments, dict) else None
    name = params.get(spec.names) if spec.names else ""
    return About(spec.kind, str(name), _text(inner))


def of_call(call: Call) -> About:
    """What a call is of, as the one that was meant."""
    return About(call.kind, call.name)


def of_server(server: str, params: Mapping[str, Any] = _NO_PARAMS) -> About:
    """What a server says on its own account; what the gateway says is of none, but for events, whose params name the server."""
    return About("server", server or _text(params.get("server_id")))


def _completed(ref: Any) -> About:
    if not isinstance(ref, dict):
        return About("method", "completion/complete")
    prompt = ref.get("type") == "ref/prompt"
    named = ref.get("name" if prompt else "uri")
    return About("prompt" if prompt else "template", named if isinstance(named, str) else "")


def _text(found: Any) -> str:
    return found[:_LONGEST] if isinstance(found, str) else ""


_OF_TASK = frozenset(f"tasks/{what}" for what in ("get", "result", "cancel", "update"))
_LONGEST = 256
"""Of a longer name nothing is handed out: no tool is called so."""
