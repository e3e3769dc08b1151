"""`subscriptions/listen`: what was asked for, marked with the request, until it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.mcp.server import listening
from gatewright.mcp.wire.headers_and_meta import META_SUBSCRIPTION
from tests.dialects.client import Wire, modern, within
from tests.dialects.house import MGP_OFFER, House, text
from tests.dialects.steps import CALL, JSON_ONLY, Hang
from tests.mcp.server.test_client_session import Kept, effect_of, peer_of

LISTS = {
    "toolsListChanged": "notifications/tools/list_changed",
    "promptsListChanged": "notifications/prompts/list_changed",
    "resourcesListChanged": "notifications/resources/list_changed",
}


def listen(house: House, wanted: Any, *, ident: Any = 1, **options: Any) -> Wire:
    sent = modern("subscriptions/listen", {"notifications": wanted}, ident=ident)
    return house.open(sent, **options)


def told(method: str, ident: Any = 1, **params: Any) -> dict[str, Any]:
    full = {**params, "_meta": {META_SUBSCRIPTION: ident}}
    return {"jsonrpc": "2.0", "method": method, "params": full}


def acknowledged(honoured: Any, ident: Any = 1) -> dict[str, Any]:
    return told("notifications/subscriptions/acknowledged", ident, notifications=honoured)


def grants(*uris: str) -> Callable[[Call, Back], Awaitable[Outcome]]:
    async def owner(call: Call, back: Back) -> Outcome:
        if call.params["uri"] in uris:
            return Answer(b"{}")
        return Refusal("access_denied", "not for you")

    return owner


@pytest.mark.parametrize("ident", [1, "sub-1", 2**60])
async def test_the_acknowledgement_comes_first_and_every_message_names_the_request(
    ident: Any,
) -> None:
    async with House() as house:
        wire = listen(house, {"toolsListChanged": True}, ident=ident)
        assert await wire.message() == acknowledged({"toolsListChanged": True}, ident)
        status, headers = await wire.head()
        assert (status, headers["content-type"]) == (200, "text/event-stream")
        house.upstream.tell(LISTS["toolsListChanged"])
        assert await wire.message() == told(LISTS["toolsListChanged"], ident)


@pytest.mark.parametrize("wanted", list(LISTS))
async def test_only_what_was_asked_for_is_told(wanted: str) -> None:
    async with House() as house:
        wire = listen(
            house, {wanted: True, "other": True, "promptsListChanged": None} | {wanted: True}
        )
        assert await wire.message() == acknowledged({wanted: True})
        for method in (*LISTS.values(), "notifications/message", "notifications/mgp.audit"):
            house.upstream.tell(method, {"level": "info"})
        house.upstream.tell("notifications/resources/updated", {"uri": "u"})
        house.upstream.tell(LISTS[wanted], {"_meta": {"x": 1}})
        assert (await wire.message())["method"] == LISTS[wanted]
        last = await wire.message()
        assert last["params"]["_meta"] == {"x": 1, META_SUBSCRIPTION: 1}


async def test_two_listeners_hear_under_their_own_names() -> None:
    async with House() as house:
        wires = [listen(house, {"toolsListChanged": True}, ident=ident) for ident in ("a", "b")]
        for wire in wires:
            await wire.message()
        house.upstream.tell(LISTS["toolsListChanged"])
        heard = [(await wire.message())["params"]["_meta"][META_SUBSCRIPTION] for wire in wires]
        assert heard == ["a", "b"]


async def test_resources_are_subscribed_to_through_policy_and_only_those_are_acknowledged() -> None:
    async with House() as house:
        house.script.does("resources/subscribe", grants("mine", "also"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        uris = ["mine", "theirs", "also", "mine"]
        wire = listen(house, {"resourceSubscriptions": uris, "toolsListChanged": True})
        honoured = {"toolsListChanged": True, "resourceSubscriptions": ["mine", "also"]}
        assert await wire.message() == acknowledged(honoured)
        for uri in ("theirs", "mine"):
            house.upstream.tell("notifications/resources/updated", {"uri": uri})
        assert await wire.message() == told("notifications/resources/updated", uri="mine")
        wire.leave()
        await within(wire.task)
        asked = [(call.method, call.params["uri"]) for call in house.script.calls]
        assert asked == [
            ("resources/subscribe", "mine"),
            ("resources/subscribe", "theirs"),
            ("resources/subscribe", "also"),
            ("resources/unsubscribe", "mine"),
            ("resources/unsubscribe", "also"),
        ]
        assert len(house.trails.ended) == 5


async def test_the_end_of_a_listening_is_told_also_where_no_gate_would_let_it_pass(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The credential, the grant or the session has gone, and what was subscribed to is given back all the same."""
    async with House() as house:
        forgotten: list[str] = []
        monkeypatch.setattr(house.upstream, "forget", forgotten.append)
        house.script.does("resources/subscribe", grants("u"))
        house.script.does("resources/unsubscribe", Refusal("access_denied", "no more"))
        wire = listen(house, {"resourceSubscriptions": ["u"]})
        assert await wire.message() == acknowledged({"resourceSubscriptions": ["u"]})
        wire.leave()
        await within(wire.task)
        assert forgotten == [call.listen for call in house.script.calls][:1]
        assert forgotten[0] is not None


