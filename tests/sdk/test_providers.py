from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator
from typing import Any

from gatewright.sdk import Registry, TimeLimits, Tool
from gatewright.sdk.providers import ask_providers

SCHEMA: dict[str, Any] = {"type": "object"}


def tool(name: str, **changes: Any) -> Tool:
    return Tool(name=name, description="", function=print, **{"input_schema": SCHEMA, **changes})


async def test_a_slow_or_broken_source_does_not_hold_up_the_others() -> None:
    """GGEN-to-3, GGEN-core-7: what is known by the limit is there, the rest is named."""
    registry = Registry(limits=TimeLimits(discovery_s=0.05))
    registry.register(tool("taken"))

    async def quick() -> Iterable[Tool]:
        return [tool("a"), tool("taken", output_schema=SCHEMA), tool("b")]

    async def slow() -> Iterable[Tool]:
        await asyncio.Event().wait()
        return []

    async def broken() -> Iterable[Tool]:
        raise OSError("no route")

    found = await ask_providers(registry, {"quick": quick, "slow": slow, "broken": broken})
    assert [one.name for one in registry.list()] == ["taken", "a", "b"]
    by_source = {one.module: one.message for one in found}
    assert by_source["slow"] == "did not answer within 0.05 s"
    assert by_source["broken"] == "OSError: no route"
    assert by_source["quick"].startswith(
        "RegistrationError: tool taken 1.0.0 is registered already"
    )


async def test_without_sources_there_is_nothing_to_report() -> None:
    assert await ask_providers(Registry(), {}) == ()


async def test_a_source_that_returns_nothing_or_breaks_off_keeps_no_other_one_from_registering() -> (
    None
):
    registry = Registry()

    async def nothing() -> Any:
        return None

    async def broken_off() -> Iterable[Tool]:
        def tools() -> Iterator[Tool]:
            yield tool("first")
            raise OSError("gone")

        return tools()

    async def cancelled() -> Iterable[Tool]:
        raise asyncio.CancelledError

    async def whole() -> Iterable[Tool]:
        return [tool("last")]

    problems = await ask_providers(
        registry,
        {"nothing": nothing, "broken": broken_off, "cancelled": cancelled, "whole": whole},
    )
    assert {one.module for one in problems} == {"nothing", "broken", "cancelled"}
    assert {one.name for one in registry.list()} == {"first", "last"}
