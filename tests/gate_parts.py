"""What gate tests have in common: a call, a tool, and callers who can or cannot be asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.call import (
    Call,
    Caller,
    CannotAsk,
    Client,
    Event,
    Kind,
    Question,
    Security,
    Target,
    Tool,
)
from gatewright.mcp.server.kept_answers import About

__all__ = ["AGENT", "OPERATOR", "Asked", "Mute", "Withholding", "a_call", "a_tool", "a_tool_call"]

AGENT = Caller("agent.one", "agent", "key1")
OPERATOR = Caller("local", "operator")


class Mute:
    """A way back to a caller who cannot be asked."""

    def emit(self, event: Event) -> None:
        raise AssertionError("gates send no events")

    async def ask(self, question: Question) -> dict[str, Any]:
        raise CannotAsk("the client did not declare elicitation")


class Asked(Mute):
    """A way back to a caller who gives one answer; it remembers what was asked."""

    def __init__(self, answer: Any, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.answer = answer
        self.meanwhile = meanwhile
        self.questions: list[Question] = []

    async def ask(self, question: Question) -> dict[str, Any]:
        self.questions.append(question)
        self.meanwhile()
        return self.answer  # type: ignore[no-any-return]


def a_call(
    kind: Kind = "tool",
    name: str = "srv__echo",
    *,
    method: str = "tools/call",
    caller: Caller = AGENT,
    arguments: Any = None,
    **more: Any,
) -> Call:
    """A call as a door makes it."""
    params = {"name": name} if arguments is None else {"name": name, "arguments": arguments}
    return Call(
        id="c1",
        door=more.pop("door", "http"),
        kind=kind,
        method=method,
        name=name,
        params=params,
        caller=caller,
        client=more.pop("client", Client("2025-11-25")),
        trace_id="t1",
        **more,
    )


def a_tool(name: str = "echo", server: str = "srv", *, schema: Any = None, **security: Any) -> Tool:
    """A tool as the catalogue holds it."""
    definition = {"name": msgspec.Raw(b'"%s"' % name.encode())}
    return Tool(Target(server, name), f"{server}__{name}", definition, schema, Security(**security))


def a_tool_call(tool: Tool, **more: Any) -> Call:
    """A call of a tool after `resolve`."""
    return a_call(name=tool.exposed, target=tool.target, tool=tool, **more)


class Withholding:
    """Takes everything back, or nothing."""

    def __init__(self, withholds: Callable[[], bool]) -> None:
        self._withholds = withholds

    def meant(self, caller: Caller, profile: str, about: About) -> About:
        return about

    def withheld(self, caller: Caller, profile: str, about: About) -> bool:
        return self._withholds()
