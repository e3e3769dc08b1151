"""`ApiClient`: pooled HTTP client for APIs and OpenAPI documents: no redirects or retries, bounded answers, optionally public hosts only.

No redirect is followed, no cookie kept, no proxy of the environment used, and no coding of the content
asked for, so that what arrives is as long as it says. `outside` refuses every address that is not public.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Literal

import aiohttp
import msgspec
from yarl import URL

from gatewright import __version__
from gatewright.transport.safe_fetch import Addresses, PublicOnly, is_inside

__all__ = ["ApiAnswer", "ApiClient", "ApiFailed"]

_CONNECT_S = 10.0
_HEADER_BYTES = 32 * 1024


class ApiFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """No answer, or none that may be used. The text says why; `sent` is False where nothing left."""

    def __init__(
        self, text: str, *, kind: Literal["unreachable", "broken", "too_large"], sent: bool
    ) -> None:
        super().__init__(text)
        self.kind = kind
        self.sent = sent


class ApiAnswer(msgspec.Struct, frozen=True):
    """A whole answer. `media` is its bare media type in small letters."""

    status: int
    media: str
    body: bytes
    location: str = ""


class ApiClient:
    """Sends requests over kept connections. To be made on the running loop, and closed. An answer has at most `most_bytes`;
    `outside` refuses every address that is not public."""

    def __init__(self, *, outside: bool, most_bytes: int, connections: int = 64) -> None:
        self._outside = outside
        self._most = most_bytes
        resolver = PublicOnly() if outside else Addresses()
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(resolver=resolver, limit=connections),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_S),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            max_line_size=_HEADER_BYTES,
            max_field_size=_HEADER_BYTES,
            skip_auto_headers=("User-Agent", "Accept-Encoding", "Accept"),
        )
        # Where a kept connection ends without an answer, aiohttp would send a GET, PUT or DELETE once more by itself.
        self._session._retry_connection = False

    async def ask(
        self,
        method: str,
        url: str,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
    ) -> ApiAnswer:
        """The answer to one request; `url` is sent as it is. Raises `ApiFailed`. A cancellation closes
        the connection at once; how long to wait is the caller's business."""
        where = URL(url, encoded=True)
        host = where.host or ""
        if self._outside and is_inside(host):
            raise ApiFailed(f"{host} is no public address", kind="unreachable", sent=False)
        own = {"User-Agent": f"gatewright/{__version__}", "Accept-Encoding": "identity"}
        try:
            async with self._session.request(
                method, where, headers={**own, **(headers or {})}, data=body, allow_redirects=False
            ) as answer:
                return await self._whole(answer, host)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as problem:
            why = f"{host} cannot be reached: {problem}"
            raise ApiFailed(why, kind="unreachable", sent=False) from None
        except (aiohttp.ClientError, OSError, ValueError, TimeoutError) as problem:
            why = f"{host} did not answer as HTTP has it: {type(problem).__name__}"
            raise ApiFailed(why, kind="broken", sent=True) from None

    async def _whole(self, answer: aiohttp.ClientResponse, host: str) -> ApiAnswer:
        coding = answer.headers.get("Content-Encoding", "identity").strip().lower()
        if coding not in ("", "identity"):
            why = f"{host} answered in the coding {coding[:40]!r}, which was not asked for"
            raise ApiFailed(why, kind="broken", sent=True)
        pieces: list[bytes] = []
        total = 0
        async for piece in answer.content.iter_any():
            total += len(piece)
            if total > self._most:
                why = f"{host} answered more than {self._most} bytes"
                raise ApiFailed(why, kind="too_large", sent=True)
            pieces.append(piece)
        media = answer.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        location = answer.headers.get("Location", "")
        return ApiAnswer(answer.status, media, b"".join(pieces), location)

    async def close(self) -> None:
        """Close all connections."""
        await self._session.close()
        await asyncio.sleep(0)  # transports close in the next turn
