"""Builds the `Client`, MGP included, that `initialize` or a 2026-07-28 `_meta` describes; `Introduction` caches the last per HTTP head."""

from __future__ import annotations

from typing import Any

from gatewright.call import Client
from gatewright.mcp.protocol import negotiate
from gatewright.mcp.wire.headers_and_meta import OF_CONNECTION

__all__ = ["Introduction", "client_of"]

_MOST = 4096
"""Bytes of params whose `_meta` is kept for as long as the head that came with it."""


def client_of(
    revision: str,
    capabilities: dict[str, Any],
    info: Any,
    face: negotiate.Face,
    log_level: str | None = None,
) -> Client:
    """The client that says so of itself, with what of MGP was agreed on where it offered that."""
    offer = negotiate.read_offer(capabilities) if capabilities else None
    return Client(
        revision,
        capabilities,
        info if type(info) is dict else {},
        None if offer is None else negotiate.agree(offer, face),
        log_level,
        "" if offer is None else negotiate.flaw_of(offer, face),
    )


class Introduction:
    """What a modern client said of itself with its last request, and who that is: most say the same with each (MCP 2026-07-28, basic).

    One is for requests that say one revision in their headers. What it keeps was found good.
    """

    __slots__ = ("_face", "_meta", "client")

    def __init__(self) -> None:
        self._meta: dict[str, Any] = {}
        self._face: negotiate.Face | None = None
        self.client: Client | None = None
        """Who it was, as long as it says the same."""

    def again(self, meta: Any, face: negotiate.Face) -> Client | None:
        """The client, where `_meta` says what it said last and what we offer is the same."""
        return self.client if self._meta == meta and self._face is face else None

    def keep(self, meta: dict[str, Any], face: negotiate.Face, client: Client, size: int) -> None:
        """Remember a client whose `_meta` is about nothing but itself; `size` in bytes of all that it stands in."""
        if size <= _MOST and OF_CONNECTION.issuperset(meta):
            self._meta, self._face, self.client = meta, face, client
