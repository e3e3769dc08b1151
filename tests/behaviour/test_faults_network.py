"""What networks do between the gateway and a tool server over HTTP (fault test 23): deadlines hold, nothing runs twice, errors are right."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.errors import SdkError
from tests.behaviour.faulty_upstream import Fault, Faulty, faulty
from tests.behaviour.gateway import Gateway, config, running

TIME_LIMIT_S = 2.0
DOORS = ("mcp", "websocket")


@pytest.fixture(scope="module")
def upstream() -> Iterator[Faulty]:
    with faulty() as found:
        yield found


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, upstream: Faulty) -> Iterator[Gateway]:
    folder: Path = tmp_path_factory.mktemp("network")
    one: dict[str, Any] = {
        "id": "far",
        "url": upstream.url,
        "call_timeout_s": TIME_LIMIT_S,
        "tools": {"look": {"repeatable": True}},
    }
    with running(folder, config(one)) as found:
        yield found


def call(gateway: Gateway, door: str, tool: str) -> tuple[str, int | None, float]:
    """What a host that repeats nothing itself hears, the code of an error, and how long it took."""
    with SyncClient(gateway.urls[door], Options(retry=None)) as client:
        began = time.monotonic()
        try:
            found = client.call_tool(f"far__{tool}")
        except SdkError as problem:
            return str(problem), problem.details["code"], time.monotonic() - began
        return found.text, None, time.monotonic() - began


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", ["latency", "bytes"])
@pytest.mark.parametrize("tool", ["look", "act"])
def test_what_is_only_slow_is_only_slow(
    gateway: Gateway, upstream: Faulty, door: str, fault: Fault, tool: str
) -> None:
    upstream.strike(fault)
    said, code, _ = call(gateway, door, tool)
    assert (said, code, dict(upstream.calls)) == (f"{tool}: done", None, {tool: 1})


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("fault", "expected"),
    [("reset", 5002), ("truncated", 5002), ("half-open", 5001)],
)
def test_what_may_have_run_is_not_run_again_and_its_caller_is_told_in_time(
    gateway: Gateway, upstream: Faulty, door: str, fault: Fault, expected: int
) -> None:
    upstream.strike(fault)
    _, code, took = call(gateway, door, "act")
    assert code == expected
    assert upstream.calls["act"] == 1
    assert took < 4 * TIME_LIMIT_S
    upstream.strike("")
    assert call(gateway, door, "act")[:2] == ("act: done", None)  # and it is over with the fault


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("fault", ["reset", "truncated"])
def test_what_the_operator_calls_repeatable_is_asked_again_a_bounded_number_of_times(
    gateway: Gateway, upstream: Faulty, door: str, fault: Fault
) -> None:
    upstream.strike(fault, 1)
    assert call(gateway, door, "look")[:2] == ("look: done", None)
    assert upstream.calls["look"] == 2
    upstream.strike(fault)
    _, code, took = call(gateway, door, "look")
    assert code == 5002
    assert upstream.calls["look"] <= 4
    assert took < 4 * TIME_LIMIT_S


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize("tool", ["look", "act"])
def test_who_is_hung_up_on_cannot_know_that_nothing_ran(
    gateway: Gateway, upstream: Faulty, door: str, tool: str
) -> None:
    """MGP-14.3-19"""
    upstream.strike("refused", 1)
    said, code, _ = call(gateway, door, tool)
    if tool == "look":
        assert (said, code, upstream.calls[tool]) == ("look: done", None, 1)
    else:
        assert code == 5002
        assert upstream.calls[tool] == 0
