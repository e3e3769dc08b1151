"""API keys whose names people read as one."""

from __future__ import annotations

import pytest

from gatewright.call import Caller
from gatewright.identity.keys import KeyStore, NameTaken


def test_two_forms_of_one_name_are_one_name(callers: KeyStore) -> None:
    composed, apart = "Jos\u00e9", "Jose\u0301"
    key, _ = callers.create(apart, by="ops", another=False)
    assert key.name == composed
    for name in (composed, apart):
        with pytest.raises(NameTaken):
            callers.create(name, by="ops", another=False)
        assert [one.id for one in callers.held(name)] == [key.id]
        found = callers.named(name)
        assert found is not None
        assert found.key_id == key.id
    with pytest.raises(ValueError, match="reads like"):
        callers.create("JOS\u00c9", kind="operator", by="ops")
    with pytest.raises(ValueError, match="reads like"):
        callers.create("Cursor", by="ops", hosts=("cursor",))
    assert callers.create("cursor", by="ops", hosts=("cursor",))[0].name == "cursor"


def test_a_name_of_ended_keys_may_be_had_in_another_spelling(callers: KeyStore) -> None:
    key, _ = callers.create("Bob", by="ops")
    callers.revoke(key.id, by="ops")
    assert callers.create("bob", by="ops")[0].name == "bob"


def test_keys_from_before_names_were_compared_go_on(callers: KeyStore) -> None:
    """Under the name that they have, which a further key of the name has as well."""
    apart = "Jose\u0301"
    key, secret = callers.create("x", by="ops")
    callers._keys.execute("UPDATE keys SET name = ? WHERE id = ?", (f"{apart}\u3164", key.id))
    other, _ = callers.create("y", by="ops")
    callers._keys.execute("UPDATE keys SET name = ? WHERE id = ?", (apart, other.id))
    callers._load()
    assert callers.verify(secret) == Caller(f"{apart}\u3164", "agent", key.id)
    new, _ = callers.rotate(key.id, by="ops")
    assert new.name == f"{apart}\u3164"
    assert callers.create("Jos\u00e9", by="ops")[0].name == apart
