"""`Serving`: state shared by one server's HTTP connections: ASGI app (type `App`), limits, turn queues, `Date` line renewed each second.

Lines that are the same in most answers are spelled once a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from email.utils import formatdate

from uvicorn.config import Config
from uvicorn.server import ServerState

from gatewright.transport.base import Limits
from gatewright.transport.http_head import JSON, whole_head
from gatewright.transport.read_turns import ReadTurns
from gatewright.transport.unread_ends import UnreadEnds

__all__ = ["App", "Serving"]

App = Callable[..., Awaitable[None]]
"""An ASGI application. One that has an attribute `takes_exchange` that is true is given the `Exchange` as a fourth
argument, and may use `take_whole`, `answer` and `when_gone` where that saves it a few messages. Its scope is the one
of every request with this head (`head`): it changes nothing in it, and may leave in `head.notes` what it found out. Where it leaves a
function in `head.serve`, that is given the exchanges of later requests with this head instead."""


class Serving(ServerState):
    """What all connections of one server have together. The base is uvicorn's view of it, for WebSockets.

    `date` is a header line, and `json_head` what most answers begin with, up to their length; both are made anew `every_second`. `gone` is called whenever a connection is lost.
    """

    def __init__(self, config: Config, limits: Limits, gone: Callable[[], None]) -> None:
        super().__init__()
        self.config = config
        self.app: App = config.loaded_app
        self.takes_exchange = bool(getattr(config.loaded_app, "takes_exchange", False))
        self.limits = limits
        self.gone = gone
        self.turns = ReadTurns(asyncio.get_running_loop())
        self.farewells = ReadTurns(asyncio.get_running_loop())
        """Connections that are lost and have more to do for that: not among those that still ask for something."""
        self.flooded = 0
        """How many WebSockets were closed because of what they sent."""
        self._unread = UnreadEnds(limits)
        self.date = self.json_head = b""
        self.every_second()

    def every_second(self) -> None:
        """Tell the time, and look after who closes. Call this every second."""
        self._unread.look(self.connections)
        now = formatdate(usegmt=True).encode()
        self.default_headers = [(b"date", now)]
        self.date = b"date: %b\r\n" % now
        self.json_head = b"%bcontent-length: " % (whole_head(200, self.date, JSON) or b"")
