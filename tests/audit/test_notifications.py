"""What is recorded, told to clients: each hears of itself, operators of everything, and nothing is done while nobody listens."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.audit.notifications import witness
from gatewright.audit.records import GATEWAY, Actor, Record, Subject
from gatewright.call import Caller
from gatewright.listeners import Signal
from gatewright.servers.listener import Listener
from gatewright.servers.notifications import ServerNotifications

ANN, BOB, OLGA = Caller("ann"), Caller("bob"), Caller("olga", "operator")
ANYBODY = Caller("anonymous", "anonymous")


class Trail:
    """As much of a record as a witness needs."""

    def __init__(self) -> None:
        self.heard: Signal[bytes] = Signal()

    def write(self, actor: Actor, event: str = "TOOL_EXECUTED", **more: Any) -> None:
        record = Record(
            "id",
            "2026-01-01T00:00:00.000Z",
            event,
            "success",
            actor,
            Subject("srv", "add"),
            "t",
            **more,
        )
        self.heard.send(msgspec.json.encode(record))


class World:
    def __init__(self) -> None:
        self.trail, self.hub = Trail(), ServerNotifications(lambda *_: True)
        witness(self.trail, self.hub)  # type: ignore[arg-type]

    def listen(self, caller: Caller, session: str | None = None) -> list[dict[str, Any]]:
        heard: list[dict[str, Any]] = []
        take = lambda server, method, params: heard.append(params)  # noqa: E731
        self.end = self.hub.watch(Listener(caller, "", session, take, True))
        return heard


@pytest.fixture
def world() -> World:
    return World()


def test_everybody_hears_of_their_own_calls_and_operators_of_all(world: World) -> None:
    """MGP-6.3-1: timestamp, trace_id, event_type, actor, target, result, details."""
    ann, bob, olga = world.listen(ANN), world.listen(BOB), world.listen(OLGA)
    world.trail.write(Actor("agent", "ann"))
    assert ann == olga
    assert bob == []
    assert ann == [
        {
            "timestamp": "2026-01-01T00:00:00.000Z",
            "trace_id": "t",
            "event_type": "TOOL_EXECUTED",
            "actor": {"type": "agent", "id": "ann"},
            "target": {"server_id": "srv", "tool_name": "add"},
            "result": "SUCCESS",
            "details": {},
        }
    ]


def test_somebody_else_of_the_same_name_is_somebody_else(world: World) -> None:
    ann = world.listen(ANN)
    world.trail.write(Actor("operator", "ann"))
    assert ann == []


def test_nobody_without_a_name_hears_of_another_session(world: World) -> None:
    mine, other, none = (world.listen(ANYBODY, one) for one in ("s1", "s2", None))
    world.trail.write(Actor("anonymous", "anonymous"), session="s1")
    world.trail.write(Actor("anonymous", "anonymous"))
    assert (len(mine), other, none) == (1, [], [])


@pytest.mark.parametrize("agent", ["ann", "*"])
def test_who_is_given_something_or_loses_it_hears_of_it(world: World, agent: str) -> None:
    """MGP-6.4-6 and MGP-6.4-7"""
    ann, bob = world.listen(ANN), world.listen(BOB)
    for event in ("ACCESS_GRANTED", "ACCESS_REVOKED"):
        world.trail.write(Actor("operator", "olga"), event, details={"agent_id": agent})
    assert len(ann) == 2
    assert len(bob) == (2 if agent == "*" else 0)


def test_permissions_of_servers_are_told_to_operators(world: World) -> None:
    """MGP-6.4-3, MGP-6.4-4 and MGP-6.4-5"""
    ann, olga = world.listen(ANN), world.listen(OLGA)
    for event in ("PERMISSION_GRANTED", "PERMISSION_DENIED", "PERMISSION_REVOKED"):
        world.trail.write(GATEWAY, event, details={"permission": "camera"})
    assert (ann, len(olga)) == ([], 3)


def test_an_intent_is_not_told_and_a_broken_line_costs_nothing(world: World) -> None:
    olga = world.listen(OLGA)
    world.trail.write(Actor("agent", "ann"), "dev.gatewright.intent")
    world.trail.heard.send(b"{")
    assert olga == []


def test_nobody_asks_the_record_while_nobody_listens(world: World) -> None:
    asked = [bool(world.trail.heard.listeners)]
    world.listen(ANN)
    asked.append(bool(world.trail.heard.listeners))
    world.end()
    asked.append(bool(world.trail.heard.listeners))
    assert asked == [False, True, False]