async def test_a_listening_that_is_ended_twice_is_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second end comes while a server still thinks about the first."""
    hang = Hang()
    async with House() as house:
        forgotten: list[str] = []
        monkeypatch.setattr(house.upstream, "forget", forgotten.append)
        house.script.does("resources/subscribe", grants("u"))
        house.script.does("resources/unsubscribe", hang)
        peer = peer_of(house)
        asked = modern("subscriptions/listen", {"notifications": {"resourceSubscriptions": ["u"]}})
        reply = Kept()
        listens = asyncio.ensure_future(peer.serve(effect_of(peer, asked.body), reply))
        while not reply.events:
            await asyncio.sleep(0)
        peer.deaf()
        await within(hang.began.wait())
        listens.cancel()
        await asyncio.wait([listens])
        assert forgotten == [house.script.calls[0].listen]


async def test_a_server_that_does_not_answer_holds_no_acknowledgement_up(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def silent(call: Call, back: Back) -> Outcome:
        await asyncio.get_running_loop().create_future()
        return Answer(b"{}")

    monkeypatch.setattr(listening, "ACKNOWLEDGED_S", 0.01)
    async with House() as house:
        house.script.does("resources/subscribe", silent)
        wire = listen(house, {"resourceSubscriptions": ["u"], "toolsListChanged": True})
        assert await wire.message() == acknowledged({"toolsListChanged": True})
        assert house.script.cancelled == ["u"]


async def test_what_changes_before_the_acknowledgement_comes_after_it() -> None:
    async with House() as house:

        async def slow(call: Call, back: Back) -> Outcome:
            house.upstream.tell(LISTS["toolsListChanged"])
            house.upstream.tell("notifications/resources/updated", {"uri": "u"})
            house.upstream.tell("notifications/resources/updated", {"uri": "v"})
            return await grants("u")(call, back)

        house.script.does("resources/subscribe", slow)
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        wire = listen(house, {"toolsListChanged": True, "resourceSubscriptions": ["u"]})
        methods = [(await wire.message())["method"] for _ in range(3)]
        assert methods == [
            "notifications/subscriptions/acknowledged",
            LISTS["toolsListChanged"],
            "notifications/resources/updated",
        ]


@pytest.mark.parametrize(
    "wanted",
    [
        None,
        [],
        "all",
        {"resourceSubscriptions": "u"},
        {"resourceSubscriptions": [1]},
        {"resourceSubscriptions": [f"u{n}" for n in range(101)]},
    ],
)
async def test_a_filter_that_cannot_be_honoured_is_refused(wanted: Any) -> None:
    async with House() as house:
        answered = await listen(house, wanted, ident=6).whole()
        assert (answered.status, answered.json["id"]) == (400, 6)
        assert answered.json["error"]["code"] == -32602
        assert house.front.listening == {}


async def test_who_reads_no_streams_cannot_listen() -> None:
    async with House() as house:
        answered = await listen(house, {"toolsListChanged": True}, headers=JSON_ONLY).whole()
        assert (answered.status, answered.json["id"]) == (406, 1)


async def test_twenty_listeners_that_vanish_leave_nothing_behind() -> None:
    async with House() as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        wanted = {"toolsListChanged": True, "resourceSubscriptions": ["u"]}
        wires = [listen(house, wanted, ident=n) for n in range(20)]
        for wire in wires:
            await wire.message()
        assert len(house.upstream.watching) == 20
        for wire in wires:
            wire.leave()
        await house.quiet()
        assert (house.upstream.watching, house.front.listening) == ({}, {})
        ends = [call.method for call in house.script.calls].count("resources/unsubscribe")
        assert ends == 20


async def test_a_listener_that_vanishes_before_the_acknowledgement_leaves_nothing_behind() -> None:
    async def silent(call: Call, back: Back) -> Outcome:
        await asyncio.get_running_loop().create_future()
        return Answer(b"{}")

    async with House() as house:
        house.script.does("resources/subscribe", silent)
        wire = listen(house, {"resourceSubscriptions": ["u"]})
        await house.began()
        wire.leave()
        await within(wire.task)
        await house.quiet()
        assert (house.upstream.watching, house.script.cancelled) == ({}, ["u"])


async def test_the_gateway_says_goodbye_to_who_listens() -> None:
    async with House() as house:
        wire = listen(house, {"toolsListChanged": True}, ident="s")
        await wire.message()
        await house.app.close()
        assert await wire.message() == {
            "jsonrpc": "2.0",
            "id": "s",
            "result": {"resultType": "complete", "_meta": {META_SUBSCRIPTION: "s"}},
        }
        with pytest.raises(EOFError):
            await wire.event()


async def test_one_caller_listens_only_so_often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listening, "LISTENS_EACH", 2)
    async with House() as house:
        wires = [listen(house, {}, key="key-ann") for _ in range(2)]
        for wire in wires:
            assert await wire.message() == acknowledged({})
        busy = await listen(house, {}, key="key-ann").whole()
        assert busy.json["error"]["code"] == 3001
        assert await listen(house, {}, key="key-bob").message() == acknowledged({})
        wires[0].leave()
        await within(wires[0].task)
        assert await listen(house, {}, key="key-ann").message() == acknowledged({})


async def test_calls_go_on_beside_a_listener() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        wire = listen(house, {"toolsListChanged": True})
        await wire.message()
        assert (await house.modern("tools/call", CALL)).status == 200


async def test_legacy_has_no_such_request() -> None:
    async with House() as house:
        session = await house.session()
        answered = await session.ask("subscriptions/listen", {"notifications": {}})
        assert answered["error"]["code"] == -32601
        assert house.script.calls == []


AUDIT = {"dev.cloto/audit": True}


def audited(house: House, wanted: Any, **options: Any) -> Wire:
    able = {"mgp": MGP_OFFER}
    sent = modern("subscriptions/listen", {"notifications": wanted}, capabilities=able)
    return house.open(sent, **options)


async def test_what_is_recorded_is_told_to_those_who_may_ask_for_it() -> None:
    """MGP-6.3-1: who negotiated `audit` and asked; a stock client's member of that name means nothing."""
    async with House() as house:
        wires = [audited(house, AUDIT), audited(house, {"toolsListChanged": True})]
        wires.append(listen(house, AUDIT | {"toolsListChanged": True}))
        honoured = [(await wire.message())["params"]["notifications"] for wire in wires]
        assert honoured == [AUDIT, {"toolsListChanged": True}, {"toolsListChanged": True}]
        assert house.upstream.audits == [True, False, False]
        house.upstream.tell("notifications/mgp.audit", {"result": "SUCCESS"})
        house.upstream.tell(LISTS["toolsListChanged"])
        assert await wires[0].message() == told("notifications/mgp.audit", result="SUCCESS")
        for wire in wires[1:]:
            assert await wire.message() == told(LISTS["toolsListChanged"])


