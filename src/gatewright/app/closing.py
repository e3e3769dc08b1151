"""Closes all parts of a gateway in order, also after an incomplete start; an error in one leaves none of the others open."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["close_all"]

Step = Callable[[], object]
"""What it returns is waited for where it can be."""


async def close_all(parts: Mapping[str, Any]) -> None:
    """Close what there is by now of a gateway's parts, by the names of `Gateway`. Where steps raise, the others are taken all
    the same; then the last error is raised, with those before it as its context."""
    async with contextlib.AsyncExitStack() as rest:
        # It takes them from the end.
        for step in reversed([*_steps(parts)]):
            rest.push_async_callback(_taken, step)


async def _taken(step: Step) -> None:
    done = step()
    if inspect.isawaitable(done):
        await done


def _steps(parts: Mapping[str, Any]) -> Iterator[Step]:
    features, around = parts.get("features", ()), parts.get("_around", ())
    following = parts.get("_following", ())
    yield from (task.cancel for task in following)
    # What follows the state uses what is closed below.
    yield lambda: asyncio.gather(*following, return_exceptions=True)
    yield from _closing(parts, "app")
    yield from (one.stop for one in around)
    yield from _closing(parts, "administration", "supervisor", "_server_tasks", "_anchoring")
    for number in reversed(range(len(features))):
        yield features[number].close
        yield from (one.close for one in around[number : number + 1])
    # Before the end of the record is said in it (`audit.anchoring`), the database is open: who closes it last brings its log into its file.
    yield from _closing(parts, "callers", "_workers", "audit", "database")


def _closing(parts: Mapping[str, Any], *names: str) -> Iterator[Step]:
    return (parts[name].close for name in names if name in parts)
