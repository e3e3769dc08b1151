"""`Subscriptions`: sets an SDK client's log level and resource subscriptions on a server with sessions, again in each new session.

A server with sessions forgets both with the session. Nothing is put to it twice for that: a new connection is told by itself, and
where it ends meanwhile, the next one is.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any

from gatewright.sdk.errors import SdkError

if TYPE_CHECKING:
    from gatewright.mcp.client.link import Link

__all__ = ["Subscriptions"]

log = logging.getLogger("gatewright.sdk")

Put = Callable[[str, dict[str, Any]], Awaitable[object]]


class Subscriptions:
    """Of one client."""

    def __init__(self, patience_s: float) -> None:
        """`patience_s` is how long a new connection may take for each of them."""
        self._patience_s = patience_s
        self._level: str | None = None
        self._uris: dict[str, None] = {}
        self._order = asyncio.Lock()
        self._telling: asyncio.Task[None] | None = None

    async def log_from(self, level: str, put: Put) -> None:
        """Want log lines from this severity on."""
        async with self._order:
            await put("logging/setLevel", {"level": level})
            self._level = level

    async def watch(self, uris: Sequence[str], put: Put) -> None:
        """Want to hear of these resources, and of no others any more."""
        async with self._order:
            for uri in uris:
                await put("resources/subscribe", {"uri": uri})
                self._uris[uri] = None
            for uri in [one for one in self._uris if one not in uris]:
                del self._uris[uri]
                try:
                    await put("resources/unsubscribe", {"uri": uri})
                except SdkError as problem:
                    log.warning("the server may go on to tell of %s: %s", uri, problem)

    def renew(self, link: Link) -> None:
        """Tell a new connection, or a new session behind an old one, beside whatever it was made for."""
        if self._telling is not None:
            self._telling.cancel()
        if self._level is not None or self._uris:
            self._telling = asyncio.create_task(self._tell(link))

    async def _tell(self, link: Link) -> None:
        from gatewright.mcp.client.link import ServerFailed

        async with self._order:
            wanted = [("resources/subscribe", {"uri": uri}) for uri in self._uris]
            if self._level is not None:
                wanted.insert(0, ("logging/setLevel", {"level": self._level}))
            for method, params in wanted:
                if not link.open:
                    return
                try:
                    await link.fetch(method, params, self._patience_s)
                except ServerFailed as problem:
                    log.warning("not taken by the new connection: %s: %s", params, problem)

    async def close(self) -> None:
        """Tell nobody any more."""
        if self._telling is not None:
            self._telling.cancel()
            await asyncio.wait([self._telling])
