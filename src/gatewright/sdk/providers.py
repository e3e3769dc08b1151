"""`ask_providers`: queries asynchronous tool sources all at once under one time limit, registers their tools and returns each failure.

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
    await asyncio.wait(asked, timeout=limit)
    problems = []
    # In their order, so that the tools are listed in the same one in every run.
    for one, name in asked.items():
        if not one.done():
            one.cancel()
            problems.append(Problem(name, f"did not answer within {limit:g} s"))
            continue
        problem = _problem(one) or _register(registry, one.result())
        if problem is not None:
            problems.append(Problem(name, f"{type(problem).__name__}: {problem}"))
    return tuple(problems)


def _register(registry: Registry, tools: Iterable[Tool]) -> Exception | None:
    first: Exception | None = None
    try:
        # Gone through inside: a source may return nothing, or an iterator that raises.
        for tool in tools:
            problem = _refused(registry, tool)
            first = first or problem
    except Exception as broken:  # noqa: BLE001 - reported; the tools before it are kept
        first = first or broken
    return first


def _refused(registry: Registry, tool: Tool) -> Exception | None:
    try:
        registry.register(tool)
    except Exception as problem:  # noqa: BLE001 - reported; the source's other tools are kept
        return problem
    return None


def _problem(asked: asyncio.Future[Iterable[Tool]]) -> BaseException | None:
    """What a source raised. A cancellation is its own: nobody here cancels what is done."""
    if asked.cancelled():
        return RuntimeError("it was cancelled from inside")
    return asked.exception()
