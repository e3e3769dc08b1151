"""What an operator decides in this process: what is accepted counts at once, what is refused stays held, and nothing is judged in one piece."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.call import Tool
from gatewright.config import Settings, load
from gatewright.pins import pinning as module
from gatewright.pins.decisions import Decisions
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins
from gatewright.servers.catalogue import Catalogue
from gatewright.transport import slices
from tests.pins.test_pinning import Trail, settings, tool
from tests.pins.test_pinning_many import MANY, _over
from tests.storage.parts import state_in

OTHER = tool(says="wipes everything")


@pytest.fixture
def pinning(tmp_path: Path) -> Iterator[Pinning]:
    """One of many tools has changed."""
    made = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), Trail())
    made.adopt(settings(tmp_path))
    rest = [tool(f"t{at}") for at in range(MANY)]
    made.shelved("srv", [tool(), *rest])
    made.shelved("srv", [OTHER, *rest])
    assert made.held(OTHER)
    yield made
    made.close()


def decide(pinning: Pinning, word: str, digest: str = "") -> None:
    decisions = Decisions(pinning.store, pinning.decided)
    digest = digest or decisions.some("srv", ["wipe"])["wipe"].digest
    if word == "accept":
        decisions.accept("srv", "wipe", digest=digest, by="ann")
    else:
        decisions.refuse("srv", "wipe", digest=digest, by="ann", why="no")


def nothing_of(folder: Path) -> Settings:
    (folder / "other.toml").write_text("")
    return load(folder / "other.toml", environ={"HOME": str(folder)})


def test_what_is_refused_stays_held_and_makes_nobody_look_again(pinning: Pinning) -> None:
    before = pinning.version
    decide(pinning, "refuse")
    assert pinning.held(OTHER)
    assert pinning.version == before
    assert pinning.store.changed(), "the next look tells of it"


def test_what_is_refused_stays_held_when_its_server_has_left_the_configuration(
    pinning: Pinning, tmp_path: Path
) -> None:
    """A call that began before is still on its way to the gate."""
    pinning.adopt(nothing_of(tmp_path))
    decide(pinning, "refuse")
    assert pinning.held(OTHER)


async def test_what_is_held_stays_so_when_its_server_leaves_while_a_decision_is_followed(
    pinning: Pinning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    decide(pinning, "refuse")
    assert pinning.look(lambda: Catalogue([]))
    pinning.adopt(nothing_of(tmp_path))
    await _over(pinning)
    assert pinning.held(OTHER)


@pytest.mark.parametrize("leaves", [False, True])
def test_what_is_accepted_counts_before_anybody_looks_and_nothing_is_judged_for_that(
    pinning: Pinning, tmp_path: Path, leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever asks next is a stranger, whose list or call would else wait for the names of all tools of that server."""
    if leaves:
        pinning.adopt(nothing_of(tmp_path))
    before = pinning.version
    monkeypatch.setattr(pinning, "_judge", None)
    monkeypatch.setattr(module, "whole", None)
    decide(pinning, "accept")
    assert pinning.held(OTHER) == ""
    assert pinning.version == before + 1


async def test_what_is_accepted_while_its_server_lists_something_else_is_left_to_the_next_look(
    pinning: Pinning,
) -> None:
    """What was read last is not what is judged: whether it is what was accepted is not known."""
    await pinning.look_ahead("srv", [tool(says="wipes on Mondays")])
    before = pinning.version
    decide(pinning, "accept")
    assert pinning.held(OTHER)
    assert pinning.version == before
    monday: Tool = tool(says="wipes on Mondays")
    pinning.shelved("srv", [monday])
    assert "has changed" in pinning.held(monday)


def test_what_is_accepted_is_that_definition_alone(pinning: Pinning) -> None:
    pinning.decided("srv", "wipe", "0" * 64)
    assert pinning.held(OTHER)
    pinning.decided("srv", "nothing", "0" * 64)
