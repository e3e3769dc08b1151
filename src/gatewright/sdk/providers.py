"""Registers tools from external providers, each queried with a time limit, and reports failures.

A source that is late or broken is reported; the tools of the others are there all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping

from gatewright.sdk.discovery import Problem
from gatewright.sdk.registry import Registry
from gatewright.sdk.tool import Tool

__all__ = ["Provider", "ask_providers"]

Provider = Callable[[], Awaitable[Iterable[Tool]]]
"""Gives the tools that it has now."""


async def ask_providers(
    registry: Registry, providers: Mapping[str, Provider]
) -> tuple[Problem, ...]:
    """Register what the sources have; returns what went wrong, by source.

    All are asked at once, for at most the registry's `discovery_s` seconds.
    """
    if not providers:
        return ()
    # At the same time, so that one late provider costs the limit once.
    asked = {asyncio.ensure_future(one()): name for name, one in providers.items()}
    limit = registry.limits.discovery_s
    done, late = await asyncio.wait(asked, timeout=limit)
    problems = [Problem(asked[one], f"did not answer within {limit:g} s") for one in late]
    for one in late:
        one.cancel()
    for one in done:
        problem = one.exception() or _register(registry, one.result())
        if problem is not None:
            problems.append(Problem(asked[one], f"{type(problem).__name__}: {problem}"))
    return tuple(problems)


def _register(registry: Registry, tools: Iterable[Tool]) -> Exception | None:
    first: Exception | None = None
    for tool in tools:
        try:
            registry.register(tool)
        except Exception as problem:  # noqa: BLE001 - reported; the source's other tools are kept
            first = first or problem
    return first
