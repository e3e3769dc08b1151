"""`run_function`: runs a coroutine, or a function in a thread, under a time limit that pauses for user answers; `too_long`: its error."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Callable
from typing import Any

from gatewright.sdk.errors import TimeoutError
from gatewright.sdk.running_call import Running
from gatewright.sdk.threads import Expired, Left, run_in_thread

__all__ = ["run_function", "too_long"]

log = logging.getLogger("gatewright.sdk")

# Seconds in which a cancelled function may clean up.
_GRACE_S = 0.2


async def run_function(
    name: str,
    function: Callable[[], Any],
    waits: bool,
    limit_s: float,
    running: Running | None = None,
) -> Any:
    """What a function returns. `waits` says that it is a coroutine function. Raises what it raises, and `Expired` when
    its time is over: then it was stopped. What a person takes to answer (`running`) is not its time."""
    left = _clock(limit_s, running)
    if waits:
        return await _awaited(name, function, left)
    try:
        found = await run_in_thread(function, left)
    finally:
        if running is not None:
            running.end()
    if inspect.isawaitable(found):  # a partial, a decorator without `async`
        return await _awaited(name, lambda: found, left)
    return found


def _clock(limit_s: float, running: Running | None) -> Left:
    """How much of a function's time is left, of which what a person takes to answer is no part."""
    time = asyncio.get_running_loop().time
    begun = time()

    def left() -> float:
        now = time()
        asked = 0.0 if running is None else running.asked_s(now)
        return limit_s - (now - begun - asked)

    return left


async def _awaited(name: str, function: Callable[[], Any], left: Left) -> Any:
    """What a coroutine function returns. Raises `Expired`, also where the function swallows its cancellation."""
    work = asyncio.ensure_future(_kept_in(function))
    try:
        while not work.done():
            # Asked again after each wait: a question may have stopped the clock meanwhile.
            if (seconds := left()) <= 0:
                await _stop(name, work)
                raise Expired
            await _over(work, seconds)
    except asyncio.CancelledError:
        await _stop(name, work)
        raise
    if work.cancelled():  # nobody here did that, and whoever asked waits for an answer
        raise RuntimeError(f"{name} was cancelled from inside")
    return work.result()


async def _kept_in(function: Callable[[], Any]) -> Any:
    """What a coroutine function returns. `SystemExit` would end the loop, and every other call with it."""
    try:
        return await function()
    except SystemExit as problem:
        raise RuntimeError(f"the tool ended with {problem!r}") from problem


async def _over(work: asyncio.Future[Any], seconds: float) -> None:
    """Wait for the end of the work, or for so many seconds; what `asyncio.wait` does, for one, in a third of the time."""
    loop = asyncio.get_running_loop()
    over: asyncio.Future[None] = loop.create_future()

    def wake(_: Any = None) -> None:
        if not over.done():
            over.set_result(None)

    timer = loop.call_later(seconds, wake)
    work.add_done_callback(wake)
    try:
        await over
    finally:
        timer.cancel()
        work.remove_done_callback(wake)


async def _stop(name: str, work: asyncio.Future[Any]) -> None:
    """Cancel the function and give it a moment to clean up; its caller does not wait longer."""
    work.cancel()
    _, late = await asyncio.wait((work,), timeout=_GRACE_S)
    if late:
        log.error("%s goes on after it was cancelled; it has to let CancelledError pass", name)
        work.add_done_callback(_forget)
    elif not work.cancelled():
        work.exception()


def _forget(work: asyncio.Future[Any]) -> None:
    if not work.cancelled():
        work.exception()


def too_long(name: str, limit_s: float) -> TimeoutError:
    """What the caller of a function is told whose time was over (the details are ggen's)."""
    return TimeoutError(
        f"{name} did not end within {limit_s:g} s",
        details={
            "tool_name": name,
            "timeout_ms": round(limit_s * 1000),
            "suggestions": [
                "Increase timeout for long-running analysis",
                "Check tool server health",
                "Break request into smaller chunks",
            ],
        },
    )