async def test_whose_credential_is_good_no_more_hears_why_and_nothing_else() -> None:
    async with House() as house:
        ann, bob = (
            audited(house, AUDIT | {"toolsListChanged": True}, key=f"key-{name}")
            for name in ("ann", "bob")
        )
        for wire in (ann, bob):
            await wire.message()
        house.gone.add("key-ann")
        for _ in range(2):
            house.upstream.tell(LISTS["toolsListChanged"])
        ended = await ann.message()
        assert (ended["id"], ended["error"]["data"]["reason"]) == (1, "auth_failed")
        with pytest.raises(EOFError):
            await ann.event()
        assert await bob.message() == told(LISTS["toolsListChanged"])
        await within(ann.task)
        assert list(house.front.listening) == [("agent", "bob")]


async def test_many_resources_are_asked_for_a_few_at_a_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """So that nobody else waits while hundreds of calls are begun; the rest is asked for when these are answered."""
    monkeypatch.setattr(listening, "STEP_S", 10.0)
    running = most = 0

    async def owner(call: Call, back: Back) -> Outcome:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return Answer(b"{}")

    uris = [f"u{number}" for number in range(50)]
    async with House() as house:
        house.script.does("resources/subscribe", owner)
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        wire = listen(house, {"resourceSubscriptions": uris})
        assert await wire.message() == acknowledged({"resourceSubscriptions": uris})
        assert 1 < most <= listening.A_STEP


