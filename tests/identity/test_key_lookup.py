"""Keys made by another process count at once."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Literal

import pytest

from gatewright.call import Caller
from gatewright.identity.key_lookup import FreshKeys
from gatewright.identity.keys import KeyStore
from gatewright.storage.errors import StoreError
from gatewright.storage.state import StateDatabase
from tests.storage.parts import state_in


def test_a_key_made_elsewhere_counts_at_once_and_a_guess_never_does(tmp_path: Path) -> None:
    here = KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom)
    there = KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom)
    try:
        keys = FreshKeys(here)
        assert keys.verify("gw_guess") == "unknown"
        key, secret = there.create("ada", by="test")
        assert keys.verify(secret) == Caller("ada", "agent", key.id)
        assert keys.verify(secret + "x") == "unknown"
    finally:
        here.close()
        there.close()


@pytest.mark.parametrize("kind", ["operator", "agent"])
def test_an_operators_key_that_is_revoked_elsewhere_is_none_at_once(
    tmp_path: Path, kind: Literal["operator", "agent"]
) -> None:
    """What an operator does lasts; of agents' keys it is read when the state is looked at."""
    here = KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom)
    there = KeyStore(state_in(tmp_path), clock=time.time, random=os.urandom)
    try:
        keys = FreshKeys(here)
        key, secret = there.create("ada", kind=kind, by="test")
        assert keys.verify(secret) == Caller("ada", kind, key.id)
        there.rotate(key.id, by="test")
        assert (keys.verify(secret) == "revoked") is (kind == "operator")
        here.refresh_if_changed()
        assert keys.verify(secret) == "revoked"
    finally:
        here.close()
        there.close()


@pytest.mark.parametrize("first", [True, False])
def test_what_fails_elsewhere_makes_a_wrong_key_no_more_than_wrong(
    tmp_path: Path, first: bool
) -> None:
    """Whoever shows it learns nothing of it; a new key counts all the same."""
    state, other = state_in(tmp_path), state_in(tmp_path)
    grants = state.section("grants", "the grants")

    def fail() -> None:
        raise StoreError("the grants cannot be used")

    if first:
        grants.listen(fail)
    here = KeyStore(state, clock=time.time, random=os.urandom)
    grants.listen(fail)
    there = KeyStore(other, clock=time.time, random=os.urandom)
    try:
        with other.section("grants", "the grants").changing():
            pass
        keys = FreshKeys(here)
        assert keys.verify("gw_guess") == "unknown"
        key, secret = there.create("ada", by="test")
        assert keys.verify(secret) == Caller("ada", "agent", key.id)
        with pytest.raises(StoreError, match="the grants"):
            here.refresh_if_changed()  # which is for the regular look to say
    finally:
        here.close()
        there.close()


def _fail(*_: object) -> None:
    raise StoreError("this cannot be read")


def _change(state: StateDatabase, name: str) -> None:
    with state.section(name, "it").changing():
        pass


def test_an_operators_key_counts_only_where_the_keys_could_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What fails in other parts of the state is theirs; where nobody can say whether a key still holds, no operator acts by it."""
    state = state_in(tmp_path)
    grants = state.section("grants", "the grants")
    here = KeyStore(state, clock=time.time, random=os.urandom)
    try:
        keys = FreshKeys(here)
        olga, operator = here.create("olga", kind="operator", by="test")
        ada, agent = here.create("ada", by="test")

        def asked() -> tuple[Caller | str, Caller | str]:
            return keys.verify(operator), keys.verify(agent)

        both = Caller("olga", "operator", olga.id), Caller("ada", "agent", ada.id)
        assert asked() == both
        grants.listen(_fail)
        other = state_in(tmp_path)
        _change(other, "grants")
        _change(other, "keys")
        assert asked() == both
        with monkeypatch.context() as patch:
            patch.setattr(state.engine, "generation", _fail)
            assert asked() == ("unread", both[1])
        assert asked() == both
        _change(other, "keys")
        with monkeypatch.context() as patch:
            patch.setattr("gatewright.identity.keys._key", _fail)
            assert asked() == ("unread", both[1])
            assert asked() == ("unread", both[1]), "as long as it lasts"
        assert asked() == both
    finally:
        here.close()
