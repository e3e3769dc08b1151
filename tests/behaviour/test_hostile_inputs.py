"""One call or result never stops the others: the costliest inputs of each kind against a real gateway, while somebody else calls.

The bounds are wide, and what the machine itself kept the two processes waiting is taken out: each of these inputs took everybody several seconds, or for ever,
where it was judged on the event loop. `python -m benchmarks.hostile` has the whole set and the bounds that are promised.
"""

from __future__ import annotations

import http.client
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import NamedTuple
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
from tests.costs import DOUBLED, growth, queued_ms, queued_since

LONGEST_MS, TURN_S = 1000.0, 0.3
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


class House(NamedTuple):
    gateway: Process
    innocent: Innocent
    hostile: Hostile
    attacks: Mapping[str, Callable[[], str]]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    folder: Path = tmp_path_factory.mktemp("hostile")
    with ExitStack() as stack:
        config = configured(folder, stack.enter_context(served()))
        command = gatewright("serve", "--config", str(config), "--port", "0")
        gateway = stack.enter_context(started("gatewright", command, folder))
        innocent = Innocent(gateway.url, stack)
        hostile = Hostile(gateway.url, config)
        stack.callback(hostile.close)
        # Made once: to come to the last of them takes seconds.
        every = attacks(hostile, SIZE, RESULT)
        yield House(
            gateway, innocent, hostile, {name: one for name, one in every if name in CHOSEN}
        )


@pytest.mark.parametrize("name", CHOSEN)
def test_a_hostile_input_keeps_nobody_else_waiting(house: House, name: str) -> None:
    gateway, innocent = house.gateway, house.innocent
    before = queued_ms(gateway.pid, innocent.pid)
    row = turn(innocent, house.attacks[name], TURN_S)
    queued = queued_since(before, gateway.pid, innocent.pid)
    assert row["longest_ms"] < LONGEST_MS + queued, (row, queued)
    assert row["calls"] > 2
    assert row["said"][:3] in {"200", "400", "403", "413", "422", "502", "503", "504"}, row


def test_the_metrics_say_how_long_the_loop_stood_still(
    house: House,
) -> None:
    gateway, hostile = house.gateway, house.hostile
    hostile.call("sql", json.dumps({"sql": "select a from t" + " join t t" * 40}).encode())
    where = urlsplit(gateway.url)
    line = http.client.HTTPConnection(where.hostname or "", where.port, timeout=20)
    line.request("GET", "/metrics")
    text = line.getresponse().read().decode()
    line.close()
    found = re.search(r"^gatewright_loop_longest_stall_seconds (\S+)$", text, re.MULTILINE)
    assert found is not None
    assert float(found[1]) * 1000 < LONGEST_MS + queued_since({}, gateway.pid)
    assert re.search(r"^gatewright_worker_kills_total [1-9]", text, re.MULTILINE)


SIZES = tuple(1_000 << step for step in range(7))


def judged(tool: str) -> Callable[[bytes], object]:
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
    """What the next tests measure with, with texts that become as long as a fast machine needs: the work of the first grows with
    the square of its text."""
    texts = (b"x" * (500 << step) for step in range(12))
    assert min(growth(lambda text: [text.count(b"xy") for _ in text], texts)) > DOUBLED
    linear = (b"x" * (5_000 << step) for step in range(12))
    found = growth(lambda text: [one + 1 for one in text], linear)
    assert len(found) == 2
    assert max(found) < DOUBLED


@pytest.mark.parametrize("tool", TOOLS)
def test_judging_takes_time_in_proportion_to_what_is_judged(tool: str) -> None:
    work = judged(tool)
    texts = by_name(lambda name, of: of == tool and ENDLESS not in name, SIZES)
    found = {name: growth(work, several) for name, several in texts.items()}
    assert {name: one for name, one in found.items() if max(one, default=0) > DOUBLED} == {}
    assert any(found.values())


def test_counting_what_a_text_holds_takes_time_in_proportion_to_it() -> None:
    limits = Limits(values=10**9, keys=10**9, depth=10**6)
    sizes = [100_000 << step for step in range(4)]
    texts = by_name(lambda name, _: name.startswith("json."), sizes)
    found = {name: growth(lambda text: flaw_of(text, limits), one) for name, one in texts.items()}
    assert {name: one for name, one in found.items() if max(one, default=0) > DOUBLED} == {}
    assert any(found.values())
