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
    hub: Any = _Hub()
    return RoomCallers(_Keys(), "secret", hub), hub


def test_a_handle_is_good_for_as_long_as_the_participant_is_there() -> None:
    callers, hub = _callers()
    assert callers.who("t", "eve") == ""
    assert callers.verify(callers.handle("t", "eve", "")) == "gone"
    hub.there["t", "eve"] = Identity("eve", ())
    handle = callers.handle("t", "eve", callers.who("t", "eve"))
    assert callers.verify(handle) == Caller("eve")
    assert callers.verify(callers.handle("u", "eve", callers.who("t", "eve"))) == "gone"
    hub.there.clear()
    assert callers.verify(handle) == "gone"


def test_a_handle_is_of_no_other_who_comes_under_the_same_name() -> None:
    """A key of an operator may be called as an agent's is, or as a signed token says. Two tokens of one agent are one."""
    callers, hub = _callers()
    agent = [
        Identity("ann", (), way="jwt"),
        Identity("ann", (), way="configuration"),
        Identity("ann", (), caller=Caller("ann")),
    ]
    operator = [
        Identity("ann", (), caller=KEYED),
        Identity("ann", ("chat",), mode="directed", caller=Caller("ann", "operator", "key-2")),
    ]
    for mine, others in ((agent, operator), (operator, agent)):
        for one in mine:
            hub.there["t", "ann"] = one
            handle = callers.handle("t", "ann", callers.who("t", "ann"))
            for other in (*mine, *others):
                hub.there["t", "ann"] = other
                assert (callers.verify(handle) == "gone") is (other in others)


def test_the_owner_of_a_key_and_a_stranger_stay_what_they_are() -> None:
    callers, hub = _callers()
    hub.there["t", "ann"] = Identity("ann", (), caller=KEYED)
    hub.there["t", "anonymous-1"] = Identity("anonymous-1", (), way="anonymous")
    handles = [callers.handle("t", one, callers.who("t", one)) for one in ("ann", "anonymous-1")]
    assert callers.verify(handles[0]) is KEYED
    assert callers.verify(handles[1]) is ANONYMOUS


def test_nobody_makes_a_handle_who_does_not_know_the_secret() -> None:
    callers, hub = _callers()
    hub.there["t", "eve"] = Identity("eve", ())
    assert callers.verify("key") is KEYED
    forged: Any
    for forged in ("t\neve", "\nt\neve", "secret", "secrett\neve", ""):
        assert callers.verify(forged) == "unknown"


def test_before_anybody_is_there_every_handle_is_gone() -> None:
    callers, _ = _callers()
    assert callers.verify(callers.handle("t", "eve", callers.who("t", "eve"))) == "gone"
