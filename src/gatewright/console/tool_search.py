"""`ToolSearch`: tool search as an agent with an empty context would see it: hits with scores and reasons, tokens, budget."""

from __future__ import annotations

import time
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.call import Caller
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError
from gatewright.console.tool_facts import ToolFacts, first_line
from gatewright.discovery.catalogue_index import CatalogueIndex
from gatewright.discovery.explaining import Reason
from gatewright.discovery.lookup import tokens_in
from gatewright.discovery.methods import MetaTools
from gatewright.discovery.sessions import Sessions
from gatewright.mcp.wire import jsonrpc

__all__ = ["Budget", "Hit", "Search", "Searching", "Strategy", "ToolSearch"]


Strategy = Literal["auto", "keyword", "semantic", "category"]


class Searching(msgspec.Struct, frozen=True, kw_only=True):
    """What is looked for, as whom."""

    q: Annotated[str, Meta(max_length=2000)] = ""
    agent: Annotated[str, Meta(max_length=200)] = ""
    """Whose results; empty: an operator's, who may use every tool."""
    strategy: Strategy = "auto"
    most: Annotated[int, Meta(ge=1, le=50)] = 5


class Hit(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that fits."""

    name: str
    server: str
    tool: str
    description: str
    risk: str
    score: float
    """From 0 to 1; says something within one answer alone."""
    why: list[Reason]
    """Empty where it is close in meaning, by no word in particular."""
    tokens: int
    """What it takes in the answer."""
    missing: list[str]
    """Permissions that an operator has to give first."""


class Budget(msgspec.Struct, frozen=True, kw_only=True):
    """What one answer may take of a context, and what this one took."""

    room: int
    used: int
    left_out: list[str]
    """Tools that fit and did not find room."""


class Search(msgspec.Struct, frozen=True, kw_only=True):
    """One answer."""

    hits: list[Hit]
    total: int
    strategy: str
    ms: float
    budget: Budget


class ToolSearch:
    """With sessions of its own: that somebody looks changes nothing for any agent."""

    def __init__(self, parts: Dependencies, facts: ToolFacts) -> None:
        self._now = parts.ground.now
        self._facts = facts
        index = parts.ground.of(CatalogueIndex)
        self._index = index
        self._meta = (
            None if index is None else MetaTools(self._now, index, Sessions(time.monotonic))
        )

    async def __call__(self, given: Searching) -> Search:
        """Raises `ApiError`."""
        if self._meta is None:
            raise ApiError(404, "not_found", "this gateway searches no tools")
        caller = self._facts.caller(given.agent) if given.agent else Caller("console", "operator")
        params = {"query": given.q, "strategy": given.strategy, "max_results": given.most}
        call = self._facts.call_as(caller, "mgp/tools/discover", params)
        said = await self._meta.answer("discover", call, params)
        if not isinstance(said, dict):
            raise ApiError(422, said.reason, said.message)
        hits = [await self._hit(given.q, one) for one in said["tools"]]
        return Search(
            hits=hits,
            total=said["total_available"],
            strategy=said["search_strategy"],
            ms=said["query_time_ms"],
            budget=Budget(
                room=self._now.settings.discovery.discovery_reserve,
                used=sum(one.tokens for one in hits),
                left_out=list(said.get("left_out", ())),
            ),
        )

    async def _hit(self, query: str, one: dict[str, Any]) -> Hit:
        tool = self._now.servers.catalogue.view("").tools[one["name"]]
        why = [] if self._index is None else await self._index.reasons(query, tool)
        said = one.get("description")
        text = jsonrpc.decode(said) if isinstance(said, msgspec.Raw) else said
        return Hit(
            name=one["name"],
            server=tool.target.server,
            tool=tool.target.name,
            description=first_line(text) if isinstance(text, str) else "",
            risk=tool.security.risk_level,
            score=one["relevance_score"],
            why=why,
            tokens=tokens_in(jsonrpc.encode(one)),
            missing=list(one.get("missing_permissions", ())),
        )
