"""Keys beside the event loop, and rows of them that cannot be read."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from gatewright.identity.keys import KeyStore, saved_beside
from gatewright.storage.errors import StoreError
from tests.audit.parts import Clock, noise
from tests.storage.parts import state_in


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


def test_a_row_that_cannot_be_read_is_a_named_error(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    KeyStore(state, clock=Clock(1000.0), random=noise()).create("ann", by="root")
    with state.engine.transaction():
        state.engine.execute("UPDATE keys SET said = '{'")
    with pytest.raises(StoreError, match=r"the keys in .*state\.db cannot be used"):
        KeyStore(state, clock=Clock(1000.0), random=noise())


def test_when_keys_were_used_can_be_written_by_another_thread_and_is_kept_until_it_was(
    tmp_path: Path, clock: Clock
) -> None:
    state = state_in(tmp_path)
    callers = KeyStore(state, clock=clock, random=noise())
    key, secret = callers.create("ann", by="root")

    def written() -> float | None:
        return KeyStore(state_in(tmp_path), clock=clock, random=noise()).keys()[0].last_used

    assert not isinstance(callers.verify(secret), str)
    used = callers.take_used()
    with closing(state_in(tmp_path)) as other, other.engine.transaction():
        assert not saved_beside(tmp_path, used)
    callers.keep_used(used)
    assert (written(), callers.keys()[0].last_used) == (None, clock())
    assert saved_beside(tmp_path, callers.take_used())
    assert (written(), callers.take_used()) == (clock(), {})
    assert key.last_used is None
