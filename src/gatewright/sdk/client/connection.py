"""`Connection` of an SDK client: opens on first use, reopens after loss, passes on notifications; in-memory for a server in the process."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from gatewright.sdk.client.options import Options
from gatewright.sdk.errors import TransportError
from gatewright.transport.base import Pipe, Receiver

if TYPE_CHECKING:  # the ways to a server are loaded when one is gone
    from gatewright.mcp.client.endpoint import Endpoint
    from gatewright.mcp.client.link import Link

__all__ = ["Connection", "InMemory", "Target"]

_CLOSE_S = 5.0


@runtime_checkable
class InMemory(Protocol):
    """A server in the same process, which needs no wire."""

    def attach(self, receiver: Receiver) -> Pipe:
        """A new connection, whose other end the server serves. Called on the running event loop."""


Target = str | Sequence[str] | InMemory
"""An address (`http:`, `https:`, `ws:`, `wss:`), a command with its arguments, or a server object."""


class Connection:
    """See the module's text. `changed` is told of every notification that belongs to no call, `anew` of each connection or
    session but the first."""

    def __init__(
        self,
        target: Target,
        options: Options,
        changed: Callable[[str, dict[str, Any]], None],
        anew: Callable[[Link], None] = lambda _: None,
    ) -> None:
        self._target = target
        self._options = options
        self._changed = changed
        self._anew = anew
        self._endpoint = _endpoint(target, options)
        self._lock = asyncio.Lock()
        self._link: Link | None = None
        self._closed = False
        self._leaving: dict[asyncio.Task[None], Link] = {}
        self.opened = 0
        """How many connections were made so far."""

    async def link(self) -> Link:
        """A connection that works. Raises `TransportError` where there is none to be had."""
        link = self._link
        if link is not None and link.open:
            return link
        async with self._lock:
            if self._closed:
                raise TransportError("the client is closed", advice="Make a new client")
            # Another call may have connected while this one waited for the lock.
            if self._link is None or not self._link.open:
                if self._link is not None:
                    self._leave(self._link)
                self._link = None
                self._link = await self._connect()
                self.opened += 1
                if self.opened > 1:
                    self._anew(self._link)
            return self._link

    @property
    def closed(self) -> bool:
        """Whether no connection will be made any more."""
        return self._closed

    @property
    def has_headers(self) -> bool:
        """Whether requests carry MCP's modern HTTP headers."""
        link = self._link
        return self._endpoint.transport == "http" and link is not None and link.modern

    @property
    def current(self) -> Link | None:
        """The connection that is there, if any."""
        return self._link

    async def close(self) -> None:
        """Say goodbye and close; a stdio server's process is gone afterwards. Idempotent."""
        self._closed = True
        for link in self._leaving.values():
            _bound(link)
        async with self._lock:
            last, self._link = self._link, None
            if last is not None:
                await last.stop(_CLOSE_S)
        # Stopping takes up to `_CLOSE_S`, in which another one may have been left.
        while self._leaving:
            await asyncio.wait(list(self._leaving))

    async def _connect(self) -> Link:
        from gatewright.mcp.client.connect import Around, connect
        from gatewright.mcp.client.link import ServerFailed
        from gatewright.sdk.client.handlers import answer_question

        options = self._options
        try:
            async with asyncio.timeout(options.connect_s):
                if isinstance(self._target, InMemory):
                    return await self._attach(self._target)
                around = Around(
                    info=options.info,
                    sink=self,
                    stderr=lambda: options.on_stderr,
                    leave=self._leave,
                    authorizer=options.authorizer,
                    outside=lambda question: answer_question(options, question),
                )
                return await connect(self._endpoint, around, options.capabilities)
        except TimeoutError:
            raise TransportError(
                f"{self._endpoint.id} did not say hello within {options.connect_s:g} s"
            ) from None
        except (ServerFailed, OSError) as problem:
            raise TransportError(f"{self._endpoint.id} cannot be used: {problem}") from problem

    async def _attach(self, server: InMemory) -> Link:
        from gatewright.mcp.client.pipe_link import PipeLink
        from gatewright.mcp.protocol.mcp_client import Handshake
        from gatewright.sdk.client.handlers import answer_question

        options = self._options
        link = PipeLink(self._endpoint, options.info, self)
        link.answer_outside(lambda question: answer_question(options, question))
        hand = Handshake(
            info=options.info,
            capabilities=options.capabilities,
            era=options.era,
            face=options.face,
        )
        await link.greet(server.attach(link), hand)
        return link

    def _leave(self, link: Link) -> None:
        """Stop a link that is of no more use, after its calls; `close` waits for it, and for them no longer than for others."""
        link.patient = not self._closed
        task = asyncio.get_running_loop().create_task(_stopped(link))
        self._leaving[task] = link
        task.add_done_callback(self._leaving.pop)

    # -- what a server says outside any call (`mcp.client.link.Sink`)

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Take one notification that belongs to no call."""
        self._changed(method, params)

    def renewed(self, link: Link) -> None:
        """A session was made again behind an old connection: what was known may be old."""
        self.opened += 1
        self._anew(link)


def _bound(link: Link) -> None:
    from gatewright.mcp.client.http_rules import gone

    why = gone(link.spec.id, "the client is closed", sent=True)
    asyncio.get_running_loop().call_later(_CLOSE_S, link.give_up, why)


async def _stopped(link: Link) -> None:
    from gatewright.mcp.client.link import ServerFailed

    with contextlib.suppress(ServerFailed, OSError):
        await link.stop(_CLOSE_S)


def _endpoint(target: Target, options: Options) -> Endpoint:
    from gatewright.mcp.client.endpoint import Endpoint

    if isinstance(target, str):
        return _address(target, options)
    if isinstance(target, InMemory):
        return Endpoint(id="the server in this process", era=options.era, face=options.face)
    command = list(target)
    if not command or not all(isinstance(one, str) for one in command):
        raise ValueError("a command is a list of strings: the program and its arguments")
    return Endpoint(
        id=command[0],
        transport="stdio",
        command=command[0],
        args=tuple(command[1:]),
        env=options.env,
        cwd=options.cwd,
        era=options.era,
        face=options.face,
    )


def _address(url: str, options: Options) -> Endpoint:
    from gatewright.mcp.client.endpoint import Endpoint

    scheme = url.partition(":")[0].lower()
    if scheme not in ("http", "https", "ws", "wss"):
        raise ValueError(
            "a server is an address that begins with http:, https:, ws: or wss:, or a command as a list of strings"
        )
    return Endpoint(
        # The id stands in messages and logs, and a query may hold a key.
        id=url.partition("?")[0],
        transport="http" if scheme.startswith("http") else "websocket",
        url=url,
        headers=options.all_headers,
        era=options.era,
        face=options.face,
    )
