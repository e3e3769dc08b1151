"""Log levels that clients set on one server connection: the server is sent the most verbose of them.

A modern server takes the level with each request, and is told nothing here.
"""

from __future__ import annotations

from typing import Any, Protocol

from gatewright.call import Answer, Back, Call, Failure, Outcome
from gatewright.links.link import Link
from gatewright.protocol.mcp_client import Hello

__all__ = ["LEVELS", "LevelWay", "LogLevels"]

LEVELS = ("debug", "info", "notice", "warning", "error", "critical", "alert", "emergency")
"""MCP's log levels, most verbose first."""

_METHOD = "logging/setLevel"


class LevelWay(Protocol):
    """What levels need of their connection."""

    @property
    def hello(self) -> Hello:
        """What the server said of itself."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to the server."""

    async def said(self, link: Link, method: str, params: dict[str, Any]) -> bool:
        """Whether a connection was told and took it."""


class LogLevels:
    """The levels that are wanted on one connection."""

    def __init__(self, way: LevelWay) -> None:
        self._way = way
        self._wanted: dict[str, str] = {}
        self._told: str | None = None

    async def set(self, holder: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """One holder's `logging/setLevel`."""
        given, before = params.get("level"), self._wanted.get(holder)
        level = given if given in LEVELS else LEVELS[0]
        self._wanted[holder] = level
        taken = False
        try:
            outcome = await self._tell(params, call, back)
            taken = isinstance(outcome, Answer) or _unasked(outcome)
        finally:
            if not taken and self._wanted.get(holder) == level:
                self._restore(holder, before)
        return outcome

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

    async def _tell(self, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        wanted = self._most_verbose()
        if self._way.hello.modern or wanted == self._told:
            return Answer(b"{}")
        outcome = await self._way.call(_METHOD, {**params, "level": wanted}, call, back)
        if not isinstance(outcome, Answer):
            return outcome
        self._told = wanted
        return Answer(b"{}")

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
        self._told = None
        wanted, hello = self._most_verbose(), link.hello
        known = hello is not None and not hello.modern and "logging" in hello.capabilities
        if wanted is not None and known and await self._way.said(link, _METHOD, {"level": wanted}):
            self._told = wanted


def _unasked(outcome: Outcome) -> bool:
    """Whether a server was not there to be asked: it is told once it is."""
    return isinstance(outcome, Failure) and outcome.details.get("sent") is False
