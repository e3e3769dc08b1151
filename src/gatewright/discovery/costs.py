"""Operators' methods `gatewright/tools/tokens` (context tokens by server, and with tool search) and `gatewright/tools/index` (one entry).

What a server costs are the tokens of the definitions of its tools, as a host puts them into a model's context that lists them all.
What search costs instead are the gateway's own three tools, the pinned tools of the agent that has most of them pinned, and one
answer of five tools of average length.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

import msgspec

from gatewright.call import KERNEL, Answer, Back, Call, Caller, Failure, Outcome, Tool
from gatewright.discovery.catalogue_index import CatalogueIndex
from gatewright.discovery.lookup import SHOWN, Lookup, declared_id, pins_of
from gatewright.discovery.method_names import INDEX, TOKENS
from gatewright.in_force import InForce
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.dispatch import Builtin
from gatewright.transport.slices import in_slices

__all__ = ["PAYS", "Costs"]

PAYS = 2
"""From this ratio on, of all tools to search with its first answer, search instead of a whole list is recommended."""
_ANSWER = 5


class _Index(msgspec.Struct):
    tool: str


class Costs:
    """By the catalogue in force."""

    def __init__(self, now: InForce, index: CatalogueIndex, lookup: Lookup) -> None:
        self._now = now
        self._index = index
        self._lookup = lookup
        self.methods: Mapping[str, Builtin] = {TOKENS: self._tokens, INDEX: self._exported}

    async def _tokens(self, call: Call, back: Back) -> Outcome:
        await self._lookup.ready(call.profile)
        return Answer(jsonrpc.encode(await in_slices(self._counted(call))))

    def _counted(self, call: Call) -> Generator[None, None, dict[str, Any]]:
        servers: dict[str, list[int]] = {}
        meta = 0
        for item in self._now.servers.catalogue.view(call.profile).items("tools/list"):
            yield
            tool = item.tool
            if tool is None:
                continue
            if tool.target.server != KERNEL:
                servers.setdefault(item.server, []).append(self._lookup.tokens(tool))
            elif tool.target.name in SHOWN:
                meta += self._lookup.tokens(tool)
        total, tools = sum(map(sum, servers.values())), sum(map(len, servers.values()))
        answer = round(total / tools * min(tools, _ANSWER)) if tools else 0
        pinned = yield from self._pinned(call.profile)
        searching = meta + pinned + answer
        return {
            "servers": [
                {"server_id": name, "tools": len(one), "tokens": sum(one)}
                for name, one in servers.items()
            ],
            "tools": tools,
            "tokens": total,
            "meta_tokens": meta,
            "pinned_tokens": pinned,
            "answer_tokens": answer,
            "saved": round(1 - searching / total, 4) if total > searching else 0.0,
            "pays": total >= PAYS * searching and tools > _ANSWER,
        }

    def _pinned(self, profile: str) -> Generator[None, None, int]:
        """What is pinned takes, for the agent to which it takes most: an operator that asks has no pins of its own."""
        settings, named = self._now.settings, self._now.servers.catalogue.view(profile).tools
        most = 0
        for agent in ("*", *settings.agents):
            yield
            found = filter(None, map(named.get, pins_of(settings, profile, Caller(agent))))
            # One tool may be pinned by more than one of its names.
            once = {tool.target: tool for tool in found if tool.target.server != KERNEL}
            most = max(most, sum(map(self._lookup.tokens, once.values())))
        return most

    async def _exported(self, call: Call, back: Back) -> Outcome:
        """One entry of the index, in the words of MGP §16.4."""
        try:
            asked = msgspec.convert(call.params, _Index)
        except msgspec.ValidationError as problem:
            return Failure("invalid_params", f"params: {problem}")
        tool = self._now.servers.catalogue.tool(call.profile, asked.tool)
        if tool is None or tool.target.server == KERNEL:
            return Failure("not_found", f"the index has no tool {asked.tool[:100]!r}")
        try:
            found = await self._index.export(tool)
        except KeyError:
            return Failure("not_found", f"the index has no tool {asked.tool[:100]!r}")
        return Answer(
            jsonrpc.encode({**found, "tool_id": declared_id(tool), "security": _security(tool)})
        )


def _security(tool: Tool) -> dict[str, Any]:
    said = tool.security
    return {
        "risk_level": said.risk_level,
        "permissions_required": list(said.permissions_required),
        "validator": said.validator,
    }
