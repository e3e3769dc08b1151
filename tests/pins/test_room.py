"""How much can still be remembered of a server: counted in steps, and anew where something has changed meanwhile."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.pins import room
from gatewright.pins.store import Pins, Seen
from gatewright.transport.slices import whole
from tests.storage.parts import state_in

TOOLS = 100


@pytest.fixture
def pins(tmp_path: Path) -> Iterator[Pins]:
    made = Pins(state_in(tmp_path), clock=lambda: 1.0, most_tools=TOOLS + 1, most_bytes=10_000)
    made.judge("s", [Seen(f"t{at}", "{}", "d") for at in range(TOOLS)], ask_first=False)
    made.rooms.clear()
    yield made
    made.close()


def _crowded(pins: Pins, name: str, says: str = "{}") -> bool:
    return pins.judge("s", [Seen(name, says, f"d {says}")], ask_first=False)[name] == "crowded"


def test_it_is_counted_in_steps_of_some_tools_and_then_known(pins: Pins) -> None:
    assert len([*pins.rooms.measured("s")]) == -(-TOOLS // room._MEASURED)
    assert [*pins.rooms.measured("s")] == []
    taken = pins.rooms.taken("s")
    assert (taken._tools, taken._bytes) == (1, 10_000 - 4 * TOOLS)


@pytest.mark.parametrize("measured", [True, False])
def test_what_was_counted_in_steps_and_at_once_is_the_same(pins: Pins, measured: bool) -> None:
    if measured:
        whole(pins.rooms.measured("s"))
    assert not _crowded(pins, "new")
    assert _crowded(pins, "one more")
    assert not _crowded(pins, "t0", '{"a":1}')
    assert _crowded(pins, "t0", '"' + "x" * 10_000 + '"')


@pytest.mark.parametrize("what", ["forget", "clear"])
def test_what_changes_while_it_is_counted_is_counted_when_it_is_asked_for(
    pins: Pins, what: str
) -> None:
    steps = pins.rooms.measured("s")
    next(steps)
    if what == "clear":
        pins.rooms.clear()
    else:
        pins.forget("s", by="olga")
    assert [*steps] == []
    assert "s" not in pins.rooms._known
    assert pins.rooms.taken("s")._tools == (1 if what == "clear" else TOOLS + 1)
