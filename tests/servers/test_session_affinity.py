"""Who gets a connection of their own, and who stays with the rest."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Call, Client
from gatewright.mcp.protocol.tasks import EXTENSION
from gatewright.servers.session_affinity import LEASES, SessionAffinity
from gatewright.servers.spec import ServerSpec

CAN: dict[str, Any] = {"elicitation": {}}


def call(session: str | None, can: dict[str, Any] | None = None) -> Call:
    return Call(
        id="c",
        door="http",
        kind="tool",
        method="tools/call",
        name="t",
        params={},
        caller=ANONYMOUS,
        client=Client("2025-11-25", CAN if can is None else can),
        trace_id="t",
        session=session,
    )


class Named(str):
    """A connection that has not been made yet."""

    __slots__ = ()
    link = None


class Rig:
    """Lanes over connections that are names only."""

    def __init__(self, share: Any = "auto") -> None:
        link = SimpleNamespace(asks=False, busy=False, haunted=False, wants_roots=False)
        main: Any = SimpleNamespace(link=link)
        self.main = main
        self.made: list[str] = []
        self.ended: set[str] = set()
        self.closed: list[Any] = []
        spec = ServerSpec(id="s", share=share)
        self.lanes: Any = SessionAffinity(
            spec, main, self.make, self.closed.append, lambda one: one not in self.ended
        )

    def make(self, key: str, call: Call | None) -> Any:
        self.made.append(key)
        return Named(key)

    def take(self, session: str | None, can: dict[str, Any] | None = None) -> Any:
        return self.lanes.take(call(session, can))


def test_everybody_shares_one_connection_to_a_server_that_never_asked() -> None:
    rig = Rig()
    assert [rig.take(one) for one in ("a", "b", None)] == [(rig.main, None)] * 3
    assert rig.made == []


def test_new_sessions_get_their_own_once_the_server_has_asked() -> None:
    rig = Rig()
    rig.take("old")
    rig.main.link.asks = True
    assert rig.take("new") == ("new", None)
    assert rig.take("new") == ("new", None)
    assert rig.take("old") == (rig.main, None)
    assert rig.made == ["new"]


def test_it_is_remembered_that_a_server_asks_when_its_connection_is_gone() -> None:
    rig = Rig()
    rig.main.link.asks = True
    rig.take("a")
    rig.main.link = None
    assert rig.take("b") == ("b", None)


def test_a_client_that_cannot_be_asked_needs_none() -> None:
    rig = Rig()
    rig.main.link.asks = True
    assert rig.take("a", {}) == (rig.main, None)
    assert rig.take(None, {}) == (rig.main, None)


def test_a_call_without_a_session_shares_while_nobody_else_is_at_work() -> None:
    rig = Rig()
    rig.main.link.asks = True
    assert rig.take(None) == (rig.main, None)


def test_a_call_without_a_session_has_one_for_as_long_as_it_runs_beside_others() -> None:
    rig = Rig()
    rig.main.link.asks = rig.main.link.busy = True
    first, lease = rig.take(None)
    second, other = rig.take(None)
    assert first != second
    rig.lanes.give_back(lease)
    assert rig.take(None) == (first, lease)
    assert rig.made == [lease, other]


@pytest.mark.parametrize("wants", [True, False])
@pytest.mark.parametrize("revision", ["2025-11-25", "2026-07-28"])
def test_a_call_without_a_session_that_takes_a_task_shares(revision: str, wants: bool) -> None:
    """Its task is asked for where everybody is served."""
    rig = Rig()
    rig.main.link.asks = rig.main.link.busy = True
    modern = revision == "2026-07-28"
    can = {**CAN, "extensions": {EXTENSION: {}}} if wants and modern else CAN
    params: dict[str, Any] = {"task": {}} if wants and not modern else {}
    asked = replace(call(None), client=Client(revision, can), params=params)
    keeper, lease = rig.lanes.take(asked)
    assert (keeper is rig.main, lease is None) == (wants, wants)


def test_beyond_so_many_the_rest_share() -> None:
    rig = Rig()
    rig.main.link.asks = rig.main.link.busy = True
    taken = [rig.take(None) for _ in range(LEASES + 1)]
    assert taken[-1] == (rig.main, None)
    assert len({lease for _, lease in taken}) == LEASES + 1


@pytest.mark.parametrize(("share", "own"), [("gateway", False), ("session", True)])
def test_the_operators_word_decides(share: str, own: bool) -> None:
    rig = Rig(share)
    rig.main.link.asks = True
    assert rig.take("a") == ("a" if own else rig.main, None)
    assert rig.take(None) == (rig.main, None)


def test_a_session_that_is_over_is_forgotten() -> None:
    rig = Rig("session")
    rig.take("a")
    assert rig.lanes.own("a") == "a"
    assert rig.lanes.drop("a") == "a"
    assert rig.lanes.own("a") is None
    assert rig.lanes.all() == []


def test_a_session_stays_with_the_rest_until_it_is_over() -> None:
    rig = Rig()
    rig.take("old")
    rig.main.link.asks = True
    assert rig.take("old") == (rig.main, None)
    rig.lanes.drop("old")
    assert rig.take("old") == ("old", None)
    assert rig.take("old") == ("old", None)


def test_a_server_that_wants_roots_gets_each_sessions_own_and_nobody_elses() -> None:
    """Who has no roots stays with all others, and a connection that callers have in turn keeps nobody's."""
    rig = Rig()
    rig.main.link.wants_roots = rig.main.link.busy = True
    assert rig.take("a", {"roots": {}}) == ("a", None)
    assert rig.take("b", {"sampling": {}}) == (rig.main, None)
    assert rig.take(None, {"roots": {}}) == (rig.main, None)
    rig.main.link.asks = True
    assert rig.take("c", {"sampling": {}}) == ("c", None)
    assert rig.take(None, {"roots": {}}) == ("lease 1", "lease 1")


@pytest.mark.parametrize("share", ["auto", "session"])
def test_nothing_is_made_for_a_session_that_has_ended(share: str) -> None:
    """Nor is it remembered as one that shares."""
    rig = Rig(share)
    rig.main.link.asks = True
    rig.take("a")
    rig.lanes.drop("a")
    rig.ended.add("a")
    for _ in range(2):
        assert rig.take("a").reason == "session_unknown"
        assert rig.take("a", {}).reason == "session_unknown"
    assert rig.made == ["a"]
    assert rig.lanes.over("a").reason == "session_unknown"
    assert rig.lanes.over("b") is None
    assert rig.lanes.over(None) is None


def test_nothing_is_made_by_a_server_that_was_stopped() -> None:
    rig = Rig("session")
    assert rig.take("a") == ("a", None)
    assert rig.lanes.close() == ["a"]
    for session in ("a", "b", None):
        assert rig.take(session).reason == "upstream_unavailable"
    assert rig.made == ["a"]


def test_calls_without_a_session_stay_where_nobody_can_be_asked() -> None:
    for share in ("auto", "gateway", "session"):
        rig = Rig(share)
        assert rig.lanes.stays(call(None))
        rig.main.link.asks = True
        assert rig.lanes.stays(call(None)) is (share != "auto")
        assert rig.lanes.stays(call(None, {}))


def test_calls_of_a_session_stay_where_it_was_served() -> None:
    rig = Rig()
    assert not rig.lanes.stays(call("a"))
    rig.take("a")
    assert rig.lanes.stays(call("a"))
