"""What operators said about permissions: kept over restarts, shared between processes, over in time, each step recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.access.permissions import Permissions, Word
from gatewright.storage.errors import StoreError
from tests.storage.parts import look, state_in


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


YES = Word("files", "camera", "approved", "olga")


def opened(folder: Path, clock: Clock | None = None) -> Permissions:
    return Permissions(state_in(folder), clock=clock or Clock())


def steps(store: Permissions) -> list[tuple[str, str]]:
    return [(one.action, one.word.permission) for one in store.changes()]


def test_a_word_outlives_the_gateway_and_carries_its_time(tmp_path: Path) -> None:
    store = opened(tmp_path)
    (said,) = store.put(YES)
    assert said.decided == 100.0
    store.close()
    again = opened(tmp_path)
    assert again.word("files", "camera") == said
    assert again.of("files") == [said]
    assert again.word("files", "memory.read") is None
    assert again.of("other") == []


def test_another_process_is_noticed(tmp_path: Path) -> None:
    gateway, command = opened(tmp_path), opened(tmp_path)
    assert not look(gateway).refresh_if_changed()
    command.put(YES)
    assert look(gateway).refresh_if_changed()
    assert gateway.word("files", "camera") is not None
    assert not look(gateway).refresh_if_changed()


def test_a_no_to_what_was_approved_is_a_revocation(tmp_path: Path) -> None:
    """MGP-6.4-3, MGP-6.4-4 and MGP-6.4-5, as the store knows them."""
    store = opened(tmp_path)
    store.put(Word("files", "camera", "denied", "olga"))
    store.put(YES)
    store.put(Word("files", "camera", "denied", "olga"))
    assert steps(store) == [("denied", "camera"), ("granted", "camera"), ("revoked", "camera")]
    store.recorded(store.changes()[-1].number)
    assert steps(store) == []


def test_a_word_ends_in_its_time_and_leaves_a_step(tmp_path: Path) -> None:
    """MGP-3.6-5"""
    clock = Clock()
    store = opened(tmp_path, clock)
    store.put(Word("files", "camera", "approved", "olga", expires=110.0))
    clock.now = 109.0
    assert not store.refresh_if_changed()
    assert store.word("files", "camera") is not None
    clock.now = 110.0
    assert store.word("files", "camera") is None
    assert store.of("files") == []
    assert store.refresh_if_changed()
    assert steps(store) == [("granted", "camera"), ("expired", "camera")]
    store.put(Word("files", "camera", "denied", "olga"))
    assert steps(store)[-1] == ("denied", "camera")  # nothing was left to revoke


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 257])
def test_names_that_nobody_could_be_shown_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="printable"):
        opened(tmp_path).put(Word("files", name, "approved", "olga"))


def test_a_store_that_cannot_be_used_says_so(tmp_path: Path) -> None:
    store = opened(tmp_path)
    store._rows.state.close()
    with pytest.raises(StoreError, match="the permissions in"):
        store.put(YES)


def test_what_is_said_together_holds_together_or_not_at_all(tmp_path: Path) -> None:
    store = opened(tmp_path)
    with pytest.raises(ValueError, match="256"):
        store.put(YES, Word("files", "x" * 257, "approved", "olga"))
    assert (store.of("files"), store.changes()) == ([], [])
    assert len(store.put(YES, Word("files", "location", "denied", "olga"))) == 2
    assert {one.permission for one in store.of("files")} == {YES.permission, "location"}
