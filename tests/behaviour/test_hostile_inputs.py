"""One call or result never stops the others: the costliest inputs of each kind against a real gateway, while somebody else calls.

The bounds are wide, and what the machine itself kept the two processes waiting is taken out: each of these inputs took everybody several seconds, or for ever,
where it was judged on the event loop. `python -m benchmarks.hostile` has the whole set and the bounds that are promised.
"""

from __future__ import annotations

import gc
import http.client
import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from itertools import pairwise
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from benchmarks.commands import gatewright
from benchmarks.hostile.__main__ import Innocent, attacks, configured, turn
from benchmarks.hostile.arguments import TOOLS, calls
from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.web import served
from benchmarks.processes import Process, started
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits, flaw_of
from gatewright.validators import Checks, checks_for
from tests.costs import queued_ms

LONGEST_MS, TURN_S = 1000.0, 0.5
SIZE, RESULT = 400_000, 500_000
CHOSEN = (
    "readonly.sql.0.list",
    "readonly.sql.5.undeclared",
    "network_restricted.fetch.0.list",
    "network_restricted.fetch.2.nested",
    "schema.multiple_of",
    "json.integers",
    "rest_door.readonly.sql.0.list",
    "result.text.cookies",
    "result.text.tokens",
    "flood.secrets",
    "flood.huge_rows",
    "flood.large_questions",
    "result.shape.links",
    "result.shape.escaped_rows",
    "error.rows",
    "rpc.shape.items",
    "sse.retries",
    "sse.one_byte_chunks",
    "sse.large_notices",
    "openapi.doubling",
    "packed.members",
    "packed.noise",
    "packed.bytes",
    "names.rows",
    "names.ligatures",
    "frame.batch_of_exponents",
    "frame.wide_names_of_params",
)


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Process, Innocent, Hostile]]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        config = configured(folder, stack.enter_context(served()))
        command = gatewright("serve", "--config", str(config), "--port", "0")
        gateway = stack.enter_context(started("gatewright", command, folder))
        innocent = Innocent(gateway.url, stack)
        hostile = Hostile(gateway.url, config)
        stack.callback(hostile.close)
        yield gateway, innocent, hostile


@pytest.mark.parametrize("name", CHOSEN)
def test_a_hostile_input_keeps_nobody_else_waiting(
    house: tuple[Process, Innocent, Hostile], name: str
) -> None:
    gateway, innocent, hostile = house
    attack = next(one for known, one in attacks(hostile, SIZE, RESULT) if known == name)
    queued = queued_ms(gateway.pid, innocent.pid)
    row = turn(innocent, attack, TURN_S)
    queued = queued_ms(gateway.pid, innocent.pid) - queued
    assert row["longest_ms"] < LONGEST_MS + queued, (row, queued)
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
    assert float(found[1]) * 1000 < LONGEST_MS + queued_ms(gateway.pid)
    assert re.search(r"^gatewright_worker_kills_total [1-9]", text, re.MULTILINE)


REPEATS = 3
MORE_TURNS = 25
MEASURABLE_S = 0.004
"""Processor time below which the clock and the caches of the machine say more than the work."""
SIZES = tuple(1_000 << step for step in range(7))
DOUBLING = 2.3
Work = Callable[[bytes], object]


def cost_of(work: Work, text: bytes) -> float:
    """Processor seconds of this thread, the least of some turns. Without the garbage collector, which looks at all that the
    tests before have left, now and then."""
    found = []
    gc.disable()
    try:
        for _ in range(REPEATS):
            began = time.thread_time()
            work(text)
            found.append(time.thread_time() - began)
    finally:
        gc.enable()
    return min(found)


def growth(work: Work, texts: Sequence[bytes]) -> list[float]:
    """By how much the cost of a text twice as long is more, twice in a row, from the first length on at which it can be measured.
    Texts come whole, so that none is exactly twice as long: what is said is of one that were. Empty where all cost too little."""
    found: list[float] = []
    before = 0.0
    for less, more in pairwise(texts):
        before = before or cost_of(work, less)
        if before < MEASURABLE_S:
            before = 0.0
            continue
        after = cost_of(work, more)
        longer = len(more) / len(less) / 2
        for number in range(MORE_TURNS):
            if after <= DOUBLING * longer * before:
                break
            time.sleep(0.01 * number)  # somebody else may have been busy: minima of more turns
            before = min(before, cost_of(work, less))
            after = min(after, cost_of(work, more))
        found.append(after / before / longer)
        if len(found) == 2:
            break
        before = after
    return found


def judged(tool: str) -> Work:
    options = {"sandbox": {"mode": "strict"}} if tool == "strict" else {}
    checks = checks_for(TOOLS[tool], options, {}, tool)
    assert isinstance(checks, Checks)
    return lambda text: checks.objection(jsonrpc.decode(text))


@cache
def made(size: int) -> list[tuple[str, str, bytes]]:
    return list(calls(size))


def by_name(wanted: Callable[[str, str], bool], sizes: Sequence[int]) -> dict[str, list[bytes]]:
    """The texts of each kind of input, one of each size."""
    found: dict[str, list[bytes]] = {}
    for size in sizes:
        for name, tool, text in made(size):
            if wanted(name, tool):
                found.setdefault(name, []).append(text)
    return found


ENDLESS = ".sql.5."
"""What the SQL parser never finishes; a worker process ends with it."""


def test_a_cost_that_grows_faster_than_its_text_is_seen() -> None:
    """What the next tests measure with: the work of the first grows with the square of its text."""
    texts = [b"x" * size for size in (500, 1000, 2000, 4000)]
    assert max(growth(lambda text: [text.count(b"xy") for _ in text], texts)) > DOUBLING
    linear = [b"x" * size for size in (100_000, 200_000, 400_000, 800_000)]
    assert max(growth(lambda text: [one + 1 for one in text], linear), default=0) < DOUBLING


@pytest.mark.parametrize("tool", TOOLS)
def test_judging_takes_time_in_proportion_to_what_is_judged(tool: str) -> None:
    work = judged(tool)
    texts = by_name(lambda name, of: of == tool and ENDLESS not in name, SIZES)
    found = {name: growth(work, several) for name, several in texts.items()}
    assert {name: one for name, one in found.items() if max(one, default=0) > DOUBLING} == {}
    assert any(found.values())


def test_counting_what_a_text_holds_takes_time_in_proportion_to_it() -> None:
    limits = Limits(values=10**9, keys=10**9, depth=10**6)
    sizes = [100_000 << step for step in range(4)]
    texts = by_name(lambda name, _: name.startswith("json."), sizes)
    found = {name: growth(lambda text: flaw_of(text, limits), one) for name, one in texts.items()}
    assert {name: one for name, one in found.items() if max(one, default=0) > DOUBLING} == {}
    assert any(found.values())
