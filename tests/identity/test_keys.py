"""API keys: shown once, kept as a hash, ended at once."""

from __future__ import annotations

import re
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Caller, UserContext
from gatewright.identity import keys as module
from gatewright.identity.keys import Key, KeyChange, KeyStore
from gatewright.storage.errors import StoreError, StoreTooNewError
from tests.audit.parts import Clock, noise
from tests.storage.parts import state_in

KEY = re.compile(r"gw_[0-9A-Za-z]{8}_[0-9A-Za-z]{43}")


def _uses(callers: KeyStore) -> list[float | None]:
    listed = callers.keys()
    return [key.last_used for key in listed]


def test_a_key_speaks_for_the_agent_it_was_made_for(callers: KeyStore) -> None:
    key, secret = callers.create("ann", by="ops")
    assert callers.verify(secret) == Caller("ann", "agent", key.id)
    key, secret = callers.create("boss", kind="operator", by="ops")
    assert callers.verify(secret) == Caller("boss", "operator", key.id)


def test_a_name_means_the_agent_rather_than_the_operator(callers: KeyStore) -> None:
    callers.create("both", kind="operator", by="ops")
    key, _ = callers.create("both", by="ops")
    loads = callers.loads
    callers.revoke(key.id, by="ops")
    assert callers.named("both") == Caller("both", "agent", key.id)
    assert callers.named("nobody") is None
    assert callers.loads > loads


def test_a_key_is_a_name_and_256_random_bits_in_letters_and_digits(callers: KeyStore) -> None:
    key, secret = callers.create("ann", by="ops")
    assert KEY.fullmatch(secret)
    assert secret.split("_")[1] == key.id


def test_no_two_keys_are_alike(callers: KeyStore) -> None:
    made = [callers.create("ann", by="ops") for _ in range(50)]
    assert len({secret for _, secret in made}) == len({key.id for key, _ in made}) == 50


def test_the_secret_is_nowhere_in_the_database(callers: KeyStore, tmp_path: Path) -> None:
    """GGEN-auth-1: a dump of the store has hashes only."""
    _, secret = callers.create("ann", by="ops")
    callers.close()
    content = b"".join(path.read_bytes() for path in tmp_path.iterdir())
    assert secret.encode() not in content
    assert secret.rsplit("_", 1)[1].encode() not in content
    assert sha256(secret.encode()).digest() in content


@given(st.text(max_size=80))
def test_what_is_no_key_is_unknown(text: str) -> None:
    from tempfile import TemporaryDirectory  # noqa: PLC0415 - a fresh folder for each example

    with TemporaryDirectory() as name:
        callers = KeyStore(state_in(Path(name)), clock=Clock(), random=noise())
        _, secret = callers.create("ann", by="ops")
        assert callers.verify(text) == "unknown"
        assert callers.verify(secret + text) == (
            "unknown" if text else Caller("ann", "agent", secret[3:11])
        )
        callers.close()


@pytest.mark.parametrize("place", [0, 4, 12, 30, 54])
def test_a_key_with_one_character_changed_is_unknown(callers: KeyStore, place: int) -> None:
    _, secret = callers.create("ann", by="ops")
    changed = secret[:place] + ("x" if secret[place] != "x" else "y") + secret[place + 1 :]
    assert callers.verify(changed) == "unknown"


def test_text_that_is_no_unicode_is_unknown_and_no_crash(callers: KeyStore) -> None:
    assert callers.verify("gw_\ud800\udfff") == "unknown"


def test_a_revoked_key_ends_at_once(callers: KeyStore, clock: Clock) -> None:
    key, secret = callers.create("ann", by="ops")
    clock.now = 1005.0
    assert callers.revoke(key.id, by="ops").revoked == 1005.0
    assert callers.verify(secret) == "revoked"


def test_a_key_ends_when_its_time_is_over(callers: KeyStore, clock: Clock) -> None:
    key, secret = callers.create("ann", expires=1060.0, by="ops")
    clock.now = 1059.999
    assert callers.verify(secret) == Caller("ann", "agent", key.id)
    clock.now = 1060.0
    assert callers.verify(secret) == "expired"


def test_the_text_of_a_key_that_has_ended_is_kept_nowhere(callers: KeyStore, clock: Clock) -> None:
    ended, gone = callers.create("ann", expires=1060.0, by="ops"), callers.create("bob", by="ops")
    for _, secret in (ended, gone):
        assert isinstance(callers.verify(secret), Caller)
    clock.now = 1061.0
    assert callers.verify(ended[1]) == "expired"
    assert ended[1] not in callers._proved
    callers.revoke(gone[0].id, by="ops")
    assert [callers.verify(secret) for _, secret in (ended, gone)] == ["expired", "revoked"]
    assert not callers._proved


def test_two_keys_of_one_agent_overlap_for_a_rotation(callers: KeyStore) -> None:
    old, old_secret = callers.create("ann", by="ops")
    _, new_secret = callers.create("ann", by="ops")
    assert isinstance(callers.verify(old_secret), Caller)
    callers.revoke(old.id, by="ops")
    assert callers.verify(old_secret) == "revoked"
    assert isinstance(callers.verify(new_secret), Caller)


