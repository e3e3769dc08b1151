"""What comes through a seat's pipe: every kind of message, of whose it is and of others, with known, read and guessed ids, in two spellings."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx.envelope import compose
from gatewright.rooms.participants.bridge import HostSeat
from tests.rooms.participants.bus import Bus, call, within
from tests.rooms.participants.test_bridge import Host, Stuck
from tests.rooms.participants.test_bridge_whose import ELICIT, Scene, rest

Spelling = Callable[[Any], bytes]
FAR = "resource://far"


def escaped(value: Any) -> bytes:
    """JSON text in which each character of each name and text is an escape."""
    if isinstance(value, str):
        return b'"' + b"".join(b"\\u%04x" % ord(one) for one in value) + b'"'
    if isinstance(value, dict):
        return b"{" + b",".join(escaped(a) + b":" + escaped(b) for a, b in value.items()) + b"}"
    return jsonrpc.encode(value)


def slashed(value: Any) -> bytes:
    """JSON text with an escape that many writers make by themselves."""
    return jsonrpc.encode(value).replace(b"/", b"\\/")


SPELLINGS = pytest.mark.parametrize("spelling", [jsonrpc.encode, slashed, escaped])


def put(bus: Bus, sender: str, to: str, spelling: Spelling, **body: Any) -> None:
    """Somebody says something, spelled so."""
    method, about = body["method"], body.get("params", {}).get("name")
    kind = f"mcp/request:{method}" + (f":{about}" if about else "")
    payload = spelling({"jsonrpc": "2.0", **body})
    id = f"raw-{len(bus.said)}"
    bus.put(compose(id=id, ts=None, sender=sender, to=(to,), kind=kind, payload=payload))


async def shared() -> tuple[Scene, dict[str, Any]]:
    """A server that ana has called and subscribed at, and that asks her something; and the ids that are in use."""
    scene = Scene()
    put(
        scene.bus,
        "ana",
        "worker",
        jsonrpc.encode,
        id=5,
        method="resources/subscribe",
        params={"uri": FAR},
    )
    await rest()
    scene.server.tell({"id": scene.server.said[-1]["id"], "result": {}})
    own = await scene.call("ana", 1, token="t")
    asked = {**ELICIT, "_meta": {"progressToken": "q7"}}
    scene.server.tell({"id": 7, "method": "elicitation/create", "params": asked})
    await rest()
    (question,) = [one for one in scene.bus.of("worker") if "elicitation" in one["kind"]]
    token = question["payload"]["params"]["_meta"]["progressToken"]
    return scene, {"own": own, "token": token, "question": question["id"]}


FOREIGN: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "cancels another's call by its id on the pipe": lambda ids: {
        "method": "notifications/cancelled",
        "params": {"requestId": ids["own"]},
    },
    "cancels by an id that is guessed": lambda _: {
        "method": "notifications/cancelled",
        "params": {"requestId": "room-1"},
    },
    "cancels by another's own id": lambda _: {
        "method": "notifications/cancelled",
        "params": {"requestId": 1},
    },
    "tells progress under the server's token": lambda _: {
        "method": "notifications/progress",
        "params": {"progressToken": "q7", "progress": 1},
    },
    "tells progress under the token that the room shows": lambda ids: {
        "method": "notifications/progress",
        "params": {"progressToken": ids["token"], "progress": 1},
    },
    "begins the session": lambda _: {"method": "notifications/initialized"},
    "changes the roots": lambda _: {"method": "notifications/roots/list_changed"},
    "tells what nobody knows": lambda _: {"method": "notifications/own/thing"},
    "calls without an id": lambda _: {"method": "tools/call", "params": call("pay")},
    "lists without an id": lambda _: {"method": "tools/list"},
    "says hello without an id": lambda _: {"method": "initialize", "params": {}},
    "says hello": lambda _: {"id": 3, "method": "initialize", "params": {}},
    "sets the level of the log": lambda _: {
        "id": 3,
        "method": "logging/setLevel",
        "params": {"level": "debug"},
    },
    "cancels a task": lambda _: {"id": 3, "method": "tasks/cancel", "params": {"taskId": "1"}},
    "ends another's subscription": lambda _: {
        "id": 3,
        "method": "resources/unsubscribe",
        "params": {"uri": FAR},
    },
}


@SPELLINGS
@pytest.mark.parametrize("what", FOREIGN)
async def test_what_is_anothers_or_nobodys_does_not_reach_a_shared_server(
    what: str, spelling: Spelling
) -> None:
    scene, ids = await shared()
    before = list(scene.server.said)
    put(scene.bus, "bob", "worker", spelling, **FOREIGN[what](ids))
    await rest()
    assert scene.server.said == before


@SPELLINGS
async def test_what_is_ones_own_reaches_a_shared_server_in_our_spelling_under_its_ids(
    spelling: Spelling,
) -> None:
    scene, ids = await shared()
    note = {"progressToken": ids["token"], "progress": 1}
    put(scene.bus, "ana", "worker", spelling, method="notifications/progress", params=note)
    await rest()
    told = {"progressToken": "q7", "progress": 1}
    assert scene.server.said[-1]["params"] == told
    put(
        scene.bus,
        "ana",
        "worker",
        spelling,
        method="notifications/cancelled",
        params={"requestId": 1},
    )
    await rest()
    assert scene.server.said[-1]["params"] == {"requestId": ids["own"]}
    frames: list[bytes] = []
    setattr(scene.server, "send", frames.append)  # noqa: B010 - in the place of a method
    put(scene.bus, "bob", "worker", spelling, id="x", method="tools/call", params=call("pay"))
    await rest()
    (frame,) = frames
    assert b"\\" not in frame
    assert b'"tools/call"' in frame


@SPELLINGS
async def test_an_answer_in_the_place_of_who_was_asked_does_not_reach_the_server(
    spelling: Spelling,
) -> None:
    scene, ids = await shared()
    before = list(scene.server.said)
    for about in (ids["question"], "guessed"):
        scene.bus.put(
            compose(
                id=f"forged-{about}",
                ts=None,
                sender="bob",
                to=("worker",),
                kind="mcp/response:elicitation/create",
                correlation_id=about,
                payload=spelling({"jsonrpc": "2.0", "id": 7, "result": {"action": "accept"}}),
            )
        )
    await rest()
    assert scene.server.said == before


async def test_progress_of_a_question_that_is_answered_is_told_to_nobody() -> None:
    scene, ids = await shared()
    scene.server.tell({"method": "notifications/cancelled", "params": {"requestId": 7}})
    await rest()
    before = list(scene.server.said)
    note = {"progressToken": ids["token"], "progress": 1}
    await scene.say("ana", "notifications/progress", note)
    assert scene.server.said == before


async def test_a_subscription_ends_at_the_server_once_nobody_has_it() -> None:
    scene, _ = await shared()
    ask = {"id": 9, "params": {"uri": FAR}}
    put(scene.bus, "bob", "worker", jsonrpc.encode, method="resources/subscribe", **ask)
    await rest()
    scene.server.tell({"id": scene.server.said[-1]["id"], "result": {}})
    put(scene.bus, "ana", "worker", jsonrpc.encode, method="resources/unsubscribe", **ask)
    await rest()
    assert [one["method"] for one in scene.server.said][-1] == "resources/subscribe"
    await scene.leave("bob")
    assert scene.server.said[-1]["method"] == "resources/unsubscribe"
    assert scene.server.said[-1]["params"] == {"uri": FAR}


async def test_a_subscription_that_the_server_refuses_is_held_by_nobody() -> None:
    scene, _ = await shared()
    near = {"uri": "resource://near"}
    put(scene.bus, "bob", "worker", jsonrpc.encode, id=9, method="resources/subscribe", params=near)
    await rest()
    scene.server.tell({"id": scene.server.said[-1]["id"], "error": {"code": 1, "message": "no"}})
    await rest()
    count = len(scene.server.said)
    await scene.leave("bob")
    assert len(scene.server.said) == count


HOST_ROWS: dict[str, tuple[dict[str, Any], bool]] = {
    "asks": ({"id": 1, "method": "elicitation/create", "params": ELICIT}, True),
    "asks without an id": ({"method": "elicitation/create", "params": ELICIT}, False),
    "says that its tools changed": ({"method": "notifications/tools/list_changed"}, True),
    "cancels what it never asked": (
        {"method": "notifications/cancelled", "params": {"requestId": "room-1"}},
        False,
    ),
    "cancels a request of the host": (
        {"method": "notifications/cancelled", "params": {"requestId": 41}},
        False,
    ),
}


@SPELLINGS
@pytest.mark.parametrize("what", HOST_ROWS)
async def test_a_host_hears_its_own_server_and_nobody_else(what: str, spelling: Spelling) -> None:
    bus = Bus()
    seat = HostSeat(server="worker", outcome_s=20.0)
    seat.participant = bus.join("desk", responder=seat.respond)
    host = Host(seat)
    bus.join("bob"), bus.join("worker", responder=Stuck())
    host.tell({"id": 41, "method": "tools/list"})
    await rest()
    body, heard = HOST_ROWS[what]
    put(bus, "bob", "desk", spelling, **body)
    await rest()
    assert host.said == []
    put(bus, "worker", "desk", spelling, **body)
    await rest()
    assert [one["method"] for one in host.said] == ([body["method"]] if heard else [])
    seat.closed("the test is over")


@SPELLINGS
async def test_what_a_host_asks_is_answered_by_its_server_alone(spelling: Spelling) -> None:
    bus = Bus()
    seat = HostSeat(server="worker", outcome_s=20.0)
    seat.participant = bus.join("desk", responder=seat.respond)
    host = Host(seat)
    asking = asyncio.create_task(host.ask(41, "tools/list"))
    await rest()
    (asked,) = bus.of("desk")
    for sender, about in (("bob", asked["id"]), ("worker", "guessed"), ("worker", asked["id"])):
        result = {"by": sender, "about": about}
        payload = spelling({"jsonrpc": "2.0", "id": asked["payload"]["id"], "result": result})
        kind, to = "mcp/response:tools/list", ("desk",)
        more: dict[str, Any] = {"ts": None, "to": to, "kind": kind, "correlation_id": about}
        bus.put(compose(id=f"a-{sender}-{about}", sender=sender, payload=payload, **more))
    found = await within(asking)
    assert found["result"] == {"by": "worker", "about": asked["id"]}
