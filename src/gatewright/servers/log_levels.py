"""`LogLevels`: levels that clients set on one server connection; sends the most verbose, drops refused ones, and follows a reconnect.

Who sets a level is answered for that one: what the server says to a level that is somebody else's it does not say to them. A
level that the server refuses is nobody's any more. A modern server takes the level with each request, and is told nothing here.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.mcp.client.link import Link
from gatewright.mcp.protocol.mcp_client import Hello

__all__ = ["LEVELS", "LevelWay", "LogLevels"]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""MCP's log levels, most verbose first."""

_METHOD = "logging/setLevel"


class LevelWay(Protocol):
    """What levels need of their connection."""

    @property
    def hello(self) -> Hello:
        """What the server said of itself."""

    @property
    def link(self) -> Link | None:
        """The connection, while it is there."""

    def spawn(self, work: Coroutine[Any, Any, Any]) -> None:
        """Do something that nobody waits for."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""

    async def said(self, link: Link, method: str, params: dict[str, Any]) -> bool | None:
        """Whether a connection was told and took it; None where it did not say."""


class LogLevels:
    """The levels that are wanted on one connection."""

    def __init__(self, way: LevelWay) -> None:
        self._way = way
        self._wanted: dict[str, str] = {}
        self._told: str | None = None
        """What the server has, as far as that is known."""
        self._sent = 0
        """How many levels it was sent."""

    async def set(self, holder: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One holder's `logging/setLevel`."""
        given, before = params.get("level"), self._wanted.get(holder)
        level = given if given in LEVELS else LEVELS[0]
        self._wanted[holder] = level
        taken = False
        try:
            outcome = await self._ask(level, params, call, back)
            taken = isinstance(outcome, Answer) or _unasked(outcome)
        finally:
            if not taken and self._wanted.get(holder) == level:
                self._restore(holder, before)
        return outcome

    def take_over(self, holder: str, level: str | None) -> None:
        """Somebody set a level elsewhere, and this is where it is heeded from now on."""
        if level is not None:
            self._wanted[holder] = level
            link = self._way.link
            if link is not None and link.hello is not None:
                self._way.spawn(self._tell(link))

    def wanted(self, holder: str) -> str | None:
        """The level that somebody wants."""
        return self._wanted.get(holder)

    def take(self, holder: str, other: LogLevels) -> None:
        """Want the level that a holder wants on another connection, where it wants none here."""
        level = other._wanted.get(holder)
        if level is not None:
            self._wanted.setdefault(holder, level)

    def _restore(self, holder: str, before: str | None) -> None:
        """What the server refuses is nobody's level: it would make it refuse everybody else's."""
        if before is None:
            del self._wanted[holder]
        else:
            self._wanted[holder] = before

    async def _ask(self, level: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        # A modern server takes the level with each request (MCP 2026-07-28).
        if self._way.hello.modern or self._most_verbose() == self._told:
            return Answer(b"{}")
        number, before = self._sends()
        outcome: Outcome | None = None
        try:
            outcome = await self._way.call(_METHOD, {**params, "level": level}, call, back)
        finally:
            self._answered(number, _stands(outcome, level, before))
        if not isinstance(outcome, Answer):
            return outcome
        link = self._way.link
        if link is not None and self._most_verbose() != level:
            self._way.spawn(self._tell_most_verbose(link))
        return Answer(b"{}")

    def _sends(self) -> tuple[int, str | None]:
        """Begin to send a level: its number, and what the server had before."""
        self._sent += 1
        # Unknown while it is asked, so whoever sets a level meanwhile asks as well.
        before, self._told = self._told, None
        return self._sent, before

    def _answered(self, number: int, level: str | None) -> None:
        """The server has this level now. Where it was sent another one meanwhile, nobody knows which it heard last."""
        self._told = level if number == self._sent else None

    async def _tell_most_verbose(self, link: Link) -> None:
        """Tell the most verbose level; what the server refuses is not wanted any more, and the next one is told it."""
        while link.open and (wanted := self._most_verbose()) not in (None, self._told):
            number, before = self._sends()
            took = await self._way.said(link, _METHOD, {"level": wanted})
            self._answered(number, wanted if took else before if took is False else None)
            if took is not False:
                return
            # Refused: it would be refused in everybody's name again.
            self._wanted = {one: level for one, level in self._wanted.items() if level != wanted}

    def _most_verbose(self) -> str | None:
        return min(self._wanted.values(), key=LEVELS.index, default=None)

    def follow(self, before: LogLevels) -> None:
        """Want what was wanted on another connection."""
        self._wanted.update(before._wanted)

    def holders(self) -> list[str]:
        """Who wants a level."""
        return list(self._wanted)

    def forget(self, holder: str) -> None:
        """Somebody wants nothing any more."""
        self._wanted.pop(holder, None)

    async def renew(self, link: Link) -> None:
        """Tell a new connection."""
        self._sends()
        await self._tell(link)

    async def _tell(self, link: Link) -> None:
        hello = link.hello
        if hello is not None and not hello.modern and "logging" in hello.capabilities:
            await self._tell_most_verbose(link)


def _stands(outcome: Outcome | None, level: str, before: str | None) -> str | None:
    """Which level a server has that was sent one; None where nobody knows."""
    if isinstance(outcome, Answer):
        return level
    if isinstance(outcome, Failure) and outcome.error is None and not _unasked(outcome):
        return None
    return before if outcome is not None else None


def _unasked(outcome: Outcome) -> bool:
    """Whether a server was not there to be asked: it is told once it is."""
    return isinstance(outcome, Failure) and outcome.details.get("sent") is False