def test_keys_are_still_there_after_a_restart(
    callers: KeyStore, tmp_path: Path, clock: Clock
) -> None:
    key, secret = callers.create("ann", by="ops")
    callers.close()
    again = KeyStore(state_in(tmp_path), clock=clock, random=noise())
    assert again.verify(secret) == Caller("ann", "agent", key.id)
    again.close()


def test_a_change_by_another_process_counts_after_a_look(
    callers: KeyStore, elsewhere: KeyStore
) -> None:
    key, secret = elsewhere.create("ann", by="ops")
    assert callers.verify(secret) == "unknown"
    assert callers.refresh_if_changed()
    assert isinstance(callers.verify(secret), Caller)
    elsewhere.revoke(key.id, by="ops")
    assert callers.refresh_if_changed()
    assert callers.verify(secret) == "revoked"
    assert not callers.refresh_if_changed()


def test_a_look_without_a_change_reads_no_keys(
    callers: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    callers.create("ann", by="ops")
    monkeypatch.setattr(KeyStore, "_load", None)
    assert not callers.refresh_if_changed()


def test_revoking_twice_changes_nothing_the_second_time(callers: KeyStore, clock: Clock) -> None:
    key, _ = callers.create("ann", by="ops")
    first = callers.revoke(key.id, by="ops")
    clock.now += 100
    assert callers.revoke(key.id, by="other") == first
    assert [each.action for each in callers.changes()] == ["created", "revoked"]


def test_revoking_an_unknown_key_says_so(callers: KeyStore) -> None:
    with pytest.raises(KeyError, match="nosuchid"):
        callers.revoke("nosuchid", by="ops")
    assert callers.changes() == []


def test_keys_are_listed_oldest_first_without_their_secrets(
    callers: KeyStore, clock: Clock
) -> None:
    first, _ = callers.create("ann", expires=5000.0, by="ops")
    clock.now = 2000.0
    second, secret = callers.create("bob", kind="operator", by="ops")
    clock.now = 2500.0
    callers.verify(secret)
    assert callers.keys() == [
        Key(first.id, "ann", "agent", 1000.0, 5000.0, key_hash=first.key_hash),
        Key(
            second.id,
            "bob",
            "operator",
            2000.0,
            last_used=2500.0,
            key_hash=sha256(secret.encode()).hexdigest(),
        ),
    ]


def test_the_last_use_of_a_key_reaches_the_database_when_it_is_saved(
    callers: KeyStore, elsewhere: KeyStore, clock: Clock
) -> None:
    """GGEN-auth-3"""
    _, secret = callers.create("ann", by="ops")
    clock.now = 1234.5
    callers.verify(secret)
    assert _uses(elsewhere) == [None]
    callers.save_last_used()
    assert _uses(elsewhere) == [1234.5]
    callers.save_last_used()
    assert _uses(callers) == [1234.5]


def test_a_refused_credential_is_no_use_of_its_key(callers: KeyStore, clock: Clock) -> None:
    key, secret = callers.create("ann", by="ops")
    callers.revoke(key.id, by="ops")
    clock.now += 5
    callers.verify(secret)
    callers.verify(f"gw_{key.id}_wrong")
    assert _uses(callers) == [None]


def test_every_change_waits_until_the_trail_has_it(
    callers: KeyStore, elsewhere: KeyStore, clock: Clock
) -> None:
    key, _ = elsewhere.create("ann", by="ops")
    clock.now = 1001.0
    elsewhere.revoke(key.id, by="root")
    changes = callers.changes()
    assert changes == [
        KeyChange(changes[0].number, 1000.0, "created", key.id, "ann", "agent", "ops"),
        KeyChange(changes[1].number, 1001.0, "revoked", key.id, "ann", "agent", "root"),
    ]
    callers.recorded(changes[0].number)
    assert callers.changes() == changes[1:]
    callers.recorded(changes[1].number)
    assert callers.changes() == []


def test_the_numbers_of_changes_are_never_used_again(callers: KeyStore) -> None:
    callers.create("ann", by="ops")
    first = callers.changes()[-1].number
    callers.recorded(first)
    callers.create("bob", by="ops")
    assert callers.changes()[-1].number > first


@pytest.mark.parametrize(
    "name", ["", "*", "anonymous", "a" * 129, "a\nb", "nul\0", " ann", "ann ", "\u202enna", "a:b"]
)
def test_a_name_that_could_mislead_is_refused(callers: KeyStore, name: str) -> None:
    with pytest.raises(ValueError, match=r"name|somebody else"):
        callers.create(name, by="ops")
    assert callers.keys() == []


def test_a_key_that_would_be_over_already_is_refused(callers: KeyStore) -> None:
    with pytest.raises(ValueError, match="expired before it was made"):
        callers.create("ann", expires=1000.0, by="ops")


def test_a_key_of_an_unknown_kind_is_refused(callers: KeyStore) -> None:
    with pytest.raises(ValueError, match="an agent or an operator"):
        callers.create("ann", kind="system", by="ops")  # type: ignore[arg-type]


def test_the_comparison_takes_constant_time(
    callers: KeyStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, secret = callers.create("ann", by="ops")
    compared: list[tuple[bytes, bytes]] = []
    real = module.hmac.compare_digest  # type: ignore[attr-defined]

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((one, other))
        return bool(real(one, other))

    monkeypatch.setattr("hmac.compare_digest", compare)
    callers.verify(secret)
    callers.verify("gw_nosuchid_" + "x" * 43)
    assert [(len(one), len(other)) for one, other in compared] == [(32, 32)] * 2


def test_a_database_that_fails_is_a_store_error_and_known_keys_go_on(
    callers: KeyStore, tmp_path: Path
) -> None:
    _, secret = callers.create("ann", by="ops")
    callers._keys.execute("ALTER TABLE keys RENAME TO hidden")
    with pytest.raises(StoreError, match="the keys in"):
        callers.create("bob", by="ops")
    with pytest.raises(StoreError, match="the keys in"):
        callers.keys()
    assert isinstance(callers.verify(secret), Caller)
    callers._keys.execute("ALTER TABLE hidden RENAME TO keys")


def test_keys_of_a_newer_gatewright_are_refused(tmp_path: Path, clock: Clock) -> None:
    state_in(tmp_path).engine.set_form(99)
    with pytest.raises(StoreTooNewError, match="update Gatewright"):
        KeyStore(state_in(tmp_path), clock=clock, random=noise())


def test_the_file_of_the_keys_belongs_to_its_owner_alone(callers: KeyStore, tmp_path: Path) -> None:
    callers.create("ann", by="ops")
    assert {path.stat().st_mode & 0o777 for path in tmp_path.iterdir()} == {0o600}


SAID = UserContext("analyst", "community", ("/srv/**",), ("filesystem.read",))


def test_a_key_says_what_its_caller_may_do_to_the_end(callers: KeyStore, tmp_path: Path) -> None:
    """GRH-sec-3 and GGEN-auth-2"""
    key, secret = callers.create("ann", user=SAID, by="ops")
    assert callers.verify(secret) == Caller("ann", "agent", key.id, user=(SAID,))
    again = KeyStore(state_in(tmp_path), clock=Clock(1000.0), random=noise())
    try:
        assert again.keys() == [key]
        assert again.verify(secret) == Caller("ann", "agent", key.id, user=(SAID,))
    finally:
        again.close()


def test_an_operator_s_key_takes_no_limits(callers: KeyStore) -> None:
    with pytest.raises(ValueError, match="for agents"):
        callers.create("root", kind="operator", user=SAID, by="ops")


def test_a_rotated_key_has_a_successor_that_says_the_same(callers: KeyStore, clock: Clock) -> None:
    old, secret = callers.create("ann", user=SAID, by="ops")
    new, fresh = callers.rotate(old.id, by="ops")
    assert callers.verify(secret) == "revoked"
    assert callers.verify(fresh) == Caller("ann", "agent", new.id, user=(SAID,))
    listed = callers.keys()
    assert [(one.replaced_by, one.revoked) for one in listed] == [
        (new.id, clock.now),
        (None, None),
    ]
    assert [one.action for one in callers.changes()] == ["created", "created", "revoked"]


def test_both_keys_are_good_for_the_overlap_and_no_longer(callers: KeyStore, clock: Clock) -> None:
    old, secret = callers.create("ann", by="ops")
    new, fresh = callers.rotate(old.id, overlap_s=60.0, by="ops")
    clock.now += 59
    assert {callers.verify(secret), callers.verify(fresh)} == {
        Caller("ann", "agent", old.id),
        Caller("ann", "agent", new.id),
    }
    clock.now += 1
    assert callers.verify(secret) == "expired"
    assert isinstance(callers.verify(fresh), Caller)
    assert callers.changes()[-1].action == "replaced"


def test_an_overlap_makes_no_key_last_longer_than_it_would(callers: KeyStore, clock: Clock) -> None:
    old, secret = callers.create("ann", expires=1010.0, by="ops")
    callers.rotate(old.id, overlap_s=3600.0, by="ops")
    clock.now = 1010.0
    assert callers.verify(secret) == "expired"


def test_only_a_key_in_force_is_rotated_and_only_once(callers: KeyStore, clock: Clock) -> None:
    old, _ = callers.create("ann", by="ops")
    callers.rotate(old.id, overlap_s=60.0, by="ops")
    with pytest.raises(ValueError, match="replaced"):
        callers.rotate(old.id, by="ops")
    clock.now += 61
    with pytest.raises(ValueError, match="ended"):
        callers.rotate(old.id, by="ops")
    with pytest.raises(KeyError):
        callers.rotate("nothing", by="ops")
    assert len(callers.keys()) == 2
