"""Who participants are to the kernel."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Caller
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.policy import Identity

KEYED = Caller("ann", "operator", "key-1")


class _Keys:
    def __init__(self) -> None:
        self.known: dict[str, Caller | str] = {"key": KEYED}

    def verify(self, credential: str) -> Caller | str:
        return self.known.get(credential, "unknown")


class _Hub:
    """Who is where."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], Any] = {}

    def sit(self, name: str, identity: Identity, who: str = "one", token: str = "") -> None:
        """Take the place of that name in `t`."""
        member = SimpleNamespace(who=who)
        place = SimpleNamespace(identity=identity, member=member, token=token)
        self.there["t", name] = place

    def place(self, topic: str, participant: str) -> Any:
        return self.there.get((topic, participant))


def _callers() -> tuple[RoomCallers, _Hub, _Keys]:
    hub, keys = _Hub(), _Keys()
    of_hub: Any = hub
    return RoomCallers(keys, "secret", of_hub, clock=lambda: 100.0), hub, keys


def test_a_handle_is_good_for_as_long_as_the_participant_is_there() -> None:
    callers, hub, _ = _callers()
    assert callers.who("t", "eve") == ""
    assert callers.verify(callers.handle("t", "eve", "")) == "gone"
    hub.sit("eve", Identity("eve", ()))
    handle = callers.handle("t", "eve", callers.who("t", "eve"))
    assert callers.verify(handle) == Caller("eve")
    assert callers.verify(callers.handle("u", "eve", callers.who("t", "eve"))) == "gone"
    hub.there.clear()
    assert callers.verify(handle) == "gone"


def test_a_handle_is_of_no_other_who_comes_under_the_same_name() -> None:
    """Who is another is the hub's to say (`test_hub`)."""
    callers, hub, _ = _callers()
    hub.sit("ann", Identity("ann", ()), "one")
    handle = callers.handle("t", "ann", callers.who("t", "ann"))
    hub.sit("ann", Identity("ann", ()), "another")
    assert callers.verify(handle) == "gone"


@pytest.mark.parametrize("now", ["revoked", "expired", Caller("ann", "agent", "key-9")])
def test_a_key_that_was_taken_back_calls_nothing_more_although_its_owner_is_still_there(
    now: Caller | str,
) -> None:
    callers, hub, keys = _callers()
    hub.sit("ann", Identity("ann", (), caller=KEYED), token="key")
    handle = callers.handle("t", "ann", callers.who("t", "ann"))
    assert callers.verify(handle) is KEYED
    keys.known["key"] = now
    assert callers.verify(handle) == (now if isinstance(now, str) else "gone")


def test_a_signed_token_calls_nothing_after_its_end() -> None:
    callers, hub, _ = _callers()
    hub.sit("ann", Identity("ann", (), way="jwt", expires_at=101.0))
    handle = callers.handle("t", "ann", "one")
    assert callers.verify(handle) == Caller("ann")
    hub.sit("ann", Identity("ann", (), way="jwt", expires_at=100.0))
    assert callers.verify(handle) == "expired"


def test_a_token_that_is_no_key_is_not_looked_for_among_the_keys() -> None:
    """Fixed tokens of this process, and those of the configuration, are good until a restart."""
    callers, hub, _ = _callers()
    for identity in (Identity("ann", (), caller=Caller("ann")), Identity("ann", (), way="jwt")):
        hub.sit("ann", identity, token="fixed")
        assert callers.verify(callers.handle("t", "ann", "one")) == Caller("ann")


def test_the_owner_of_a_key_and_a_stranger_stay_what_they_are() -> None:
    callers, hub, _ = _callers()
    hub.sit("ann", Identity("ann", (), caller=KEYED))
    hub.sit("anonymous-1", Identity("anonymous-1", (), way="anonymous"))
    handles = [callers.handle("t", one, callers.who("t", one)) for one in ("ann", "anonymous-1")]
    assert callers.verify(handles[0]) is KEYED
    assert callers.verify(handles[1]) is ANONYMOUS


def test_nobody_makes_a_handle_who_does_not_know_the_secret() -> None:
    callers, hub, _ = _callers()
    hub.sit("eve", Identity("eve", ()))
    assert callers.verify("key") is KEYED
    forged: Any
    for forged in ("t\neve", "\nt\neve", "secret", "secrett\neve", ""):
        assert callers.verify(forged) == "unknown"


def test_before_anybody_is_there_every_handle_is_gone() -> None:
    callers, _, _ = _callers()
    assert callers.verify(callers.handle("t", "eve", callers.who("t", "eve"))) == "gone"
