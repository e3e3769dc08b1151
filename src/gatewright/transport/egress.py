"""Asking strangers for small documents: no redirect, no cookie, no large body, no long wait.

The addresses come from servers that the operator configured, but the servers chose them. So nothing
but the given URL is asked, and `outside` keeps a public server from pointing into the operator's own
network: a name that resolves to an address that is not on the public internet is not connected to.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import socket
from collections.abc import Mapping

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult
from yarl import URL

__all__ = ["MOST_BYTES", "SECONDS", "Egress", "EgressFailed", "is_outside", "is_public"]

MOST_BYTES = 256 * 1024
SECONDS = 15.0


class EgressFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """No answer, or none that may be used. The text says why."""


class Egress:
    """Asks. Keeps nothing between two questions."""

    def __init__(self, *, seconds: float = SECONDS) -> None:
        self._timeout = aiohttp.ClientTimeout(total=seconds)

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
        if outside and _is_address(host) and not is_public(host):
            raise EgressFailed(f"{host} is no public address")
        resolver = _Public() if outside else aiohttp.ThreadedResolver()
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
                return answer.status, await _whole(answer)
        except TimeoutError:
            raise EgressFailed(f"{host} did not answer in {self._timeout.total:g} s") from None
        except (aiohttp.ClientError, OSError, ValueError) as problem:
            raise EgressFailed(f"{host} cannot be asked: {problem}") from None


async def _whole(answer: aiohttp.ClientResponse) -> bytes:
    pieces: list[bytes] = []
    total = 0
    async for piece in answer.content.iter_any():
        total += len(piece)
        if total > MOST_BYTES:
            raise EgressFailed(f"{answer.url.host} answered more than {MOST_BYTES} bytes")
        pieces.append(piece)
    return b"".join(pieces)


class _Public(AbstractResolver):
    """Resolves names to public addresses only. The connection is made to what was judged here, so
    a name that changes its mind between two look-ups gains nothing."""

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(
            host, port, family=family, type=socket.SOCK_STREAM, flags=socket.AI_ADDRCONFIG
        )
        usable = [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=port,
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
            if is_public(str(address[0]))
        ]
        if not usable:
            raise OSError(errno.EHOSTUNREACH, f"{host} has no public address")
        return usable

    async def close(self) -> None:
        """Nothing is kept."""


async def is_outside(url: str) -> bool:
    """Whether a URL leads to the public internet only. What cannot be resolved does."""
    host = URL(url).host or ""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, 0, type=socket.SOCK_STREAM)
    except OSError:
        return True
    return all(is_public(str(address[0])) for *_, address in found)


def is_public(address: str) -> bool:
    """Whether an address is one of the public internet. A name is not an address."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    judged = mapped or found
    return judged.is_global and not judged.is_multicast


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return True
