"""Answers `tools/list` with search members: filters by permission, category and trust level, ranks by query, limits the number of tools.

The order is the specification's (Groundhog, "Tool Discovery"): permissions first, then what is looked for,
then ranking, then the limit. Whoever sends none of these members gets the plain list, from the catalogue.
Decision C-34: the members are the same at every endpoint, and the result always has `tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome, Target, Tool
from gatewright.discovery.ranking import Text, ranked
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import LISTED_MOST, META_TOOL, About
from gatewright.transport.slices import in_slices

__all__ = ["TRUST_LEVELS", "Offer", "Rules", "Search", "Shown"]

TRUST_LEVELS = ("untrusted", "community", "verified", "system")


class Shown(Protocol):
    """One tool of a list."""

    @property
    def tool(self) -> Tool | None:
        """The tool; None for what is none."""

    def text(self, mgp: bool) -> bytes:
        """Its definition as JSON text."""


class Rules(Protocol):
    """Who may see what, as it is now."""

    @property
    def tool(self) -> Callable[[Caller, Tool], bool]:
        """Whether a caller may see a tool."""


class Offer(Protocol):
    """The catalogue. Look-ups in memory."""

    @property
    def sight(self) -> Rules:
        """Asked about one tool, whatever was made of its answers before."""

    @property
    def version(self) -> int:
        """Changes with what is offered."""

    def tool(self, profile: str, name: str) -> Tool | None:
        """The tool of that name, whoever may see it."""

    async def warm(self, profiles: Iterable[str]) -> None:
        """Make ready what names of these profiles are looked up in."""

    def seen(
        self, profile: str, caller: Caller, *, listed: bool = False
    ) -> Generator[None, None, Sequence[Shown]]:
        """The tools that the caller may see, in their order, one a step; `listed`: those of them that lists have."""

    def called(self, profile: str, name: str) -> Sequence[Tool]:
        """The tools that call themselves so, whoever may see them."""

    def shown_as(self, profile: str, target: Target, caller: Caller) -> str | None:
        """What a tool is called; None where the caller may not see it."""

    def about(self, tool: Tool) -> About:
        """What is said about a tool."""

    def is_missing(self, profile: str, caller: Caller, name: str) -> bool:
        """Whether a server that the caller may see calls a tool so that nobody can see now."""


_Found = tuple[Shown, Tool, About]


class Search:
    """Answers `tools/list` where it has a category, trust level, query or limit."""

    def __init__(
        self,
        offer: Callable[[], Offer],
        may_use: Callable[[Caller, Tool, frozenset[str] | None], bool],
        clock: Callable[[], float],
    ) -> None:
        """`may_use` says whether a caller holds what a tool needs, of what it wants to use; `clock` is
        seconds of any origin."""
        self._offer = offer
        self._may_use = may_use
        self._clock = clock

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one list."""
        began = self._clock()
        flaw = _flaw(call.params)
        if flaw:
            return Failure("invalid_params", flaw)
        await self._offer().warm((call.profile,))
        members, total = await in_slices(self._found(call, self._offer()))
        head = jsonrpc.encode({"total_matches": total, "search_time": self._clock() - began})
        return Answer(b'{"tools":[%b],%b' % (b",".join(members), head[1:]), own=True)

    def _found(self, call: Call, offer: Offer) -> Generator[None, None, tuple[list[bytes], int]]:
        """What is shown, as JSON, and how much fits. Step by step: there may be many tools, with long descriptions."""
        wishes = call.params
        fits, fitting = _fits(wishes.get("category"), wishes.get("trust_level")), []
        for item in (yield from offer.seen(call.profile, call.caller, listed=True)):
            yield
            tool = item.tool
            if tool is None or not self._may_use(call.caller, tool, call.requested):
                continue
            about = offer.about(tool)
            if fits(about):
                fitting.append((item, tool, about))
        best = yield from _best(fitting, wishes.get("query"))
        members: list[bytes] = []
        most, away = wishes.get("limit") or len(best), 0
        for item, tool, about in best:
            if len(members) == most:
                break
            yield
            # Once more: what ranking takes is long enough for a right to be taken away.
            if self._may_still(call, tool):
                members.append(_described(item, tool, about))
            else:
                away += 1
        return members, len(best) - away

    def _may_still(self, call: Call, tool: Tool) -> bool:
        seen = self._offer().sight.tool(call.caller, tool)
        return seen and self._may_use(call.caller, tool, call.requested)


def _fits(category: str | None, trust: str | None) -> Callable[[About], bool]:
    wanted = None if category is None else category.casefold()
    level = None if trust is None else trust.casefold()

    def fits(about: About) -> bool:
        filed = wanted is None or wanted in (one.casefold() for one in about.categories)
        return filed and (level is None or level == about.trust_level)

    return fits


def _best(found: list[_Found], query: str | None) -> Generator[None, None, list[_Found]]:
    if not query:
        return found
    texts = (Text(about.name, _description(tool), about.categories) for _, tool, about in found)
    numbers = yield from ranked(query, texts)
    return [found[number] for number in numbers]


def _description(tool: Tool) -> str:
    text = tool.definition.get("description")
    said = None if text is None else jsonrpc.decode(text)
    return said if isinstance(said, str) else ""


def _described(item: Shown, tool: Tool, about: About) -> bytes:
    """The definition with what is said about the tool in its `_meta`, of which nothing else is decoded."""
    definition: dict[str, Any] = dict(jsonrpc.decode_members(item.text(mgp=False)))
    meta = definition.get("_meta", b"")
    around = {} if bytes(meta)[:1] != b"{" else jsonrpc.decode_members(meta)
    said = {
        **msgspec.structs.asdict(about),
        "permissions": list(tool.security.permissions_required),
        "risk_level": tool.security.risk_level,
    }
    said["resource_limits"] = said.pop("limits")
    return jsonrpc.encode({**definition, "_meta": {**around, META_TOOL: said}})


def _flaw(wishes: Mapping[str, Any]) -> str:
    for name in ("category", "trust_level", "query"):
        if not isinstance(wishes.get(name, ""), str | None):
            return f"params.{name} must be a text"
    trust = wishes.get("trust_level")
    if trust is not None and trust.casefold() not in TRUST_LEVELS:
        return f"params.trust_level must be one of {', '.join(TRUST_LEVELS)}"
    limit = wishes.get("limit")
    if limit is not None and (type(limit) is not int or not 1 <= limit <= LISTED_MOST):
        return f"params.limit must be a number from 1 to {LISTED_MOST}"
    if wishes.get("cursor") is not None:
        return "this cursor was not given out by this gateway"
    return ""
