"""Tools that yield: every piece goes ahead, the result is all of them, and a generator is closed however it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from gatewright.call import Event, Question
from gatewright.sdk import Context
from gatewright.sdk.context import CHUNK
from gatewright.sdk.decorator import mcp_tool
from gatewright.sdk.errors import TimeoutError
from gatewright.sdk.pieces import MOST_BYTES
from gatewright.sdk.registry import Registry
from gatewright.sdk.running_call import Running

ended: list[str] = []


class Ear:
    """Keeps what a tool sends ahead."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Nobody asks."""
        return {}

    @property
    def texts(self) -> list[str]:
        return [one.params["content"]["text"] for one in self.events if one.method == CHUNK]


def registry() -> Registry:
    found = Registry("t")

    @mcp_tool(registry=found, prefix="")
    def plain(count: int) -> Iterator[str]:
        try:
            for one in range(count):
                yield f"{one} "
        finally:
            ended.append("plain")

    @mcp_tool(registry=found, prefix="")
    async def waiting(count: int) -> AsyncIterator[str]:
        try:
            for one in range(count):
                yield f"{one} "
        finally:
            ended.append("waiting")

    _flawed(found)
    return found


def _flawed(found: Registry) -> None:
    @mcp_tool(registry=found, prefix="")
    async def numbers() -> AsyncIterator[Any]:
        yield "a"
        yield 1

    @mcp_tool(registry=found, prefix="")
    def broken() -> Iterator[str]:
        yield "a"
        raise ValueError("no more")

    @mcp_tool(registry=found, prefix="")
    def much(letter: str) -> Iterator[str]:
        yielded = 0
        while True:
            assert yielded <= MOST_BYTES
            piece = letter * 1_000_000
            yielded += len(piece.encode("utf-8", "replace"))
            yield piece


@pytest.mark.parametrize("name", ["plain", "waiting"])
async def test_each_piece_goes_ahead_and_the_result_is_all_of_them(name: str) -> None:
    ended.clear()
    ear = Ear()
    context = Context(tool=name, back=ear, running=Running(asyncio.get_running_loop()))
    result = await registry().invoke(name, {"count": 200}, context=context)
    assert ear.texts[:-1] == [f"{one} " for one in range(200)]
    assert [one.params["done"] for one in ear.events] == [False] * 200 + [True]
    assert result.text == "".join(ear.texts)
    assert result.structured is None
    assert ended == [name]


@pytest.mark.parametrize("name", ["plain", "waiting"])
async def test_without_anybody_to_hear_them_there_is_the_result(name: str) -> None:
    assert (await registry().invoke(name, {"count": 3})).text == "0 1 2 "


async def test_what_is_no_text_is_no_piece() -> None:
    result = await registry().invoke("numbers")
    assert result.is_error
    assert "has to yield texts, and this was int" in result.text


async def test_one_that_fails_half_way_is_a_tool_error() -> None:
    result = await registry().invoke("broken")
    assert (result.is_error, result.text) == (True, "ValueError: no more")


@pytest.mark.parametrize("letter", ["x", "€"])
async def test_one_that_never_ends_is_bounded_in_bytes(letter: str) -> None:
    """What is kept and sent is UTF-8, of which a character may have four."""
    result = await registry().invoke("much", {"letter": letter})
    assert result.is_error
    assert f"more than {MOST_BYTES} bytes" in result.text


@pytest.mark.no_cover
@pytest.mark.parametrize("name", ["plain", "waiting"])
async def test_the_time_limit_ends_the_generator(name: str) -> None:
    ended.clear()
    ear = Ear()
    context = Context(tool=name, back=ear, running=Running(asyncio.get_running_loop()))
    with pytest.raises(TimeoutError):
        await registry().invoke(name, {"count": 10**9}, limit_s=0.1, context=context)
    await asyncio.sleep(0.3)
    assert ended == [name]
