"""Sinks beside a real record."""

from __future__ import annotations

from pathlib import Path
from sys import maxsize

import msgspec

from gatewright.audit.sinks import State
from tests.audit.parts import until
from tests.audit.sinks.parts import Fragile, Trail


def numbers(sink: Fragile) -> list[int]:
    """The numbers of the records it got."""
    return [msgspec.json.decode(line)["seq"] for line in sink.got]


async def test_each_sink_gets_every_record_in_order(tmp_path: Path) -> None:
    """GRH-aud-3: events go to every sink."""
    one, other = Fragile(), Fragile()
    async with Trail(tmp_path / "state", one=one, other=other) as trail:
        trail.write(1_200)
        await trail.drained()
    assert numbers(one) == numbers(other) == list(range(1, 1_201))


async def test_a_sink_that_is_down_delays_neither_record_nor_the_other_sink(tmp_path: Path) -> None:
    good, bad = Fragile(), Fragile()
    bad.down = True
    async with Trail(tmp_path / "state", good=good, bad=bad) as trail:
        trail.write(700)
        await until(lambda: trail.sinks.states()["good"].taken == 700)
        assert trail.sinks.states() == {
            "good": State(700, 700),
            "bad": State(0, 0, "it is down"),
        }
        assert trail.positions.taken() == 0
        bad.down = False
        await trail.drained()
    assert numbers(bad) == list(range(1, 701))


async def test_what_happened_while_a_sink_was_away_arrives_after_a_restart(tmp_path: Path) -> None:
    sink = Fragile()
    async with Trail(tmp_path / "state", one=sink) as trail:
        trail.write(10)
        await trail.drained()
    async with Trail(tmp_path / "state") as trail:
        trail.write(10)
    async with Trail(tmp_path / "state", one=sink) as trail:
        trail.write(10)
        await trail.drained()
    assert numbers(sink) == list(range(1, 31))


async def test_without_sinks_nothing_is_held_back_and_nothing_runs(tmp_path: Path) -> None:
    async with Trail(tmp_path / "state") as trail:
        assert (trail.positions.taken(), trail.sinks.states()) == (maxsize, {})
