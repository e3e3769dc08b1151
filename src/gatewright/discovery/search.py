"""Answers `tools/list` with search members: filters by permission, category and trust level, ranks by query, limits the number of tools.

The order is the specification's (Groundhog, "Tool Discovery"): permissions first, then what is looked for,
then ranking, then the limit. Whoever sends none of these members gets the plain list, from the catalogue.
Decision C-34: the members are the same at every endpoint, and the result always has `tools`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Protocol

import msgspec

from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome, Tool
from gatewright.discovery.ranking import Text, ranked
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.groundhog import LISTED_MOST, META_TOOL, About
from gatewright.transport.slices import in_slices

__all__ = ["TRUST_LEVELS", "Offer", "Search", "Shown"]

TRUST_LEVELS = ("untrusted", "community", "verified", "system")


class Shown(Protocol):
    """One tool of a list."""

    @property
    def tool(self) -> Tool | None:
        """The tool; None for what is none."""

    def text(self, mgp: bool) -> bytes:
        """Its definition as JSON text."""


class Offer(Protocol):
    """The catalogue. Look-ups in memory."""

    @property
    def version(self) -> int:
        """Changes with what is offered."""

    def tool(self, profile: str, name: str) -> Tool | None:
        """The tool of that name, whoever may see it."""

    def visible(self, profile: str, caller: Caller, *, listed: bool = False) -> Sequence[Shown]:
        """The tools that the caller may see, in their order; `listed`: those of them that lists have."""

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
        members, total = await in_slices(self._found(call, self._offer()))
        head = {"total_matches": total, "search_time": self._clock() - began}
        return Answer(jsonrpc.encode({"tools": members, **head}), own=True)

    def _found(
        self, call: Call, offer: Offer
    ) -> Generator[None, None, tuple[list[dict[str, Any]], int]]:
        """What is shown, and how much fits. Step by step: there may be many tools, with long descriptions."""
        wishes, usable = call.params, []
        for one in self._usable(call, offer):
            yield
            usable.append(one)
        fitting = _fitting(usable, wishes.get("category"), wishes.get("trust_level"))
        best = yield from _best(fitting, wishes.get("query"))
        members = []
        for item, tool, about in best[: wishes.get("limit")]:
            yield
            members.append(_described(item, tool, about))
        return members, len(best)

    def _usable(self, call: Call, offer: Offer) -> Iterator[_Found]:
        for item in offer.visible(call.profile, call.caller, listed=True):
            if item.tool is not None and self._may_use(call.caller, item.tool, call.requested):
                yield item, item.tool, offer.about(item.tool)


def _fitting(found: Sequence[_Found], category: str | None, trust: str | None) -> list[_Found]:
    wanted = None if category is None else category.casefold()
    level = None if trust is None else trust.casefold()
    return [
        (item, tool, about)
        for item, tool, about in found
        if (wanted is None or wanted in (one.casefold() for one in about.categories))
        and (level is None or level == about.trust_level)
    ]


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


def _described(item: Shown, tool: Tool, about: About) -> dict[str, Any]:
    """The definition with what is said about the tool in its `_meta`."""
    definition: dict[str, Any] = dict(jsonrpc.decode_members(item.text(mgp=False)))
    meta = definition.get("_meta")
    around = jsonrpc.decode(meta) if meta is not None else {}
    said = {
        **msgspec.structs.asdict(about),
        "permissions": list(tool.security.permissions_required),
        "risk_level": tool.security.risk_level,
    }
    said["resource_limits"] = said.pop("limits")
    definition["_meta"] = {**(around if isinstance(around, dict) else {}), META_TOOL: said}
    return definition


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
