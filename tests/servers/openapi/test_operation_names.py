"""Names of operations: each once, none too long, and none dear."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from gatewright.servers.openapi.operation_names import OperationNames

LONG = "a" * 64


@pytest.mark.parametrize("said", ["same", "a" * 60, LONG, "b" * 59 + "c" * 40])
def test_operations_of_one_name_are_numbered_within_64_characters(said: str) -> None:
    names = OperationNames()
    given = [names.give(said, "get") for _ in range(1200)]
    assert len(set(given)) == 1200
    assert max(map(len, given)) <= 64
    assert given[:3] == [said[:64], f"{said[:60]}_2", f"{said[:60]}_3"]
    assert given[998] == f"{said[:60]}_999"
    assert given[1199] == f"{said[:59]}_1200"


def test_names_that_read_like_numbered_ones_are_passed_over() -> None:
    names = OperationNames()
    given = [names.give(one, "get") for one in ("x_2", "x", "x", "x_3", "x", "/", "")]
    assert given == ["x_2", "x", "x_3", "x_3_2", "x_4", "get", "get_2"]


def _steps(said: list[str]) -> int:
    """How many lines the names take, whatever the speed of the machine."""
    names, count = OperationNames(), 0

    def trace(_frame: Any, event: str, _argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        for one in said:
            names.give(one, "get")
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize(
    "many",
    [
        lambda count: ["same"] * count,
        lambda count: [LONG] * count,
        # All of them share the beginning that numbers stand behind.
        lambda count: [f"{LONG[:60]}{number % (count // 2):04}" for number in range(count)],
        lambda count: [f"{LONG[:59]}{number % 4}zzzz" for number in range(count)],
        lambda count: [f"x_{number}" for number in range(count // 2)] + ["x"] * (count // 2),
    ],
)
def test_twice_as_many_take_about_twice_as_long(many: Any) -> None:
    assert _steps(many(5000)) < 3 * _steps(many(2500))
