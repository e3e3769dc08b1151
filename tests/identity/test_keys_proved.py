"""A key that was good once is good as long as the keys are the same ones: no change is missed, and nothing is remembered of wrong ones."""

from __future__ import annotations

from hashlib import sha256

import pytest

from gatewright.call import Caller
from gatewright.identity.keys import KeyStore
from tests.audit.parts import Clock


@pytest.mark.parametrize("how", ["revoked", "rotated", "expired", "another secret"])
def test_a_key_that_was_good_is_looked_at_again_after_each_change(
    callers: KeyStore, elsewhere: KeyStore, clock: Clock, how: str
) -> None:
    """What was proved once is proved by the very key that is there now, also where another process changed it."""
    key, secret = callers.create("ann", expires=clock.now + 50, by="ops")
    elsewhere.refresh_if_changed()
    assert callers.verify(secret) == callers.verify(secret) == Caller("ann", "agent", key.id)
    if how == "revoked":
        elsewhere.revoke(key.id, by="ops")
    elif how == "rotated":
        elsewhere.rotate(key.id, by="ops")
    elif how == "expired":
        clock.now += 50
    else:
        with elsewhere._keys.changing():
            digest = sha256(b"another").digest()
            elsewhere._keys.execute("UPDATE keys SET digest = ? WHERE id = ?", (digest, key.id))
    callers.refresh_if_changed()
    expected = {"rotated": "revoked", "another secret": "unknown"}.get(how, how)
    assert callers.verify(secret) == expected
    assert callers.verify(secret) == expected


def test_what_is_not_a_key_is_not_remembered(callers: KeyStore) -> None:
    _, secret = callers.create("ann", by="ops")
    for number in range(20):
        assert callers.verify(f"{secret[:20]}{number}") == "unknown"
        assert callers.verify(str(number)) == "unknown"
    assert callers.verify(secret) != "unknown"
    assert list(callers._proved) == [secret]
    callers.create("bob", by="ops")
    assert callers._proved == {}


def test_what_was_proved_of_one_entry_proves_nothing_of_another(callers: KeyStore) -> None:
    key, secret = callers.create("ann", by="ops")
    assert callers.verify(secret) != "unknown"
    _, same, caller = callers._known[key.id]
    callers._known[key.id] = sha256(b"another").digest(), same, caller
    assert callers.verify(secret) == "unknown"
