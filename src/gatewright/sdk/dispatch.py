"""Steps of `Registry.invoke` after the trust check: arguments, validators, the function within its time limit, its output.

The order is: may it run at all (trust gateway), do the arguments fit (schema), do the validators agree, then the
function under its time limit, then its output. A tool needs no check of its own, and cannot leave one out.

A refusal is an exception of `errors`; a tool that ran and failed is a result with `is_error`, so that whoever asked
(a model, mostly) reads what it said.
"""

from __future__ import annotations

import asyncio
import builtins
import functools
import inspect
import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from gatewright.sdk.context import Context
from gatewright.sdk.errors import SchemaError, SdkError, TimeoutError, ToolError
from gatewright.sdk.pieces import collecting
from gatewright.sdk.result import Result, result_of, tool_failure
from gatewright.sdk.run_function import run_function, too_long
from gatewright.sdk.threads import Expired, run_in_thread
from gatewright.sdk.tool import Tool, Validator

__all__ = ["checked_arguments", "run_tool", "validate"]

log = logging.getLogger("gatewright.sdk")


def checked_arguments(tool: Tool, arguments: Mapping[str, Any] | None) -> dict[str, Any]:
    """The arguments, which fit the tool's schema. Raises `SchemaError` that says where they do not."""
    found = {} if arguments is None else arguments
    if not isinstance(found, dict):
        raise SchemaError(
            f"arguments of {tool.name} must be an object", details={"path": "", "rule": "type"}
        )
    objection = tool.input_check().objection(found)
    if objection is not None:
        raise SchemaError(
            f"arguments{objection.path} of {tool.name}: {objection.message}",
            details={"path": objection.path, "rule": objection.rule, "tool_name": tool.name},
        )
    return found


async def validate(
    tool: Tool, arguments: dict[str, Any], validators: Iterable[Validator], limit_s: float
) -> None:
    """Ask the validators. Raises `SchemaError` for a rejection and `TimeoutError` past the limit."""
    asked = [*validators, *tool.validators]
    if not asked:
        return
    try:
        async with asyncio.timeout(limit_s):
            for validator in asked:
                await _ask(tool, validator, arguments)
    except builtins.TimeoutError as problem:
        raise TimeoutError(
            f"the validators of {tool.name} did not end within {limit_s:g} s",
            details={"tool_name": tool.name, "timeout_ms": round(limit_s * 1000)},
            advice="Make them quicker, or raise validation_s",
        ) from problem


async def _ask(tool: Tool, validator: Validator, arguments: dict[str, Any]) -> None:
    name = getattr(validator, "__name__", type(validator).__name__)
    try:
        said = await _called(
            functools.partial(validator, arguments), inspect.iscoroutinefunction(validator)
        )
    except (
        Exception,
        SystemExit,
        asyncio.CancelledError,
    ) as problem:  # a validator that fails has not agreed
        task = asyncio.current_task()
        # Cancelled from outside, which has to pass; a validator that raises CancelledError by itself has rejected.
        if task is not None and task.cancelling():
            raise
        said = str(problem) or type(problem).__name__
    if said:
        raise SchemaError(
            f"{name} rejected the arguments of {tool.name}: {said}",
            reason="validation_blocked",
            details={"validator": name, "tool_name": tool.name, "rule": "validator"},
            advice="Change the arguments as it says",
        )


async def run_tool(
    tool: Tool, arguments: dict[str, Any], limit_s: float, context: Context | None = None
) -> Result:
    """Run a tool with checked arguments for at most `limit_s` seconds.

    Raises `SchemaError` where a value cannot become what the function takes, `TimeoutError` past the limit (the
    function is stopped) and `SerializationError` for what it returned. What else the function raises is a result
    with `is_error`.
    """
    given = arguments if tool.prepare is None else tool.prepare(arguments)
    if tool.context is not None:
        known = context or Context(tool=tool.name, version=tool.version)
        # The caller's deadline may come before the tool's own limit.
        deadline = min(known.deadline, time.monotonic() + limit_s)
        given = {**given, tool.context: replace(known, deadline=deadline)}
    function: Callable[[], Any] = functools.partial(tool.function, **given)
    running = None if context is None else context.running
    try:
        if tool.yields:
            function = collecting(function, tool.waits, context)
        found = await run_function(tool.name, function, tool.waits, limit_s, running)
    except Expired:
        raise too_long(tool.name, limit_s) from None
    except Exception as problem:
        if not isinstance(problem, ToolError):
            log.warning("tool %s failed", tool.name, exc_info=problem)
        return tool_failure(_words(problem))
    return result_of(tool, found)


async def _called(function: Callable[[], Any], waits: bool) -> Any:
    """What a validator says."""
    found = function() if waits else await run_in_thread(function)
    return await found if inspect.isawaitable(found) else found


def _words(problem: Exception) -> str:
    if isinstance(problem, ToolError | SdkError):
        return str(problem)
    return f"{type(problem).__name__}: {problem}"
