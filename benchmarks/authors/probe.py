"""What one SDK makes of the ten tools, of ten bad calls and of ten mistakes: `python -m benchmarks.authors.probe NAME`.

Runs in the environment of that SDK, through its own client in memory, and prints one JSON object. Nothing here is about which answer
is the better one: it says whether a thing was refused, when, and in which words.
"""

from __future__ import annotations

import asyncio
import importlib
import inspect
import io
import json
import logging
import sys
import tokenize
import warnings
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from nowhere import Ghost  # type: ignore[import-not-found]

__all__ = ["CALLS", "MISTAKES", "main", "report"]

TOOLS = {
    "ours": "examples.sdk.ten_tools",
    "official": "benchmarks.authors.official",
    "fastmcp": "benchmarks.authors.fast",
}
PATIENCE_S = 5.0

CALLS: dict[str, tuple[str, dict[str, Any]]] = {
    "text for a number": ("add", {"a": "1"}),
    "an argument that does not exist": ("add", {"a": 1, "c": 2}),
    "a number out of bounds": ("search", {"query": "x", "limit": 51}),
    "a text that is too short": ("search", {"query": ""}),
    "a value that is no alternative": ("convert", {"amount": 1, "to": "GBP"}),
    "a time that is none": ("remind", {"when": "yesterday", "text": "x"}),
    "an id that is none": ("lookup", {"order": "x"}),
    "a missing argument": ("remind", {"text": "x"}),
    "a destructive tool, unasked": ("wipe", {"folder": "/data"}),
    "a tool that fails on purpose": ("fail", {"reason": "the moon is not out"}),
}
"""What a model may do wrong → tool and arguments."""

Call = Callable[[str, dict[str, Any]], Awaitable[tuple[bool, str]]]


class Author:
    """One SDK: a fresh server to declare tools on."""

    def __init__(self, name: str) -> None:
        module = importlib.import_module(TOOLS[name])
        self.module = module
        self.server: Any = type(module.server)("mistakes")

    def tool(self, function: Any, **options: Any) -> None:
        """Declare, as all three do it."""
        self.server.tool(**options)(function)

    async def call(self, server: Any, name: str, arguments: dict[str, Any]) -> tuple[bool, str]:
        """Whether the call failed, and what it said, through the SDK's own client."""
        client_class = importlib.import_module(
            _CLIENTS[type(server).__module__.split(".")[0]]
        ).Client
        async with client_class(server) as client:
            if hasattr(
                client, "call_tool_mcp"
            ):  # FastMCP's client raises unless it is asked like this
                result = await client.call_tool_mcp(name, arguments)
            else:
                result = await client.call_tool(name, arguments)
        failed = bool(getattr(result, "is_error", False) or getattr(result, "isError", False))
        return failed, " ".join(getattr(one, "text", "") for one in _blocks(result))


_CLIENTS = {"gatewright": "gatewright.sdk", "mcp": "mcp", "fastmcp": "fastmcp"}


def _blocks(result: Any) -> list[Any]:
    content = result.content
    if content and isinstance(content[0], dict):
        return [type("Block", (), one)() for one in content]
    return list(content)


def untyped(author: Author) -> None:
    def find(query):  # type: ignore[no-untyped-def]  # noqa: ANN001, ANN202
        return query

    author.tool(find)


def star(author: Author) -> None:
    def total(*prices: float) -> float:
        return sum(prices)

    author.tool(total)


def unsayable(author: Author) -> None:
    def each(action: Callable[[int], int]) -> int:
        return action(1)

    author.tool(each)


def hidden_hint(author: Author) -> None:
    def haunt(who: Ghost) -> str:
        return str(who)

    author.tool(haunt)


def same_name(author: Author) -> None:
    def first(a: int) -> int:
        return a

    def second(b: str) -> str:
        return b

    author.tool(first, name="pick")
    author.tool(second, name="pick")


def option(author: Author) -> None:
    def run(a: int) -> int:
        return a

    author.tool(run, destructiv=True)


def no_function(author: Author) -> None:
    author.tool(42)


def wrong_output(author: Author) -> None:
    def size(name: str) -> int:
        return f"{name} is large"  # type: ignore[return-value]

    author.tool(size)


def not_json(author: Author) -> None:
    def ratio(a: float) -> dict[str, float]:
        return {"ratio": float("nan")}

    author.tool(ratio)


def endless(author: Author) -> None:
    async def wait() -> str:
        await asyncio.Event().wait()
        return "over"

    timeout = {"gatewright": {"timeout_s": 1}, "fastmcp": {"timeout": 1}}
    author.tool(wait, **timeout.get(type(author.server).__module__.split(".")[0], {}))


MISTAKES: dict[str, tuple[Callable[[Author], None], str, dict[str, Any]]] = {
    "a parameter without a type": (untyped, "find", {"query": "x"}),
    "`*args`": (star, "total", {"prices": [1, 2]}),
    "a type that JSON cannot say (`Callable`)": (unsayable, "each", {"action": "x"}),
    "a type imported under `TYPE_CHECKING`": (hidden_hint, "haunt", {"who": "x"}),
    "two tools of one name": (same_name, "pick", {"b": "x"}),
    "a mistyped option (`destructiv=True`)": (option, "run", {"a": 1}),
    "a decorated number": (no_function, "42", {}),
    "`-> int`, and a text is returned": (wrong_output, "size", {"name": "x"}),
    "`NaN` in the result": (not_json, "ratio", {"a": 1}),
    "a tool that never ends (limit 1 s where there is one)": (endless, "wait", {}),
}
"""What an author may do wrong → its declaration, and a call."""


async def _call(
    author: Author, server: Any, name: str, arguments: dict[str, Any]
) -> tuple[str, str]:
    limit = asyncio.timeout(PATIENCE_S)
    try:
        async with limit:
            failed, text = await author.call(server, name, arguments)
    except Exception as problem:  # noqa: BLE001 - its words are what is asked for
        if limit.expired():
            return "never", f"no answer within {PATIENCE_S:g} s"
        return "call", _words(problem)
    return ("call", _line(text)) if failed else ("never", f"it ran: {_line(text) or 'no text'}")


async def _mistake(name: str, declare: Callable[[Author], None], tool: str, arguments: Any) -> Any:
    author = Author(name)
    try:
        declare(author)
    except Exception as problem:  # noqa: BLE001 - its words are what is asked for
        return "declaration", _words(problem)
    return await _call(author, author.server, tool, arguments)


def _words(problem: BaseException) -> str:
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[0]
    return _line(f"{type(problem).__name__}: {problem}")


def _line(text: str) -> str:
    return " ".join(text.split())[:300]


def lines_of(module: Any) -> int:
    """Lines with code: no comment, no docstring, nothing empty."""
    source = inspect.getsource(module)
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        code = token.type in {tokenize.NAME, tokenize.OP, tokenize.NUMBER}
        if code or (token.type == tokenize.STRING and not token.string.startswith('"""')):
            found.update(range(token.start[0], token.end[0] + 1))
    return len(found)


async def report(name: str) -> dict[str, Any]:
    """Everything about one SDK."""
    author = Author(name)
    server = author.module.server
    calls = {what: await _call(author, server, *asked) for what, asked in CALLS.items()}
    mistakes = {what: await _mistake(name, *asked) for what, asked in MISTAKES.items()}
    return {"lines": lines_of(author.module), "calls": calls, "mistakes": mistakes}


def main(name: str) -> None:
    """Print the report."""
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    print(json.dumps(asyncio.run(report(name))))


if __name__ == "__main__":
    main(sys.argv[1])
