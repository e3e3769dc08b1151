"""A catalogue of a few tools, of which each caller sees some."""

from __future__ import annotations

import json
from collections.abc import Generator, Iterable, Sequence
from typing import Any

import msgspec

from gatewright.call import Caller, Security, Target, Tool
from gatewright.mcp.wire.groundhog import About

__all__ = ["Item", "Offered", "made"]


class Item:
    def __init__(self, tool: Tool) -> None:
        self._tool = tool

    @property
    def tool(self) -> Tool:
        return self._tool

    def text(self, mgp: bool) -> bytes:
        members = {key: json.loads(bytes(value)) for key, value in self.tool.definition.items()}
        return json.dumps({**members, "name": self.tool.exposed}).encode()


def made(
    server: str, name: str, exposed: str = "", needs: Sequence[str] = (), **members: Any
) -> Tool:
    definition = {"name": name, "inputSchema": {"type": "object"}, **members}
    raw = {key: msgspec.Raw(json.dumps(value).encode()) for key, value in definition.items()}
    security = Security(permissions_required=tuple(needs))
    return Tool(Target(server, name), exposed or f"{server}__{name}", raw, security=security)


class Offered:
    """`hidden` are exposed names that nobody but `root` sees, `unlisted` those that no list has."""

    version = 1

    def __init__(
        self,
        *tools: tuple[Tool, About],
        hidden: Sequence[str] = (),
        missing: Sequence[str] = (),
        unlisted: Sequence[str] = (),
    ) -> None:
        self._missing = missing
        self._unlisted = unlisted
        self._tools = [tool for tool, _ in tools]
        self._about = {tool.target: about for tool, about in tools}
        self._hidden = hidden
        self.taken: set[str] = set()
        """Exposed names of what is hidden since the list was made."""

    @property
    def sight(self) -> Offered._Sight:
        return self._Sight(self)

    class _Sight:
        def __init__(self, offered: Offered) -> None:
            self._offered = offered

        def tool(self, caller: Caller, tool: Tool) -> bool:
            return tool.exposed not in self._offered.taken

    def tool(self, profile: str, name: str) -> Tool | None:
        for one in self._tools:
            if name in {one.exposed, f"{one.target.server}/{one.target.name}"}:
                return one
        return None

    async def warm(self, profiles: Iterable[str]) -> None:
        """Everything is there."""

    def seen(
        self, profile: str, caller: Caller, *, listed: bool = False
    ) -> Generator[None, None, list[Item]]:
        left_out = {*(() if caller.id == "root" else self._hidden)}
        left_out |= {*(self._unlisted if listed else ())}
        yield
        return [Item(one) for one in self._tools if one.exposed not in left_out]

    def called(self, profile: str, name: str) -> list[Tool]:
        return [one for one in self._tools if self.about(one).name == name]

    def shown_as(self, profile: str, target: Target, caller: Caller) -> str | None:
        known = {one.target: one.exposed for one in self._tools}[target]
        return None if known in self._hidden and caller.id != "root" else known

    def about(self, tool: Tool) -> About:
        return self._about[tool.target]

    def is_missing(self, profile: str, caller: Caller, name: str) -> bool:
        return name in self._missing
