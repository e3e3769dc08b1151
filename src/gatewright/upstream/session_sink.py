"""What a server says on a connection that one session has for itself."""

from __future__ import annotations

from typing import Any, Protocol

from gatewright.links.link import Link
from gatewright.upstream.keeper import Keeper

__all__ = ["Heard", "SessionSink"]


class Heard(Protocol):
    """Who takes what a server says on any of its connections."""

    def said_to(self, session: str, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call, on a session's own connection."""

    def renewed(self, link: Link) -> None:
        """Learn that a link said hello anew."""

    async def admit(self, link: Link, keeper: Keeper | None = None) -> None:
        """Let a connection in, or hold it."""

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer a server that asks for permissions."""


class SessionSink:
    """Remembers whose connection it was that said something."""

    keeper: Keeper | None = None

    def __init__(self, server: Heard, session: str) -> None:
        self._server = server
        self._session = session

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call (`Sink`)."""
        self._server.said_to(self._session, link, method, params)

    def renewed(self, link: Link) -> None:
        """A link said hello anew (`Sink`)."""
        self._server.renewed(link)

    async def admit(self, link: Link) -> None:
        """Let the connection in, or hold it (`Admits`)."""
        await self._server.admit(link, self.keeper)

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer a server that asks for permissions (`Admits`)."""
        return await self._server.asked(link, params)
