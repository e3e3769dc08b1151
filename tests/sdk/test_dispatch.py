from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import json
import threading
from typing import Any

import pytest

from gatewright.sdk import (
    Registry,
    SchemaError,
    SerializationError,
    TimeLimits,
    TimeoutError,
    ToolError,
    mcp_tool,
)
from gatewright.sdk.dispatch import checked_arguments, run_tool, validate

SHORT = 0.05
DEADLINE_S = 60


@dataclasses.dataclass
class Even:
    n: int

    def __post_init__(self) -> None:
        assert self.n % 2 == 0, "n is odd"


@pytest.fixture
def registry() -> Registry:
    found = Registry(limits=TimeLimits(tool_s=SHORT, validation_s=SHORT))

    @mcp_tool(registry=found, name="add")
    async def add(a: int, b: int = 1) -> int:
        return a + b

    @mcp_tool(registry=found, name="fail")
    async def fail(how: str) -> str:
        if how == "said":
            raise ToolError("the moon is not out")
        raise KeyError("k")

    return found


async def test_arguments_are_checked_before_the_function_sees_them(registry: Registry) -> None:
    """CDM-err-3"""
    with pytest.raises(
        SchemaError, match=r'arguments/a of add: value is not of type "integer"'
    ) as caught:
        await registry.invoke("add", {"a": "x"})
    assert caught.value.details == {"path": "/a", "rule": "type", "tool_name": "add"}
    with pytest.raises(SchemaError, match="must be an object"):
        checked_arguments(registry.get("add"), [1])  # type: ignore[arg-type]
    with pytest.raises(SchemaError, match="Additional properties"):
        await registry.invoke("add", {"a": 1, "c": 2})
    with pytest.raises(SchemaError, match='"a" is a required property'):
        await registry.invoke("add")
    assert (await registry.invoke("add", {"a": 1.0})).value == 2


async def test_a_value_that_fits_the_schema_but_is_none_is_a_schema_error() -> None:
    found = Registry()

    async def day(when: dt.date) -> str:
        return when.isoformat()

    mcp_tool(registry=found, name="day")(_with_types(day, when=dt.date))
    with pytest.raises(SchemaError, match="arguments/when of day: Invalid isoformat") as caught:
        await found.invoke("day", {"when": "yesterday"})
    assert caught.value.details["path"] == "/when"


def _with_types(function: Any, **hints: Any) -> Any:
    function.__annotations__ = {**hints, "return": str}
    return function


async def test_a_tool_that_fails_is_a_result_that_says_so(registry: Registry) -> None:
    """CDM-pai-4"""
    said = await registry.invoke("fail", {"how": "said"})
    assert (said.is_error, said.text) == (True, "the moon is not out")
    unexpected = await registry.invoke("fail", {"how": "k"})
    assert (unexpected.is_error, unexpected.text) == (True, "KeyError: 'k'")


async def test_a_tool_past_its_limit_is_cancelled_and_does_nothing_more(
    registry: Registry,
) -> None:
    """GGEN-to-1, GGEN-to-5, CDM-err-6: the side effect after the limit does not happen."""
    effects: list[str] = []
    gate = asyncio.Event()

    @mcp_tool(registry=registry, name="slow")
    async def slow() -> None:
        await gate.wait()
        effects.append("written")

    with pytest.raises(TimeoutError, match=r"slow did not end within 0.05 s"):
        await registry.invoke("slow")
    gate.set()
    await asyncio.sleep(0)
    assert effects == []


async def test_the_timeout_says_what_the_seed_says() -> None:
    """GGEN-to-6: tool_name, timeout_ms and three suggestions; -32003 on that door."""
    found = Registry()

    @mcp_tool(registry=found, name="FinancialAnalyzer", timeout_s=SHORT)
    async def slow() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError) as caught:
        await found.invoke("FinancialAnalyzer")
    assert caught.value.reason == "timeout"
    assert caught.value.details == {
        "tool_name": "FinancialAnalyzer",
        "timeout_ms": 50,
        "suggestions": [
            "Increase timeout for long-running analysis",
            "Check tool server health",
            "Break request into smaller chunks",
        ],
    }


async def test_the_least_of_all_limits_holds(registry: Registry) -> None:
    """C-38"""

    @mcp_tool(registry=registry, name="patient", timeout_s=DEADLINE_S)
    async def patient() -> None:
        await asyncio.Event().wait()

    with pytest.raises(TimeoutError, match=r"within 0.05 s"):
        await registry.invoke("patient")
    with pytest.raises(TimeoutError, match=r"within 0.01 s"):
        await registry.invoke("patient", limit_s=0.01)


@pytest.mark.no_cover
async def test_a_plain_function_that_blocks_is_stopped_and_blocks_nobody(
    registry: Registry,
) -> None:
    """GGEN-to-5 for functions in threads."""
    registry.limits = TimeLimits(tool_s=DEADLINE_S)
    begun, go_on, effects = threading.Event(), threading.Event(), []

    @mcp_tool(registry=registry, name="blocks")
    def blocks() -> None:
        begun.set()
        go_on.wait(DEADLINE_S)
        effects.append("written")

    call = asyncio.ensure_future(registry.invoke("blocks", limit_s=DEADLINE_S))
    assert (await registry.invoke("add", {"a": 1})).value == 2
    assert await asyncio.to_thread(begun.wait, DEADLINE_S)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    go_on.set()
    for _ in range(3):
        await registry.invoke("add", {"a": 1})
    assert effects == []


