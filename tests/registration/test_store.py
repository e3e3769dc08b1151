"""What is registered, and whose ids are, in the state database."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.registration.store import Kept, KeptServers
from gatewright.storage.documents import Documents
from gatewright.storage.errors import StoreError
from tests.registration.parts import registered
from tests.storage.parts import state_in


def test_what_is_kept_is_there_again(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    kept = KeptServers(state)
    one = registered()
    kept.put(one.id, Kept("agent", "ann", one))
    kept.put("dynamic.y", Kept("agent", "bob"))
    again = KeptServers(state)
    assert again.servers == [one]
    assert again.owner("dynamic.y") == ("agent", "bob")
    assert again.owner("dynamic.z") is None
    assert again.named() == {"dynamic.x": ("agent", "ann"), "dynamic.y": ("agent", "bob")}
    again.put(one.id, Kept("agent", "ann"))
    assert KeptServers(state).servers == []


def test_each_change_is_a_step_that_the_record_knows_of_and_the_same_again_is_none(
    tmp_path: Path,
) -> None:
    state = state_in(tmp_path)
    kept = KeptServers(state)
    for _ in range(2):
        kept.put("a", Kept("agent", "ann"))
    assert state.section("servers", "").steps() == 1


def test_the_oldest_ids_without_a_server_are_forgotten(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    kept = KeptServers(state, most=3)
    kept.put("first", Kept("agent", "ann", registered(id="first")))
    for name in ("a", "b", "c"):
        kept.put(name, Kept("agent", "ann"))
    assert [*KeptServers(state).named()] == ["first", "b", "c"]


def test_nobody_has_the_id_of_another_forgotten_by_using_up_new_ones(tmp_path: Path) -> None:
    forgotten: list[str] = []
    kept = KeptServers(state_in(tmp_path), most=3, forgotten=forgotten.append)
    kept.put("bobs", Kept("agent", "bob"))
    for number in range(9):
        kept.put(f"a{number}", Kept("agent", "ann"))
    assert [*kept.named()] == ["bobs", "a7", "a8"]
    assert forgotten == [f"a{number}" for number in range(7)]


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    Documents(state.section("servers", "")).put("a", "{}")
    with pytest.raises(StoreError, match="registered server"):
        KeptServers(state)
