"""Who participants are to the kernel."""

from __future__ import annotations

from typing import Any

from gatewright.call import ANONYMOUS, Caller
from gatewright.rooms.callers import RoomCallers
from gatewright.rooms.policy import Identity

KEYED = Caller("ann", "operator", "key-1")


class _Keys:
    def verify(self, credential: str) -> Caller | str:
        return KEYED if credential == "key" else "unknown"


class _Hub:
    """Who is where."""

    def __init__(self) -> None:
        self.there: dict[tuple[str, str], Identity] = {}

    def identity(self, topic: str, participant: str) -> Identity | None:
        return self.there.get((topic, participant))


def _callers() -> tuple[RoomCallers, _Hub]:
    callers, hub = RoomCallers(_Keys(), "secret"), _Hub()
    callers.hub = hub_any = hub  # type: ignore[assignment]
    assert hub_any is hub
    return callers, hub


def test_a_handle_is_good_for_as_long_as_the_participant_is_there() -> None:
    callers, hub = _callers()
    handle = callers.handle("t", "eve")
    assert callers.verify(handle) == "gone"
    hub.there["t", "eve"] = Identity("eve", ())
    assert callers.verify(handle) == Caller("eve")
    assert callers.verify(callers.handle("u", "eve")) == "gone"
    hub.there.clear()
    assert callers.verify(handle) == "gone"


def test_the_owner_of_a_key_and_a_stranger_stay_what_they_are() -> None:
    callers, hub = _callers()
    hub.there["t", "ann"] = Identity("ann", (), caller=KEYED)
    hub.there["t", "anonymous-1"] = Identity("anonymous-1", (), way="anonymous")
    assert callers.verify(callers.handle("t", "ann")) is KEYED
    assert callers.verify(callers.handle("t", "anonymous-1")) is ANONYMOUS


def test_nobody_makes_a_handle_who_does_not_know_the_secret() -> None:
    callers, hub = _callers()
    hub.there["t", "eve"] = Identity("eve", ())
    assert callers.verify("key") is KEYED
    forged: Any
    for forged in ("t\neve", "\nt\neve", "secret", "secrett\neve", ""):
        assert callers.verify(forged) == "unknown"


def test_before_there_are_rooms_every_handle_is_gone() -> None:
    callers = RoomCallers(_Keys(), "secret")
    assert callers.verify(callers.handle("t", "eve")) == "gone"