async def test_a_tool_that_swallows_its_cancellation_keeps_nobody_waiting(
    registry: Registry, caplog: pytest.LogCaptureFixture
) -> None:
    leave = asyncio.Event()

    @mcp_tool(registry=registry, name="stubborn")
    async def stubborn() -> None:
        while not leave.is_set():
            try:
                await asyncio.wait_for(leave.wait(), DEADLINE_S)
            except asyncio.CancelledError:
                continue

    with pytest.raises(TimeoutError):
        await registry.invoke("stubborn")
    assert "goes on after it was cancelled" in caplog.text
    leave.set()


async def test_a_tools_own_time_out_is_its_own_failure(registry: Registry) -> None:
    @mcp_tool(registry=registry, name="own")
    async def own() -> None:
        async with asyncio.timeout(0):
            await asyncio.Event().wait()

    result = await registry.invoke("own")
    assert result.is_error
    assert result.text.startswith("TimeoutError")


async def test_validators_are_asked_and_can_reject(registry: Registry) -> None:
    """GGEN-p4-3: a plug-in runs after the schema, sees the arguments, and can reject."""
    seen: list[dict[str, Any]] = []

    def even(arguments: dict[str, Any]) -> str | None:
        seen.append(arguments)
        return None if arguments["a"] % 2 == 0 else "a must be even"

    async def small(arguments: dict[str, Any]) -> None:
        if arguments["a"] > 100:
            raise ValueError("a is too large")

    registry.add_validator("even", even, tools=frozenset({"add"}))
    registry.add_validator("small", small)
    assert (await registry.invoke("add", {"a": 2})).value == 3
    for bad, words in (
        (3, "even rejected the arguments of add: a must be even"),
        (102, "too large"),
    ):
        with pytest.raises(SchemaError, match=words) as caught:
            await registry.invoke("add", {"a": bad})
        assert caught.value.reason == "validation_blocked"
    assert seen == [{"a": 2}, {"a": 3}, {"a": 102}]


async def test_a_validator_that_breaks_or_hangs_lets_nothing_pass(registry: Registry) -> None:
    """GGEN-to-2, CDM-con-4: fail closed, within the validation limit."""
    tool = registry.get("add")

    def broken(arguments: dict[str, Any]) -> None:
        raise ZeroDivisionError

    async def hangs(arguments: dict[str, Any]) -> None:
        await asyncio.Event().wait()

    with pytest.raises(SchemaError, match="ZeroDivisionError"):
        await validate(tool, {}, [broken], SHORT)
    with pytest.raises(TimeoutError, match=r"validators of add did not end within 0.05 s"):
        await validate(tool, {}, [hangs], SHORT)


async def test_a_catastrophic_pattern_is_bounded(registry: Registry) -> None:
    """GGEN-to-2: 2^40 steps for a backtracking engine; it has to end, and to refuse."""

    @mcp_tool(
        registry=registry,
        name="evil",
        input_schema={
            "type": "object",
            "properties": {
                "x": {"type": "string", "pattern": "^(a+)+$"},
                "y": {"pattern": r"^(?=b)(a|a)*\1$"},
            },
        },
    )
    async def evil(x: str = "", y: str = "") -> str:
        return "ran"

    for name in ("x", "y"):
        async with asyncio.timeout(DEADLINE_S):
            with pytest.raises(SchemaError):
                await registry.invoke("evil", {name: "a" * 40 + "!"})


async def test_a_return_value_without_a_json_form_is_an_error(registry: Registry) -> None:
    """CDM-err-5, CDM-con-4"""

    @mcp_tool(registry=registry, name="object")
    async def thing() -> object:
        return object()

    with pytest.raises(SerializationError, match="what object returned has no JSON form"):
        await registry.invoke("object")


async def test_a_decorated_function_that_hands_out_an_awaitable_is_awaited() -> None:
    async def inner(a: int) -> int:
        return a

    def outer(a: int) -> Any:
        return inner(a)

    found = Registry()
    mcp_tool(
        registry=found, name="outer", input_schema={"type": "object", "properties": {"a": {}}}
    )(outer)
    result = await run_tool(found.get("outer"), {"a": 3}, DEADLINE_S)
    assert json.loads(result.text) == 3


@pytest.mark.parametrize("problem", [asyncio.CancelledError, SystemExit, KeyError])
async def test_a_validator_that_ends_in_any_way_has_not_agreed(
    registry: Registry, problem: type[BaseException]
) -> None:
    async def breaks(arguments: dict[str, Any]) -> None:
        raise problem

    registry.limits = TimeLimits()
    registry.add_validator("breaks", breaks)
    with pytest.raises(SchemaError, match="breaks rejected the arguments of add: "):
        await registry.invoke("add", {"a": 1})


async def test_whoever_gives_up_while_a_validator_thinks_is_not_answered(
    registry: Registry,
) -> None:
    begun = asyncio.Event()

    async def thinks(arguments: dict[str, Any]) -> None:
        begun.set()
        await asyncio.sleep(DEADLINE_S)

    calm = Registry()
    calm.register(registry.get("add"))
    calm.add_validator("thinks", thinks)
    call = asyncio.ensure_future(calm.invoke("add", {"a": 1}))
    await asyncio.wait_for(begun.wait(), DEADLINE_S)
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


async def test_what_an_authors_class_raises_is_about_the_arguments() -> None:
    found = Registry()

    @mcp_tool(registry=found, name="half")
    async def half(even: Even, or_: Even | int = 0, times: int = 1) -> int:
        return even.n // 2

    assert (await found.invoke("half", {"even": {"n": 4}, "or_": {"n": 2}})).value == 2
    for wrong, words in (
        ({"even": {"n": 3}}, "arguments/even of half: n is odd"),
        ({"even": {"n": 4}, "or_": {"n": 3}}, "arguments/or_ of half: n is odd"),
        ({"even": {"n": 4}, "times": float("inf")}, "arguments/times of half"),
    ):
        with pytest.raises(SchemaError, match=words):
            await found.invoke("half", wrong)
