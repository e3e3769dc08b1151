"""The feed of changes: who is told, who is not, and what a look costs."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import gatewright
from gatewright.access.grants import Grant
from gatewright.access.issued_grants import Issued
from gatewright.access.permissions import Permissions, Word
from gatewright.identity.keys import KeyStore
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase
from tests.storage.parts import state_in


class Ear:
    """A store that hears of changes of one section."""

    def __init__(self, state: StateDatabase, name: str) -> None:
        self.section = state.section(name, f"the {name}")
        self.heard = 0
        self.deaf = False
        self.section.listen(self.hear)

    def hear(self) -> None:
        self.heard += 1
        if self.deaf:
            raise StoreError("deaf")

    def change(self) -> None:
        with self.section.changing():
            self.section.step()


def statements(state: StateDatabase) -> list[str]:
    """Every statement from now on."""
    found: list[str] = []
    connection = state.engine._connection  # type: ignore[attr-defined]
    assert isinstance(connection, sqlite3.Connection)
    connection.set_trace_callback(found.append)
    return found


def test_only_the_section_that_another_process_has_changed_hears_of_it(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys, pins = Ear(here, "keys"), Ear(here, "pins")
    other = Ear(there, "keys")
    other.change()
    assert keys.heard == 0
    here.look()
    here.look()
    assert (keys.heard, pins.heard, other.heard) == (1, 0, 0)


def test_nobody_is_woken_by_their_own_change_also_when_others_change_something_else(
    tmp_path: Path,
) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys, pins = Ear(here, "keys"), Ear(here, "pins")
    keys.change()
    here.look()
    assert keys.heard == 0
    Ear(there, "pins").change()
    here.look()
    assert (keys.heard, pins.heard) == (0, 1)


def test_a_change_of_another_process_right_before_one_s_own_is_heard(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys = Ear(here, "keys")
    Ear(there, "keys").change()
    keys.change()
    here.look()
    assert keys.heard == 1


def test_who_fails_to_hear_is_told_again_and_keeps_nobody_else_from_hearing(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    ears = [Ear(here, name) for name in ("keys", "grants", "pins")]
    ears[0].deaf = True
    for ear in ears:
        Ear(there, ear.section.name).change()
    with pytest.raises(StoreError, match="deaf"):
        here.look()
    assert [ear.heard for ear in ears] == [1, 1, 1]
    ears[0].deaf = False
    here.look()
    here.look()
    assert [ear.heard for ear in ears] == [2, 1, 1]


def test_a_change_that_fails_is_none(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys = Ear(here, "keys")

    def half() -> None:
        other = there.section("keys", "the keys")
        with other.changing():
            other.step()
            other.execute("NO SUCH STATEMENT")

    with pytest.raises(StoreError, match=r"the keys in .*state\.db cannot be used"):
        half()
    here.look()
    assert (keys.heard, here.heads()["keys"].steps) == (0, 0)


def test_what_only_tidies_up_is_no_change(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys = Ear(here, "keys")
    section = there.section("keys", "the keys")
    with section.tidying():
        section.execute("DELETE FROM key_changes")
    here.look()
    assert keys.heard == 0


def test_a_look_is_one_statement_where_nobody_has_written_and_two_where_somebody_has(
    tmp_path: Path,
) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    for name in ("keys", "grants", "pins", "permissions", "approvals"):
        Ear(here, name)
    asked = statements(here)
    here.look()
    assert len(asked) == 1
    Ear(there, "grants").change()
    here.look()
    assert len(asked) == 3


def test_who_is_closed_hears_nothing(tmp_path: Path) -> None:
    here, there = state_in(tmp_path), state_in(tmp_path)
    keys = Ear(here, "keys")
    keys.section.close()
    Ear(there, "keys").change()
    here.look()
    assert keys.heard == 0


def test_steps_are_numbers_that_only_grow(tmp_path: Path) -> None:
    keys = state_in(tmp_path).section("keys", "the keys")
    with keys.changing():
        assert [keys.step(), keys.step()] == [1, 2]
    assert keys.steps() == 2
    assert state_in(tmp_path).heads()["keys"].steps == 2


def test_a_store_without_a_section_is_told_where_it_is_added(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    with pytest.raises(
        ValueError, match=r"'plans' is no section .* SECTIONS in storage/migrations"
    ):
        state.section("plans", "the plans")
    state.close()


# -- stores that read again what they have written --------------------------------------------------


class Rereading:
    """A store, a change of it, and what it holds in memory."""

    def __init__(self, state: StateDatabase) -> None:
        self.state = state

    def change(self) -> object:
        """Make a change that was not there."""

    def held(self) -> object:
        """What calls are judged by."""

    def look(self) -> None:
        self.state.look()


class OfKeys(Rereading):
    name = "keys"

    def __init__(self, state: StateDatabase) -> None:
        super().__init__(state)
        self.store = KeyStore(state, clock=lambda: 1.0, random=os.urandom)
        if not self.store.keys():
            self.store.create("ann", by="test")

    def change(self) -> object:
        return self.store.revoke(self.store.keys()[0].id, by="test")

    def held(self) -> object:
        return [key for _, key, _ in self.store._known.values()]


class OfRotatedKeys(OfKeys):
    name = "rotated keys"

    def change(self) -> object:
        return self.store.rotate(self.store.keys()[0].id, by="test")


class OfPermissions(Rereading):
    name = "permissions"

    def __init__(self, state: StateDatabase) -> None:
        super().__init__(state)
        self.store = Permissions(state, clock=lambda: 1.0)

    def change(self) -> object:
        return self.store.put(Word("srv", "shell.execute", "denied", "test"))

    def held(self) -> object:
        return dict(self.store.words)

    def look(self) -> None:
        super().look()
        self.store.refresh_if_changed()


class OfGrants(Rereading):
    name = "grants"

    def __init__(self, state: StateDatabase) -> None:
        super().__init__(state)
        self.store = Issued(state, clock=lambda: 1.0)

    def change(self) -> object:
        return self.store.grant(Grant("ann", "srv", permission="deny"), by="test")

    def held(self) -> object:
        return list(self.store.layer)


class OfBoundGrants(OfGrants):
    """Another process was faster, so that it is read again."""

    name = "bound grants"

    def change(self) -> object:
        self.store.bind(("ann", "srv", "tool"), "digest")
        return None


STORES: list[Any] = [OfKeys, OfRotatedKeys, OfPermissions, OfGrants, OfBoundGrants]


def _failing(state: StateDatabase, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """From now on nothing can be read outside of transactions."""
    real, failed = state.engine.execute, list[str]()

    def execute(sql: str, parameters: Any = ()) -> Any:
        connection = state.engine._connection  # type: ignore[attr-defined]
        if sql.startswith("SELECT") and not connection.in_transaction:
            failed.append(sql)
            raise sqlite3.OperationalError("disk I/O error")
        return real(sql, parameters)

    monkeypatch.setattr(state.engine, "execute", execute)
    return failed


@pytest.mark.parametrize("kind", STORES, ids=lambda kind: kind.name)
def test_what_could_not_be_read_after_a_change_is_read_at_the_next_look(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    state = state_in(tmp_path)
    store = kind(state)
    named = store.store.keys()[0].id if isinstance(store, OfKeys) else ""
    if named:
        monkeypatch.setattr(store, "store", _Named(store.store, named))
    with monkeypatch.context() as patch:
        failed = _failing(state, patch)
        with contextlib.suppress(StoreError):
            store.change()
    again = kind(state_in(tmp_path))
    assert failed or store.held() == again.held()
    store.look()
    assert store.held() == again.held()
    with monkeypatch.context() as patch:
        failed = _failing(state, patch)
        store.state._tell()  # nothing is due any more
        assert failed == []


class _Named:
    """A store of keys whose one key is known by heart."""

    def __init__(self, store: KeyStore, id: str) -> None:
        self._store = store
        self._id = id

    def keys(self) -> list[Any]:
        return [type("Named", (), {"id": self._id})]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)


@pytest.mark.parametrize("kind", STORES, ids=lambda kind: kind.name)
def test_nobody_is_woken_by_a_change_that_was_read_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: Any
) -> None:
    state = state_in(tmp_path)
    store = kind(state)
    store.change()
    failed = _failing(state, monkeypatch)
    assert not state._own
    state._tell()
    assert failed == []


def test_each_store_that_reads_what_it_has_written_is_told_until_it_has() -> None:
    found = {
        path.stem: text.count("rereads=True")
        for path in Path(gatewright.__file__).parent.rglob("*.py")
        if ".changing()" in (text := path.read_text()) and "self._load()" in text
    }
    assert found == {"keys": 1, "permissions": 1, "issued_grants": 1}


def test_a_section_is_current_once_all_who_hear_of_it_have_read_what_a_look_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state, other = state_in(tmp_path), state_in(tmp_path)
    keys, grants = state.section("keys", "the keys"), state.section("grants", "the grants")
    trouble = [StoreError("not now")]

    def heard() -> None:
        if trouble:
            raise trouble[0]

    keys.listen(heard)
    with other.section("keys", "it").changing():
        pass
    with pytest.raises(StoreError, match="not now"):
        state.look()
    assert (keys.is_current(), grants.is_current()) == (False, True)
    trouble.clear()
    state.look()
    assert (keys.is_current(), grants.is_current()) == (True, True)

    def fail() -> int:
        raise StoreError("the engine cannot say")

    with monkeypatch.context() as patch:
        patch.setattr(state.engine, "generation", fail)
        with pytest.raises(StoreError, match="cannot say"):
            state.look()
        assert (keys.is_current(), grants.is_current()) == (False, False)
    state.look()
    assert keys.is_current()
