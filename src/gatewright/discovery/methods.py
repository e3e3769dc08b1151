"""`MetaTools` answers MGP §16: tool search, description, capability requests that load tools, session context, eviction; in a token budget.

Each is one function of its params, whichever way it is asked: as a method by a client that negotiated `tool_discovery`, or as a tool of
the gateway by any host, under three names (decisions C-14, C-15).
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import msgspec
from msgspec import Meta

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.discovery.capabilities import Requirements, Wanted, best_for, types_of
from gatewright.discovery.catalogue_index import CatalogueIndex
from gatewright.discovery.lookup import RISKS, Lookup, Offered, described, tokens_in
from gatewright.discovery.sessions import Context, Sessions
from gatewright.in_force import InForce
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.names import kernel_names, meta_tool
from gatewright.transport.slices import in_slices

if TYPE_CHECKING:
    from gatewright.discovery.index import Found

__all__ = ["MOST_RESULTS", "QUERY_CHARS", "MetaTools"]

QUERY_CHARS = 2000
MOST_RESULTS = 50
_NAME_CHARS = 512
_NAMES = 100
_LOOKED_AT = 20
"""So many tools are compared with a capability."""

Said = dict[str, Any] | Refusal | Failure
"""The members of a result, or why there is none."""

_Text = Annotated[str, Meta(max_length=_NAME_CHARS)]
_Names = Annotated[list[_Text], Meta(max_length=_NAMES)]
_Risk = Literal["safe", "moderate", "dangerous"]
_Asked = TypeVar("_Asked", bound=msgspec.Struct)


class _Filter(msgspec.Struct):
    categories: _Names = []
    risk_level_max: _Risk | None = None
    status: _Text = "connected"


class _Discover(msgspec.Struct):
    query: Annotated[str, Meta(max_length=QUERY_CHARS)] = ""
    strategy: Literal["auto", "keyword", "semantic", "category"] = "auto"
    max_results: Annotated[int, Meta(ge=1, le=MOST_RESULTS)] = 5
    filter: _Filter = msgspec.field(default_factory=_Filter)


class _Describe(msgspec.Struct):
    name: _Text


class _Request(msgspec.Struct):
    requirements: Requirements = msgspec.field(default_factory=Requirements)
    reason: _Text = ""
    context: Annotated[str, Meta(max_length=QUERY_CHARS)] = ""
    task_trace_id: _Text | None = None


class _Evict(msgspec.Struct):
    tools: _Names
    reason: _Text = ""


class MetaTools:
    """Answers them, by what is in force. `clock` gives seconds of any origin."""

    def __init__(
        self,
        now: InForce,
        index: CatalogueIndex,
        sessions: Sessions,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._now = now
        self._index = index
        self._sessions = sessions
        self._clock = clock
        self.lookup = Lookup(now)
        self._ways: Mapping[str, Callable[[Call, Mapping[str, Any]], Awaitable[Said]]] = {
            "discover": self._discover,
            "describe": self._describe,
            "request": self._request,
            "session": self._session,
            "session.evict": self._evict,
        }

    async def __call__(self, call: Call, back: Back) -> Outcome:
        """Answer one of the methods."""
        mgp = call.client.mgp
        if mgp is None or "tool_discovery" not in mgp.extensions:
            return Failure("method_not_found", f"Method not found: {call.method}")
        name = call.method.removeprefix(kernel_names(meta_tool(""))[1]).replace("/", ".")
        found = await self.answer(name, call, call.params)
        return Answer(jsonrpc.encode(found)) if isinstance(found, dict) else found

    async def answer(self, what: str, call: Call, params: Mapping[str, Any]) -> Said:
        """The same for whatever way it was asked; `what` is a name of `META_TOOLS`."""
        await self.lookup.ready(call.profile)
        await in_slices(self._counted(call))
        return await self._ways[what](call, params)

    # -- finding

    async def _discover(self, call: Call, params: Mapping[str, Any]) -> Said:
        began = self._clock()
        asked = _read(params, _Discover)
        if isinstance(asked, Failure):
            return asked
        if not asked.query.strip() and not asked.filter.categories:
            return Failure(
                "invalid_params",
                "params: `query` says what is looked for, or `filter.categories` where",
            )
        offered = self.lookup.of(call)
        browses = not asked.query.strip()
        found = await self._index.search(
            " ".join(asked.filter.categories) if browses else asked.query,
            _passing(offered, asked.filter),
            strategy="category" if browses else asked.strategy,
            categories=asked.filter.categories,
            limit=asked.max_results,
            view=(self.lookup.view(call), asked.filter.risk_level_max, asked.filter.status),
        )
        weighed = await in_slices(_weighed(found, self.lookup.of(call)))
        # Again: what the caller may use may have changed meanwhile.
        offered = self.lookup.of(call)
        weighed = [one for one in weighed if offered(one[0].id) == one[0]]
        shown = [one for _, one, _ in weighed]
        kept = self._context(call, offered).answered([cost for _, _, cost in weighed])
        said: dict[str, Any] = {
            "tools": [one for one, fits in zip(shown, kept, strict=True) if fits],
            "total_available": found.total,
            "search_strategy": found.strategy,
            "query_time_ms": round((self._clock() - began) * 1000, 3),
        }
        if not all(kept):
            said["left_out"] = [
                one["name"] for one, fits in zip(shown, kept, strict=True) if not fits
            ]
        elif not shown:
            said["hint"] = _NOTHING
        return said

    async def _describe(self, call: Call, params: Mapping[str, Any]) -> Said:
        asked = _read(params, _Describe)
        if isinstance(asked, Failure):
            return asked
        offered = self.lookup.of(call)
        one = offered(asked.name)
        if one is None:
            # As for a tool that there is not: who may not use it learns nothing of it.
            return Failure(
                "tool_not_found",
                f"there is no tool {asked.name[:100]!r} that you may use; {_SEARCH}",
            )
        shown = {**described(one), "status": "pending_approval" if one.missing else one.state}
        context = self._context(call, offered)
        if not context.answered([_tokens(shown)], context.budget.max_tokens)[0]:
            del shown["inputSchema"]
            shown["description"] = (
                "its definition takes more tokens than there may be in this session's context"
            )
        return {"tool": shown}

    # -- asking for what is missing

    async def _request(self, call: Call, params: Mapping[str, Any]) -> Said:
        asked = _read(params, _Request)
        if isinstance(asked, Failure):
            return asked
        wanted = list(dict.fromkeys(filter(str.strip, asked.requirements.capabilities)))
        if not wanted and asked.context.strip():
            wanted = [asked.context.strip()]
        if not wanted:
            return Failure(
                "invalid_params", "params.requirements.capabilities names what is missing"
            )
        call.facts["tool_request"] = {"reason": asked.reason[:100], "capabilities": wanted[:10]}
        if asked.task_trace_id:
            call.facts["task_trace_id"] = asked.task_trace_id[:128]
        offered = self.lookup.of(call)
        found = await self._covering(call, wanted, asked, offered)
        context = self._context(call, offered)
        loaded = context.load(
            dict.fromkeys(one.usable.id for one in found if one.usable is not None)
        )
        tools = [
            described(one.usable)
            for one in _once(found)
            if one.usable is not None and one.usable.id in loaded
        ]
        lacking = [
            _lacking(one, loaded)
            for one in found
            if one.usable is None or one.usable.id not in loaded
        ]
        status = self._status(call, bool(loaded), lacking)
        return {
            "status": status,
            **({"creation": _CREATION} if status == "creating" else {}),
            "tools_loaded": tools,
            "tools_unavailable": lacking,
            "session_tools_count": len(context.pinned) + len(context.cached),
            "context_tokens_added": context.tokens(loaded),
        }

    async def _covering(
        self,
        call: Call,
        wanted: Sequence[str],
        asked: _Request,
        offered: Callable[[str], Offered | None],
    ) -> list[Wanted]:
        """What covers each capability best; a tool that covers another one already is as good as any."""
        found: list[Wanted] = []
        passing, view = _passing(offered, _Filter()), (self.lookup.view(call), None, "connected")
        types = await in_slices(types_of(asked.requirements))
        for capability in wanted:
            query = capability.replace("_", " ")[:QUERY_CHARS]
            hits = await self._index.search(query, passing, limit=_LOOKED_AT, view=view)
            fitting = [
                (one, hit.score) for hit in hits.hits if (one := offered(hit.tool_id)) is not None
            ]
            chosen = {one.usable.id for one in found if one.usable is not None}
            comparing = best_for(capability, fitting, asked.requirements, types, chosen)
            found.append(await in_slices(comparing))
            if (usable := found[-1].usable) is not None:
                self.lookup.tokens(usable.tool)  # for `Context.load`, which takes all in one piece
            await asyncio.sleep(0)
        return found

    def _status(self, call: Call, any_loaded: bool, lacking: Sequence[Mapping[str, Any]]) -> str:
        if not lacking:
            return "fulfilled"
        if any_loaded:
            return "partial"
        if any(one["reason"] == "pending_approval" for one in lacking):
            return "pending_approval"
        return "creating" if self.lookup.may_create(call.caller) else "unavailable"

    # -- the session

    async def _session(self, call: Call, params: Mapping[str, Any]) -> Said:
        offered = self.lookup.of(call)
        context = self._context(call, offered)
        names = {
            one: shown.tool.exposed
            for one in (*context.pinned, *context.cached)
            if (shown := offered(one))
        }
        budget = context.budget
        return {
            "pinned": [names[one] for one in context.pinned],
            "cached": [names[one] for one in context.cached],
            "total_tokens": context.total,
            "max_tokens": budget.max_tokens,
            "tool_context_budget": {
                name: getattr(budget, name)
                for name in ("max_tokens", "pinned_reserve", "discovery_reserve", "cache_limit")
            },
        }

    async def _evict(self, call: Call, params: Mapping[str, Any]) -> Said:
        asked = _read(params, _Evict)
        if isinstance(asked, Failure):
            return asked
        offered = self.lookup.of(call)
        context = self._context(call, offered)
        ids = {name: one.id for name in asked.tools if (one := offered(name)) is not None}
        pinned = [name for name, one in ids.items() if one in context.pinned]
        if pinned:
            return Failure(
                "invalid_params",
                f"{', '.join(pinned)[:500]}: pinned tools are always in the context",
            )
        gone = context.evict([*ids.values()])
        return {
            "evicted": [name for name, one in ids.items() if one in gone],
            "not_cached": [name for name in asked.tools if ids.get(name) not in gone],
            "total_tokens": context.total,
            "max_tokens": context.budget.max_tokens,
        }

    def _counted(self, call: Call) -> Generator[None, None, None]:
        """Count what is in the context of a session, a tool in a step. What is counted is remembered."""
        offered = self.lookup.of(call)
        for name in (*self.lookup.pinned(call, offered), *self._sessions.of(call)):
            if (one := offered(name)) is not None:
                self.lookup.tokens(one.tool)
            yield

    def _context(self, call: Call, offered: Callable[[str], Offered | None]) -> Context:
        def cost(name: str) -> int | None:
            one = offered(name)
            return None if one is None else self.lookup.tokens(one.tool)

        pinned = self.lookup.pinned(call, offered)
        return Context(self._now.settings.discovery, cost, pinned, self._sessions.of(call))


_REGISTER = "mgp/discovery/register"
_SEARCH = f"{kernel_names(meta_tool('discover'))[0]} finds what there is"
_CREATION = {
    "method": _REGISTER,
    "steps": [
        "write a Python program that serves the missing tools by MCP on stdio into a folder of [registration]",
        f"register it with {_REGISTER} as a sandboxed server; its code is judged (code_safety) and run isolated",
        "where the code is refused, mend what the refusal names and register again",
        f"ask for the capability again with {kernel_names(meta_tool('request'))[1]}",
    ],
}
_NOTHING = (
    "nothing fits: name the capability in other words, in a few nouns and verbs; "
    f"{kernel_names(meta_tool('request'))[0]} asks for what is missing"
)


def _passing(offered: Callable[[str], Offered | None], wanted: _Filter) -> Callable[[str], bool]:
    most = len(RISKS) if wanted.risk_level_max is None else RISKS.index(wanted.risk_level_max)

    def passes(name: str) -> bool:
        one = offered(name)
        if one is None or one.risk > most:
            return False
        return wanted.status in (one.state, "any")

    return passes


def _weighed(
    found: Found, offered: Callable[[str], Offered | None]
) -> Generator[None, None, list[tuple[Offered, dict[str, Any], int]]]:
    """What was found, as it is shown and with its tokens, a tool in a step."""
    made = []
    for hit in found.hits:
        if (one := offered(hit.tool_id)) is not None:
            shown = described(one, {"relevance_score": round(hit.score, 4)})
            made.append((one, shown, _tokens(shown)))
        yield
    return made


def _tokens(shown: Mapping[str, Any]) -> int:
    return tokens_in(jsonrpc.encode(shown))


def _once(found: Sequence[Wanted]) -> list[Wanted]:
    return list({one.usable.id: one for one in found if one.usable is not None}.values())


def _lacking(one: Wanted, loaded: Sequence[str]) -> dict[str, Any]:
    """Why a capability is not there."""
    why: dict[str, Any]
    if one.usable is not None:
        why = {"name": one.usable.tool.exposed, "reason": "over_budget"}
    elif one.pending is not None:
        why = {
            "name": one.pending.tool.exposed,
            "reason": "pending_approval",
            "missing_permissions": list(one.pending.missing),
        }
    else:
        why = {"reason": "no_matching_tool"}
    return {"capability": one.capability, **why}


def _read(params: Mapping[str, Any], kind: type[_Asked]) -> _Asked | Failure:
    try:
        return msgspec.convert(params, kind)
    except msgspec.ValidationError as problem:
        return Failure("invalid_params", f"params: {problem}")
