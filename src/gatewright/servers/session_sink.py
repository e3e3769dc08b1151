"""Opens a session's own server connection; `SessionSink` relays its notifications, answers `roots/list` from waiting callers or a cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any, Protocol

from gatewright.call import Back, CannotAsk, Question
from gatewright.mcp.client.link import Link
from gatewright.servers.reconnector import Connect, Reconnector
from gatewright.servers.relist_delay import Paced
from gatewright.servers.spec import ServerSpec

__all__ = ["Heard", "SessionSink", "session_reconnector"]

_ROOTS_S = 2.0
"""How long the first call waits for a server that is known to ask for roots: what it may touch depends on them."""


class Heard(Protocol):
    """Who takes what a server says on any of its connections."""

    def said_to(self, session: str, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call, on a session's own connection."""

    def renewed_own(self) -> None:
        """Learn that a session's own connection said hello anew."""

    async def tell_own(self, session: str, link: Link) -> None:
        """Tell a session's new connection what that session wants to hear."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    async def admit(self, link: Link, keeper: Reconnector | None = None) -> None:
        """Let a connection in, or hold it."""

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer a server that asks for permissions."""


class SessionSink:
    """Remembers whose connection it was that said something."""

    keeper: Reconnector | None = None

    def __init__(self, server: Heard, session: str) -> None:
        self._server = server
        self.session = session
        self._waiting: list[Back] = []
        self._roots: Mapping[str, Any] | None = None
        self._told = asyncio.Event()
        self._telling = Paced(self._tell_again, server.spawn)

    @contextmanager
    def waits(self, back: Back) -> Iterator[None]:
        """A call of the session waits for the connection: its caller can be asked."""
        self._waiting.append(back)
        try:
            yield
        finally:
            self._waiting.remove(back)

    async def outside(self, question: Question) -> dict[str, Any]:
        """What the server asks before any call: the session's roots, as whoever waits for the connection has them, else as
        they were last shown. A client whose roots change says so, and the server hears it with the next call (`tell_roots`)."""
        if question.method != "roots/list":
            raise CannotAsk(
                "no call is in flight on this connection, so there is nobody to ask", -32600
            )
        try:
            if self._waiting:
                # Any of the waiting calls will do: all are of the one session whose roots these are.
                self._roots = await self._waiting[-1].ask(Question(question.method))
            return dict(self._roots or {"roots": []})
        finally:
            # Also where the client refused: the server has its answer, and the call goes on.
            self._told.set()

    def begins(self) -> None:
        """A connection begins: what was asked on the one before it says nothing of this one."""
        self._told.clear()

    async def roots_told(self, link: Link, main: Link | None) -> Link:
        """The link, once the server has asked for roots on it and been answered, where it asked for them on `main`."""
        if main is not None and main.wants_roots:
            with suppress(TimeoutError):
                async with asyncio.timeout(_ROOTS_S):
                    await self._told.wait()
        return link

    async def tell_roots(self, link: Link) -> None:
        """Tell the server that the roots are others, while a call waits whose caller can be asked for them. Returns once the
        server has asked and been answered, or after a while: not every server asks."""
        self._told.clear()
        link.notify("notifications/roots/list_changed", {})
        with suppress(TimeoutError):
            async with asyncio.timeout(_ROOTS_S):
                await self._told.wait()

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call (`Sink`)."""
        self._server.said_to(self.session, link, method, params)

    def renewed(self, link: Link) -> None:
        """A link said hello anew (`Sink`)."""
        self.begins()
        self._server.renewed_own()
        self._telling.ask()

    async def _tell_again(self) -> None:
        link = None if self.keeper is None else self.keeper.link
        if link is not None:
            await self._server.tell_own(self.session, link)

    async def connected(self, link: Link) -> None:
        """There is a connection."""
        self._server.spawn(self._server.tell_own(self.session, link))

    async def admit(self, link: Link) -> None:
        """Let the connection in, or hold it (`Admits`)."""
        await self._server.admit(link, self.keeper)

    async def asked(self, link: Link, params: Any) -> dict[str, Any]:
        """Answer a server that asks for permissions (`Admits`)."""
        return await self._server.asked(link, params)


def session_reconnector(
    spec: ServerSpec, sink: SessionSink, make: Connect, leave: Callable[[Link], None]
) -> Reconnector:
    """A connection that one session has for itself, begun."""

    async def begun() -> Link:
        sink.begins()
        return await make()

    keeper = Reconnector(
        spec, begun, connected=sink.connected, changed=lambda *_: None, leave=leave
    )
    keeper.waits, keeper.tells = sink.waits, sink.tell_roots
    sink.keeper = keeper
    keeper.start()
    return keeper
