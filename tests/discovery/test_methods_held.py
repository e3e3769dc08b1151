"""No method of tool discovery holds the loop, whatever its caller asks and whatever servers say of their tools: every text, list and object that they
read, in the shapes of `benchmarks.hostile` and in words that come once."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from typing import Any

import msgspec
import pytest

from benchmarks.hostile.arguments import words
from gatewright.call import Failure
from gatewright.discovery.ranking import Text, ranked
from gatewright.transport.slices import in_slices
from tests.discovery.houses import House
from tests.held import longest_turn

MOST = 7.0
"""Yardsticks: a step may take some milliseconds. What held the loop took fifteen and more."""
TOOLS = 24
LETTERS = "abcdefghijklmnopqrstuvwxyz"
ASKED, NAME, LISTED = 2000, 512, 256
"""As long as a query, a name and a capability may be."""


def once(kind: str, number: int, size: int) -> str:
    """A text in which no word comes twice, nor in that of another number."""
    start = number * 5000
    units: Mapping[str, Callable[[int], str]] = {
        "short": lambda at: f"{start + at:x} ",
        "mixed": lambda at: "".join(f"{LETTERS[(start + at * 7 + one) % 26]}{one % 10}" for one in range(90)) + " ",
        "accents": lambda at: f"{chr(0xE0 + (start + at) % 30)}{chr(0x101 + (start + at * 13) % 120)} ",
        "kana": lambda at: "".join(chr(0x3042 + (start + at * 31 + one) % 80) for one in range(190)) + " ",
        "endings": lambda at: f"{LETTERS[at % 26] * 9}{start + at}izationers ",
        "alike": lambda at: "a" * 250 + f"{start + at} ",
        "levels": lambda at: "/".join("ab"[(start + at) >> one & 1] for one in range(120)) + " ",
    }  # fmt: skip
    unit, text, at = units[kind], "", 0
    while len(text) < size:
        text, at = text + unit(at), at + 1
    return text[:size]


ONCE = ("short", "mixed", "accents", "kana", "endings", "alike", "levels")
SHAPES = (*(name for name, _ in words(8)), *ONCE)


def said(shape: str, number: int, size: int) -> str:
    return once(shape, number, size) if shape in ONCE else dict(words(size * 5))[shape][:size]


def tool(shape: str, number: int) -> dict[str, msgspec.Raw]:
    """One that says as much of itself as is read of it."""
    text = said(shape, number, 8192)
    some = [text[at * 200 : at * 200 + 250] for at in range(32)]
    properties = {
        f"{text[at * 60 : at * 60 + 60]}{at}": {"description": text[at * 100 : at * 100 + 250]}
        for at in range(64)
    }
    members = {
        "name": f"{text[:60]}{number}",
        "description": text,
        "inputSchema": {"type": "object", "properties": properties},
        "categories": some,
        "keywords": some,
    }
    return {
        name: msgspec.Raw(json.dumps(one, ensure_ascii=False).encode())
        for name, one in members.items()
    }


def asked(shape: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Each method that takes a text, a list or an object, with the most of it that it takes."""
    text = said(shape, TOOLS + 1, 8192)
    names = [f"{text[at * 60 : at * 60 + NAME - 12]}{at}" for at in range(100)]
    some = [f"{text[at * 200 : at * 200 + LISTED - 6]}{at}" for at in range(16)]
    for strategy in ("auto", "keyword", "semantic", "category"):
        yield "discover", {"query": text[:ASKED], "strategy": strategy, "max_results": 50}
    yield "discover", {"query": "echo", "filter": {"categories": names}}
    yield "discover", {"filter": {"categories": names}}
    yield "describe", {"name": names[0]}
    yield "request", {"requirements": {"capabilities": some}}
    yield "request", {"requirements": {"capabilities": some, "input_types": some, "output_types": some}}  # fmt: skip
    yield "request", {"context": text[:ASKED]}
    yield "session", {}
    yield "session.evict", {"tools": names}


@pytest.mark.parametrize("shape", SHAPES)
async def test_no_method_holds_the_loop(shape: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Issue 13, point 1. The first search takes up what servers list."""
    tools = {"s": [tool(shape, number) for number in range(TOOLS)]}
    houses = [House(tools) for _ in range(9)]  # one a try
    house, made = houses[0], 0

    async def first() -> None:
        nonlocal house
        house = houses.pop()
        await house.meta.answer("discover", house.call(), {"query": "echo"})

    def again(what: str, params: dict[str, Any]) -> Callable[[], Awaitable[None]]:
        async def answered() -> None:
            nonlocal made
            found = await house.meta.answer(what, house.call(), params)
            made += not isinstance(found, Failure) or found.reason == "tool_not_found"

        return answered

    async def listed() -> None:
        text = said(shape, TOOLS + 1, 8192)
        texts = [Text(text[:NAME], text, (text[:LISTED],) * 32)] * TOOLS
        await in_slices(ranked(text[:ASKED], texts))

    await first()  # its engine is loaded once, beside the loop
    held = {"listing": await longest_turn(first, monkeypatch, MOST)}
    held["tools/list"] = await longest_turn(listed, monkeypatch, MOST)
    every = list(asked(shape))
    for number, (what, params) in enumerate(every):
        held[f"{number} {what}"] = await longest_turn(again(what, params), monkeypatch, MOST)
    assert made >= len(every)
    assert {name: round(one, 1) for name, one in held.items() if one > MOST} == {}
