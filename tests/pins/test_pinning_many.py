"""A server that was ever seen with thousands of tools: what it costs to judge those that it lists, and whom a decision holds up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Target
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins
from gatewright.servers.catalogue import Catalogue
from gatewright.storage.errors import StoreError
from gatewright.transport import slices
from tests.pins.test_pinning import Trail, settings, tool
from tests.storage.parts import look, state_in

MANY = 300


@pytest.fixture
def pinning(tmp_path: Path) -> Iterator[Pinning]:
    made = Pinning(Pins(state_in(tmp_path), clock=lambda: 1.0), Trail())
    made.adopt(settings(tmp_path))
    made.shelved("srv", [tool(f"t{at}") for at in range(MANY)])
    made.look(lambda: Catalogue(()))
    yield made
    made.close()


def _decided(pinning: Pinning, folder: Path, name: str) -> None:
    operator = Pins(state_in(folder), clock=lambda: 2.0)
    one = operator.some("srv", [name])[name]
    operator.accept("srv", name, digest=one.digest, by="olga")
    operator.close()
    look(pinning.store)


async def _over(pinning: Pinning) -> int:
    turns = 0
    while pinning._looking:
        await asyncio.sleep(0)
        turns += 1
    return turns


def test_of_all_that_a_server_ever_had_only_what_it_lists_is_read_and_no_definition_of_it(
    pinning: Pinning, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, read = pinning.store._rows.rows, list[Any]()

    def counted(sql: str, values: Any = ()) -> Any:
        found = rows(sql, values)
        read.extend(found)
        return found

    monkeypatch.setattr(pinning.store._rows, "rows", counted)
    pinning._judged.clear()
    listed = [tool(f"t{at}") for at in range(30)]
    pinning.shelved("srv", listed)
    assert not any(pinning.held(one) for one in listed)
    pins = [row for row in read if "srv" in row]
    assert len(pins) == 30
    assert all(row[3] == row[4] == "" for row in pins)


async def test_a_decision_is_followed_in_slices_and_what_stood_stands_until_then(
    pinning: Pinning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = tool("t299", says="other")
    pinning.shelved("srv", [*(tool(f"t{at}") for at in range(MANY - 1)), other])
    assert pinning.held(other)
    before = pinning.version
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    _decided(pinning, tmp_path, "t299")
    assert pinning.look(lambda: Catalogue(()))
    assert pinning.held(other)
    assert not pinning.look(lambda: Catalogue(()))
    assert await _over(pinning) >= MANY / 20 - 1
    assert not pinning.held(other)
    assert pinning.version > before
    assert not pinning.look(lambda: Catalogue(()))


async def test_what_is_listed_meanwhile_is_what_is_judged(
    pinning: Pinning, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    pinning.store.decided()
    assert pinning.look(lambda: Catalogue(()))
    new = tool("t299", says="other")
    pinning.shelved("srv", [*(tool(f"t{at}") for at in range(MANY - 1)), new])
    await _over(pinning)
    assert "has changed" in pinning.held(new)
    (row,) = pinning.store.some("srv", ["t299"]).values()
    assert "other" in row.seen


async def test_what_cannot_be_judged_anew_stands_no_more_and_is_tried_again(
    pinning: Pinning, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)

    def fails(*_: Any, **__: Any) -> Any:
        raise StoreError("it cannot be read")

    listed = pinning._shelves["srv"]
    with monkeypatch.context() as broken:
        broken.setattr(pinning.store, "judge", fails)
        pinning.store.decided()
        for _ in range(2):
            assert pinning.look(lambda: Catalogue(()))
            await _over(pinning)
        with pytest.raises(StoreError):
            pinning.held(listed[0])
    assert caplog.text.count("could not be followed") == 1
    assert pinning.look(lambda: Catalogue(()))
    await _over(pinning)
    assert not any(pinning.held(one) for one in listed)
    assert not pinning.look(lambda: Catalogue(()))


async def test_the_names_that_are_known_are_those_of_the_catalogue_that_there_is_by_then(
    pinning: Pinning, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A reload in between makes another one."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    catalogues = [Catalogue(()), Catalogue(())]
    before = [one.version for one in catalogues]
    now = catalogues[0]
    pinning.store.decided()
    assert pinning.look(lambda: now)
    now = catalogues[1]
    for one in catalogues:
        monkeypatch.setattr(one.reserved, "again", lambda *_: True)
    await _over(pinning)
    assert [one.version > former for one, former in zip(catalogues, before, strict=True)] == [
        False,
        True,
    ]


def test_a_server_that_lists_something_else_each_time_is_tried_thrice_and_holds_up_no_other(
    pinning: Pinning, monkeypatch: pytest.MonkeyPatch
) -> None:
    pinning.shelved("other", [])
    tries = Counter[str]()

    def lists(server: str, _: set[Target]) -> Generator[None, None, bool]:
        tries[server] += 1
        yield
        return server == "srv"

    monkeypatch.setattr(pinning, "_server_again", lists)
    before = pinning.version
    pinning._again()
    assert tries == {"srv": 3, "other": 1}
    # Nobody could judge what it has: that is done when it is asked about.
    assert pinning.version > before
    assert not pinning._judged
