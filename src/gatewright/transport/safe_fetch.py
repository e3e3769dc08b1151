"""`Egress`: single HTTP GETs and POSTs, bounded, no redirects or pool; resolver `PublicOnly` (SSRF protection); tells if a host is public.

The addresses come from servers that the operator configured, but the servers chose them. So nothing
but the given URL is asked, and `outside` keeps a public server from pointing into the operator's own
network: a name that resolves to an address that is not on the public internet is not connected to.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

from gatewright.transport.name_lookup import look_up
from gatewright.web.ip_addresses import is_public

__all__ = [
    "MOST_BYTES",
    "SECONDS",
    "Addresses",
    "Egress",
    "EgressFailed",
    "PublicOnly",
    "addresses_of",
    "is_inside",
    "is_outside",
]

MOST_BYTES = 256 * 1024
SECONDS = 15.0


class EgressFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """No answer, or none that may be used. The text says why."""


class Egress:
    """Sends single requests, each within `seconds`. Keeps no connection and no cookie between two."""

    def __init__(self, *, seconds: float = SECONDS, most_bytes: int = MOST_BYTES) -> None:
        """An answer that is longer than `most_bytes` is none."""
        self._timeout = aiohttp.ClientTimeout(total=seconds)
        self._most_bytes = most_bytes

    async def ask(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        *,
        outside: bool,
    ) -> tuple[int, bytes]:
        """GET a URL, or POST `body` to it: the status and the whole body. Raises `EgressFailed`.

        `outside` refuses every address that is not public. A redirect is an answer like any other,
        with status 3xx; it is not followed.
        """
        where = URL(url, encoded=True)
        host = where.host or ""
        if outside and is_inside(host):
            raise EgressFailed(f"{host} is no public address")
        resolver = PublicOnly() if outside else Addresses()
        connector = aiohttp.TCPConnector(resolver=resolver, limit=2, force_close=True)
        try:
            async with (
                aiohttp.ClientSession(
                    connector=connector, timeout=self._timeout, cookie_jar=aiohttp.DummyCookieJar()
                ) as session,
                session.request(
                    "GET" if body is None else "POST",
                    where,
                    headers={"Accept": "application/json", **(headers or {})},
                    data=body,
                    allow_redirects=False,
                ) as answer,
            ):
                return answer.status, await _whole(answer, self._most_bytes)
        except TimeoutError:
            raise EgressFailed(f"{host} did not answer in {self._timeout.total:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise EgressFailed(f"{host} cannot be asked: {problem}") from None


async def _whole(answer: aiohttp.ClientResponse, most: int) -> bytes:
    pieces: list[bytes] = []
    total = 0
    async for piece in answer.content.iter_any():
        total += len(piece)
        if total > most:
            raise EgressFailed(f"{answer.url.host} answered more than {most} bytes")
        pieces.append(piece)
    return b"".join(pieces)


class Addresses(AbstractResolver):
    """Resolves names for `aiohttp`, in threads that nothing else waits for (`name_lookup`)."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await look_up(host, port, family=family, flags=socket.AI_ADDRCONFIG)
        return [
            ResolveResult(
                hostname=host,
                host=_with_zone(address),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        """Nothing is kept."""


class PublicOnly(Addresses):
    """Resolves names to public addresses only. The connection is made to what was judged here, so
    a name that changes its mind between two look-ups gains nothing."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await super().resolve(host, port, family)
        usable = [one for one in found if is_public(one["host"])]
        if not usable:
            raise OSError(errno.EHOSTUNREACH, f"{host} has no public address")
        return usable


async def is_outside(url: str) -> bool:
    """Whether a URL leads to the public internet only. What cannot be resolved does."""
    return all(map(is_public, await addresses_of(URL(url).host or "", untrusted=False)))


async def addresses_of(host: str, *, untrusted: bool = True) -> Sequence[str]:
    """All addresses of a name; none where it has none, or where nobody says so in time. An `untrusted` name is one that a caller
    chose (`name_lookup`)."""
    try:
        async with asyncio.timeout(SECONDS):
            found = await look_up(host, 0, untrusted=untrusted)
    except (OSError, UnicodeError):
        return []
    return [str(address[0]) for *_, address in found]


def _with_zone(address: Sequence[Any]) -> str:
    """An address as text. A link-local one of IPv6 is reached through one interface, which is apart from it (RFC 4007)."""
    zone = address[3] if len(address) > 3 else 0
    return f"{address[0]}%{zone}" if zone and "%" not in address[0] else str(address[0])


def is_inside(host: str) -> bool:
    """Whether a host is written as an address that is not public; names are judged when they resolve."""
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return not is_public(host)
