"""Who hears what servers say: everybody who listens and may see the server, nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Caller, Refusal, UserContext
from gatewright.mcp.wire.methods import EVENT
from gatewright.servers.listener import Listener
from gatewright.servers.notifications import AUDIT, UPDATED, ServerNotifications
from gatewright.servers.task_owners import place_of
from gatewright.transport.slices import whole

ANN, BOB = Caller("ann"), Caller("bob")
Heard = list[tuple[str, str, dict[str, Any]]]


def may_see(caller: Caller, profile: str, server: str) -> bool:
    return caller == ANN or (profile, server) == ("wide", "open")


def listening(hub: ServerNotifications, *args: Any, **more: Any) -> tuple[Heard, Any]:
    heard: Heard = []

    def take(server: str, method: str, params: dict[str, Any]) -> None:
        heard.append((server, method, params))

    return heard, hub.watch(Listener(args[0], args[1], more.pop("session", None), take, **more))


def test_a_notification_reaches_those_who_may_see_its_server() -> None:
    hub = ServerNotifications(may_see)
    ann, _ = listening(hub, ANN, "")
    bob, _ = listening(hub, BOB, "")
    wide, _ = listening(hub, BOB, "wide")
    hub.tell("open", "notifications/x", {"a": 1})
    hub.tell("secret", "notifications/y", {})
    told = ("open", "notifications/x", {"a": 1})
    assert ann == [told, ("secret", "notifications/y", {})]
    assert bob == []
    assert wide == [told]


def test_a_host_and_a_key_of_one_name_are_two() -> None:
    """The hosts of this machine have names, and so have keys; what the one may see is not asked for the other."""
    hub = ServerNotifications(lambda caller, profile, server: caller.kind == "owner")
    owner, _ = listening(hub, Caller("cursor", "owner"), "")
    agent, _ = listening(hub, Caller("cursor", "agent"), "")
    hub.tell("hidden", "notifications/x", {})
    assert owner == [("hidden", "notifications/x", {})]
    assert agent == []


def test_what_is_for_a_party_is_not_for_other_limits_that_carry_its_session() -> None:
    hub = ServerNotifications(lambda *_: True)
    limited = Caller("ann", user=(UserContext(resources=("/srv/**",)),))
    own, _ = listening(hub, ANN, "", session="s")
    less, _ = listening(hub, limited, "", session="s")
    other, _ = listening(hub, ANN, "", session="t")
    hub.tell("one", "notifications/message", {}, ANN.party("s"))
    assert (len(own), less, other) == (1, [], [])
    hub.tell(
        "one", "notifications/message", {}, "s"
    )  # on a connection of the session, of nobody in it
    assert (len(own), len(less), other) == (2, 1, [])


def test_the_end_of_listening_is_the_end_also_twice() -> None:
    hub = ServerNotifications(may_see)
    heard, end = listening(hub, ANN, "")
    end()
    end()
    hub.tell("open", "notifications/x", {})
    assert heard == []


def test_what_is_of_one_caller_is_for_that_caller_where_it_is_asked_about_alone() -> None:
    """Whatever else is asked of who listens says yes here."""
    hub = ServerNotifications(may_see)
    mine, _ = listening(hub, ANN, "", door="http")
    others = [
        listening(hub, caller, profile, door=door)[0]
        for caller, profile, door in (
            (BOB, "", "http"),
            (Caller("ann", "owner"), "", "http"),
            (ANN, "wide", "http"),
            (ANN, "", "stdio"),
        )
    ]
    owner = (*ANN.who, place_of(ANN, "http", "", None))
    hub.tell("open", "notifications/x", {}, owner=owner, sees=lambda caller, profile: True)
    assert (len(mine), others) == (1, [[], [], [], []])


def test_what_a_sessions_own_connection_says_is_for_that_session_alone() -> None:
    hub = ServerNotifications(may_see)
    mine, _ = listening(hub, ANN, "", session="s1")
    other, _ = listening(hub, ANN, "", session="s2")
    nobody, _ = listening(hub, ANN, "")
    hub.tell("open", "notifications/x", {}, session="s1")
    assert (len(mine), other, nobody) == (1, [], [])


def test_an_event_on_a_sessions_own_connection_is_nobodys() -> None:
    """MGP-13.3-1: others have the ids that a server gave out on the connection that all share."""
    hub = ServerNotifications(may_see)
    happened: list[Any] = []
    hub.happened.listen(happened.append)
    params = {"subscription_id": "sub-1", "channel": "model.x"}
    hub.tell("open", EVENT, params, session="s1")
    assert happened == []
    hub.tell("open", EVENT, params)
    assert happened == [("open", params)]


def test_a_changed_resource_is_told_by_every_name_that_was_granted_to_a_listener() -> None:
    names = {"s": {"x://a", "y://a"}, "listen 1": set[str]()}
    hub = ServerNotifications(
        lambda *_: True,
        names=lambda one, server, uri: names[str(one.holder)],
        holding=lambda *_: names,
    )
    plain, _ = listening(hub, ANN, "", holder="s")
    wide, _ = listening(hub, ANN, "wide", holder="listen 1")
    params = {"uri": "x://a", "vendor": None}
    hub.tell("open", UPDATED, params)
    hub.tell("open", UPDATED, {"uri": 7})
    assert plain == [
        ("open", UPDATED, {"uri": "x://a", "vendor": None}),
        ("open", UPDATED, {"uri": "y://a", "vendor": None}),
    ]
    assert wide == []
    assert params == {"uri": "x://a", "vendor": None}


def test_a_listener_that_breaks_costs_no_other(caplog: pytest.LogCaptureFixture) -> None:
    hub = ServerNotifications(may_see)

    def broken(server: str, method: str, params: dict[str, Any]) -> None:
        raise RuntimeError("broken")

    hub.watch(Listener(ANN, "", None, broken))
    heard, _ = listening(hub, ANN, "")
    hub.tell("open", "notifications/x", {})
    assert len(heard) == 1
    assert "failed to take notifications/x" in caplog.text


def test_a_change_of_what_somebody_sees_is_told_to_each_of_its_listeners_alone() -> None:
    hub = ServerNotifications(may_see)
    ann, _ = listening(hub, ANN, "")
    again, end = listening(hub, ANN, "")
    wide, _ = listening(hub, ANN, "wide")
    assert hub.audience() == [(ANN, ""), (ANN, "wide")]
    hub.tell_audience(ANN, "", ["notifications/x"])
    end()
    hub.tell_audience(ANN, "", ["notifications/y"])
    assert ann == [("", "notifications/x", {}), ("", "notifications/y", {})]
    assert again == [("", "notifications/x", {})]
    assert wide == []


def test_what_is_recorded_is_told_to_those_who_want_it_and_may_hear_it() -> None:
    """MGP-6.3-1"""
    hub = ServerNotifications(may_see)
    turns: list[bool] = []
    hub.auditing.listen(turns.append)
    plain, _ = listening(hub, ANN, "")
    ann, end = listening(hub, ANN, "", session="s1", audit=True)
    bob, other = listening(hub, BOB, "", audit=True)
    hub.tell_audit({"n": 1}, lambda caller, session: (caller, session) == (ANN, "s1"))
    assert (plain, ann, bob) == ([], [("", AUDIT, {"n": 1})], [])
    end()
    end()
    assert turns == [True]
    other()
    assert turns == [True, False]


def test_what_may_not_travel_at_all_is_told_to_nobody() -> None:
    hub = ServerNotifications(
        may_see, clean=lambda server, method, params: None if "bad" in params else params
    )
    heard, _ = listening(hub, ANN, "")
    hub.tell("open", "notifications/x", {"bad": 1})
    hub.tell("open", "notifications/x", {"good": 1})
    assert heard == [("open", "notifications/x", {"good": 1})]


def test_who_listens_hears_with_the_rights_that_it_has_now() -> None:
    """And hears nothing as somebody else, or as nobody."""
    narrow = Caller("ann", user=(UserContext(resources=("x://b",)),))
    now: list[Caller | Refusal] = [ANN]
    hub = ServerNotifications(
        lambda *_: True,
        lambda caller, server, uri: not caller.user,
        lambda *_: ["x://a"],
        holding=lambda *_: ["s"],
    )
    heard, _ = listening(hub, ANN, "", session="s", still=lambda: now[0])
    before = len(heard)
    for now[0], more in ((narrow, 0), (BOB, 0), (Refusal("auth_failed", "no"), 0), (ANN, 1)):
        hub.tell("open", UPDATED, {"uri": "x://a"})
        assert len(heard) == before + more


def test_what_two_with_one_name_may_see_is_asked_for_each_of_their_rights() -> None:
    """Two keys of one agent may have different ones."""
    narrow = Caller("ann", user=(UserContext(resources=("x://b",)),))
    hub = ServerNotifications(lambda caller, profile, server: not caller.user)
    wide, _ = listening(hub, ANN, "")
    less, _ = listening(hub, narrow, "")
    hub.tell("open", "notifications/x", {})
    assert (len(wide), len(less)) == (1, 0)


def test_who_was_given_other_rights_is_known_by_both_until_that_was_told() -> None:
    narrow = Caller("ann", user=(UserContext(resources=("x://b",)),))
    now = [ANN]
    hub = ServerNotifications(may_see)
    heard, _ = listening(hub, ANN, "", still=lambda: now[0])
    now[0] = narrow
    assert whole(hub.renewed()) == [(ANN, narrow, "")]
    assert whole(hub.renewed()) == [(narrow, narrow, "")]
    hub.tell_audience(narrow, "", ["notifications/x"])
    assert len(heard) == 1
