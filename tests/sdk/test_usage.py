from __future__ import annotations

import sys
import threading

import pytest

from gatewright.sdk import Registry, ToolNotFoundError, mcp_tool
from gatewright.sdk.usage import ToolUsage, Usage


def test_calls_errors_and_times_of_each_tool_can_be_read() -> None:
    """CDM-pai-5: latencies and error rates per tool are recorded and readable."""
    ticks = iter(range(100))
    registry = Registry(clock=lambda: next(ticks))

    @mcp_tool(registry=registry, name="half")
    def half(n: int) -> float:
        return 1 / n

    registry.invoke_sync("half", {"n": 2})
    registry.invoke_sync("half", {"n": 0})
    with pytest.raises(Exception, match="n of half"):
        registry.invoke_sync("half", {"n": "x"})
    with pytest.raises(ToolNotFoundError):
        registry.invoke_sync("other")
    assert registry.usage.all() == {
        "half": ToolUsage(3, 2, {"isError": 1, "SchemaError": 1}, 1000.0, 1000.0, 1000.0)
    }
    assert registry.usage.to_json()["half"]["error_rate"] == pytest.approx(2 / 3)


def test_the_figures_of_a_tool_that_was_never_called_are_zero() -> None:
    assert Usage().of("x") == ToolUsage(0, 0, {}, 0.0, 0.0, 0.0)
    assert Usage().of("x").error_rate == 0.0


def test_only_the_last_calls_are_kept_for_the_times() -> None:
    usage = Usage()
    usage.add("x", 9.0)
    for _ in range(256):
        usage.add("x", 0.001)
    assert usage.of("x").calls == 257
    assert usage.of("x").max_ms == pytest.approx(1.0)


def test_figures_are_read_while_calls_end_in_other_threads() -> None:
    usage, over = Usage(), threading.Event()

    def call() -> None:
        while not over.is_set():
            usage.add("busy", 0.001, "TimeoutError")

    threads = [threading.Thread(target=call) for _ in range(3)]
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for one in threads:
            one.start()
        read = [usage.of("busy") for _ in range(500)]
    finally:
        over.set()
        for one in threads:
            one.join()
        sys.setswitchinterval(before)
    assert all(one.calls == one.errors for one in read)
    assert [one.calls for one in read] == sorted(one.calls for one in read)
