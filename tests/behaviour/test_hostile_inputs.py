"""One call or result never stops the others: the costliest inputs of each kind against a real gateway, while somebody else calls.

The bounds are wide, for machines that do other things as well: each of these inputs took everybody several seconds, or for ever,
where it was judged on the event loop. `python -m benchmarks.hostile` has the whole set and the bounds that are promised.
"""

from __future__ import annotations

import http.client
import json
import re
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from benchmarks.commands import gatewright
from benchmarks.hostile.__main__ import Hostile, Innocent, attacks, configured, turn
from benchmarks.hostile.arguments import TOOLS, calls
from benchmarks.processes import Process, started
from gatewright.validators import Checks, checks_for
from gatewright.wire import jsonrpc
from gatewright.wire.json_bounds import Limits, flaw_of

LONGEST_MS = 1000.0
SIZE, RESULT = 900_000, 2_000_000
CHOSEN = (
    "readonly.sql.0.list",
    "readonly.sql.2.undeclared",
    "readonly.sql.5.undeclared",
    "network_restricted.fetch.0.list",
    "network_restricted.fetch.2.nested",
    "code_safety.code.1.list",
    "schema.multiple_of",
    "json.empty_lists",
    "json.integers",
    "rest_door.readonly.sql.0.list",
    "result.text.cookies",
    "result.text.tokens",
    "result.shape.secret_members",
    "flood.secrets",
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Innocent, Hostile]]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    command = gatewright("serve", "--config", str(configured(folder)), "--port", "0")
    with ExitStack() as stack:
        gateway = stack.enter_context(started("gatewright", command, folder))
        innocent = Innocent(gateway.url, stack)
        yield gateway, innocent, Hostile(gateway.url)


@pytest.mark.parametrize("name", CHOSEN)
def test_a_hostile_input_keeps_nobody_else_waiting(
    house: tuple[Process, Innocent, Hostile], name: str
) -> None:
    _, innocent, hostile = house
    attack = next(one for known, one in attacks(hostile, SIZE, RESULT) if known == name)
    row = turn(innocent, attack)
    assert row["longest_ms"] < LONGEST_MS, row
    assert row["calls"] > 20
    assert row["said"][:3] in {"200", "400", "403", "413", "422", "502", "503", "504"}, row


def test_the_metrics_say_how_long_the_loop_stood_still(
    house: tuple[Process, Innocent, Hostile],
) -> None:
    gateway, _, hostile = house
    hostile.call("sql", json.dumps({"sql": "select a from t" + " join t t" * 40}).encode())
    where = urlsplit(gateway.url)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    line.request("GET", "/metrics")
    text = line.getresponse().read().decode()
    line.close()
    found = re.search(r"^gatewright_loop_longest_stall_seconds (\S+)$", text, re.MULTILINE)
    assert found is not None
    assert float(found[1]) < LONGEST_MS / 1000
    assert re.search(r"^gatewright_worker_kills_total [1-9]", text, re.MULTILINE)


def cost_of(checks: Checks, arguments: Any) -> float:
    """Seconds of this thread, the least of some turns."""
    found = []
    for _ in range(3):
        began = time.thread_time()
        checks.objection(arguments)
        found.append(time.thread_time() - began)
    return min(found)


def judged(tool: str) -> Checks:
    options = {"sandbox": {"mode": "strict"}} if tool == "strict" else {}
    checks = checks_for(TOOLS[tool], options, {}, tool)
    assert isinstance(checks, Checks)
    return checks


ENDLESS = ".sql.5."
"""What the SQL parser never finishes; a worker process ends with it."""


@pytest.mark.parametrize("tool", TOOLS)
def test_judging_takes_time_in_proportion_to_what_is_judged(tool: str) -> None:
    checks, small, large = judged(tool), 40_000, 80_000
    both = zip(calls(small), calls(large), strict=True)
    for (name, of, less), (_, _, more) in both:
        if of == tool and ENDLESS not in name:
            took = cost_of(checks, jsonrpc.decode(less))
            twice = cost_of(checks, jsonrpc.decode(more))
            assert twice <= 2.3 * took + 0.010, name


def test_counting_what_a_text_holds_takes_time_in_proportion_to_it() -> None:
    limits = Limits(values=10**9, keys=10**9, depth=10**6)
    for name, _, text in calls(100_000):
        if name.startswith("json."):
            began = time.thread_time()
            for _ in range(3):
                flaw_of(text, limits)
            once = (time.thread_time() - began) / 3
            assert once < 0.1, name