async def test_a_server_that_does_not_answer_keeps_no_other_resource_waiting() -> None:
    silent = [f"silent{number}" for number in range(3 * listening.A_STEP)]

    async def owner(call: Call, back: Back) -> Outcome:
        if call.params["uri"] in silent:
            await asyncio.Event().wait()
        return Answer(b"{}")

    async with House() as house:
        house.script.does("resources/subscribe", owner)
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        wire = listen(house, {"resourceSubscriptions": [*silent, "mine"]})
        assert await wire.message() == acknowledged({"resourceSubscriptions": ["mine"]})


async def test_what_is_said_again_before_the_acknowledgement_is_told_once() -> None:
    async with House() as house:

        async def slow(call: Call, back: Back) -> Outcome:
            for _ in range(5000):
                house.upstream.tell(LISTS["toolsListChanged"])
                house.upstream.tell("notifications/resources/updated", {"uri": "u"})
            return await grants("u")(call, back)

        house.script.does("resources/subscribe", slow)
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        wire = listen(house, {"toolsListChanged": True, "resourceSubscriptions": ["u"]})
        methods = [(await wire.message())["method"] for _ in range(3)]
        house.upstream.tell(LISTS["toolsListChanged"], {"x": 1})
        last = (await wire.message())["params"]
        assert methods[1:] == [LISTS["toolsListChanged"], "notifications/resources/updated"]
        assert last["x"] == 1


def test_of_records_so_many_are_remembered_and_no_more() -> None:
    early: dict[Any, Any] = {}
    for number in range(3000):
        listening.Listening._keep(early, "notifications/mgp.audit", {"n": number})
        listening.Listening._keep(
            early, "notifications/resources/updated", {"uri": f"u{number % 7}"}
        )
    assert len(early) == 1000
    assert [said["n"] for method, said in early.values() if "audit" in method][:2] == [0, 1]
