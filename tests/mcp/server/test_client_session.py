"""One host: what it wants to hear of, what runs for it, and that nothing outlives it."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.call import Answer, Client, Failure, Question, Refusal
from gatewright.mcp.protocol import mcp_server as mcp
from gatewright.mcp.protocol.client_params import Notice
from gatewright.mcp.protocol.mcp_server import Cancelled, Inbound
from gatewright.mcp.protocol.outcomes import Spelled
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.pending_input import PendingInputs
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.codes import recovery
from tests.dialects.client import modern, rpc, within
from tests.dialects.house import ANN, MGP_OFFER, House, text
from tests.dialects.steps import CALL, Hang


class Kept:
    """A `Reply` that keeps what it is given."""

    behind = 0
    whole = None

    def __init__(self) -> None:
        self.events: list[Any] = []
        self.answers: list[Spelled] = []
        self.abandoned: list[bytes] = []

    def event(self, frame: bytes) -> bool:
        self.events.append(jsonrpc.decode(frame))
        return True

    def recall(self, frame: bytes) -> None:
        self.events.append(jsonrpc.decode(frame))

    def reconnect(self, retry_ms: int) -> None:
        self.events.append(retry_ms)

    def say(self, ident: bytes, result: bytes) -> bool:
        return False

    async def finish(self, ident: bytes, spelled: Spelled) -> None:
        self.answers.append(spelled)

    async def abandon(self, ident: bytes, why: object = None) -> None:
        self.abandoned.append(ident)


SPEAKS = Client("2025-11-25")
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}}


def peer_of(house: House, said: list[bytes] | None = None) -> ClientSession:
    return ClientSession(
        house.front,
        PendingInputs(house.front),
        ANN,
        door="test",
        credential=None,
        profile="",
        session="s",
        send=lambda frame, _: None if said is None else said.append(frame),
    )


def effect_of(peer: ClientSession, data: bytes) -> Any:
    return peer.conversation.receive(jsonrpc.parse(data))


async def test_a_host_subscribes_to_so_many_resources_and_no_more() -> None:
    async with House(subscriptions=2) as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        session = await house.session()

        async def subscribe(uri: str) -> Any:
            return (await session.ask("resources/subscribe", {"uri": uri})).get("error")

        assert [await subscribe(uri) for uri in ("a", "b", "a")] == [None, None, None]
        assert (await subscribe("c"))["code"] == -32602
        await session.ask("resources/unsubscribe", {"uri": "a"})
        assert await subscribe("c") is None


async def test_an_end_of_a_subscription_that_is_given_up_frees_no_room() -> None:
    async with House(subscriptions=1) as house:
        house.script.does("resources/subscribe", Answer(b"{}"))
        house.script.does("resources/unsubscribe", Answer(b"{}"))
        peer, reply = peer_of(house), Kept()
        await peer.serve(effect_of(peer, rpc("initialize", HELLO)), reply)

        async def put(method: str, uri: str, ident: int, *, given_up: bool = False) -> str:
            running = peer.serve(effect_of(peer, rpc(method, {"uri": uri}, ident)), reply)
            if given_up:
                peer.take(Cancelled(str(ident).encode()))
            await running
            return str(reply.answers[-1])

        await put("resources/subscribe", "a", 2)
        await put("resources/unsubscribe", "a", 3, given_up=True)
        assert [call.method for call in house.script.calls] == ["resources/subscribe"]
        assert "at most 1" in await put("resources/subscribe", "b", 4)
        await put("resources/unsubscribe", "a", 5)
        await put("resources/subscribe", "b", 6)
        assert [call.params["uri"] for call in house.script.calls] == ["a", "a", "b"]


@pytest.mark.parametrize("refusal", [Refusal("access_denied", "no"), Failure("not_found", "no")])
async def test_a_subscription_that_was_refused_does_not_count_and_is_not_heard_of(
    refusal: Any,
) -> None:
    async with House(subscriptions=1) as house:
        house.script.does("resources/subscribe", refusal)
        session = await house.session()
        for uri in ("a", "b"):
            refused = await session.ask("resources/subscribe", {"uri": uri})
            assert refused["error"]["code"] in (-32000, -32602)
        stream = session.get()
        house.upstream.tell("notifications/resources/updated", {"uri": "a"})
        house.upstream.tell("notifications/tools/list_changed")
        assert (await stream.message())["method"] == "notifications/tools/list_changed"


async def test_who_asks_again_for_what_it_has_and_is_refused_has_it_still() -> None:
    async with House() as house:
        session = await house.session()
        for outcome in (Answer(b"{}"), Failure("rate_limited", "later")):
            house.script.does("resources/subscribe", outcome)
            await session.ask("resources/subscribe", {"uri": "a"})
        stream = session.get()
        house.upstream.tell("notifications/resources/updated", {"uri": "a"})
        assert (await stream.message())["params"] == {"uri": "a"}


async def test_a_host_hears_log_lines_from_its_level_on() -> None:
    async with House() as house:
        house.script.does("logging/setLevel", Answer(b"{}"))
        session = await house.session()
        await session.ask("logging/setLevel", {"level": "warning"})
        for level in ("info", "error"):
            house.upstream.tell("notifications/message", {"level": level, "data": 1})
        assert (await session.get().message())["params"] == {"level": "error", "data": 1}


async def test_a_host_hears_of_mgp_only_what_it_negotiated() -> None:
    """MGP-1.3-2 and MGP-1.2-2."""
    async with House() as house:
        streaming = {"mgp": {"version": "0.2.0", "extensions": ["streaming"]}}
        heard = []
        sessions = [
            await house.session(capabilities=one) for one in ({}, streaming, {"mgp": MGP_OFFER})
        ]
        house.upstream.tell("notifications/mgp.audit", {"n": 1})
        house.upstream.tell("notifications/end")
        for session in sessions:
            stream = session.get()
            first = await stream.message()
            heard.append(first["method"])
        audit = "notifications/mgp.audit"
        assert heard == ["notifications/end", "notifications/end", audit]


async def test_before_the_handshake_a_host_hears_nothing() -> None:
    async with House() as house:
        said: list[bytes] = []
        peer = peer_of(house, said)
        effect = effect_of(peer, modern("server/discover").body)
        await within(peer.serve(effect, Kept()))
        assert house.upstream.watching == {}
        peer.close()


async def test_an_error_helps_on_an_mgp_connection_wherever_it_comes_from() -> None:
    """MGP-14.4-1."""
    async with House() as house:
        session = await house.session(capabilities={"mgp": MGP_OFFER})
        named = await session.ask("tools/call", {"name": 5})
        unknown = await session.ask("no/such/method")
        level = await session.ask("logging/setLevel", {"level": "loud"})
        broken = (await session.send(b"{}")).json
        helps = [
            one["error"]["data"]["_mgp"]["category"] for one in (named, unknown, level, broken)
        ]
        assert helps == ["validation"] * 4
        offered = {"mgp": MGP_OFFER}
        gone = await house.modern("ping", capabilities=offered)
        missing = await house.modern("tools/call", {"name": 5}, capabilities=offered)
        state = {**CALL, "requestState": "forged"}
        forged = await house.modern("tools/call", state, capabilities=offered)
        for answered, reason in (
            (gone, "method_not_found"),
            (missing, "invalid_params"),
            (forged, "invalid_params"),
        ):
            said = {"reason": reason, "_mgp": recovery(reason)}
            assert answered.json["error"]["data"] == said


async def test_who_knows_nothing_of_mgp_sees_nothing_of_it_in_an_error() -> None:
    """MGP-1.1-1."""
    async with House() as house:
        session = await house.session()
        bodies = [
            await session.ask("tools/call", {"name": 5}),
            await session.ask("no/such/method"),
            (await house.modern("ping")).json,
            (await house.modern("tools/call", {"name": 5})).json,
        ]
        assert not any("_mgp" in str(body) for body in bodies)


async def test_a_session_is_known_while_it_lasts() -> None:
    async with House() as house:
        peer = peer_of(house)
        await within(peer.serve(effect_of(peer, rpc("initialize", HELLO, 1)), Kept()))
        assert house.front.owners == {"s": ("agent", "ann")}
        assert len(house.upstream.watching) == 1
        peer.close()
        peer.close()
        assert (house.front.owners, house.upstream.watching) == ({}, {})
        assert house.upstream.forgotten == ["s", "s"]


async def test_a_request_that_begins_to_run_late_can_be_cancelled_before() -> None:
    async with House() as house:
        house.script.does("echo", text("never"))
        peer, reply = peer_of(house), Kept()
        work = peer.serve(effect_of(peer, rpc("tools/call", CALL, "x")), reply)
        assert peer.busy
        assert peer.take(Cancelled(b'"x"'))
        await within(work)
        assert (reply.answers, reply.abandoned) == ([], [b'"x"'])
        assert (house.script.calls, peer.busy) == ([], False)
        peer.close()


async def test_a_task_that_others_cancel_does_not_pretend_to_have_ended() -> None:
    async with House() as house:
        house.script.does("echo", hang := Hang())
        peer, reply = peer_of(house), Kept()
        effect = effect_of(peer, rpc("tools/call", CALL, 1))
        task = asyncio.create_task(peer.serve(effect, reply))
        await within(hang.began.wait())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await within(task)
        assert (reply.answers, reply.abandoned, peer.busy) == ([], [], False)
        peer.close()


async def test_what_needs_no_answer_is_done_at_once() -> None:
    async with House() as house:
        peer = peer_of(house)
        assert peer.take(Notice("notifications/x", {"n": 1}, SPEAKS))
        assert peer.take(Notice("notifications/progress", {"progressToken": "gw-1"}, SPEAKS))
        assert peer.take(mcp.Answered(b'"nobody"', b"{}"))
        assert not peer.take(mcp.Reply(b"1", b"{}"))
        await house.quiet()
        (call,) = house.script.calls
        told = call.caller.id, call.method, call.params, call.client
        assert told == ("ann", "notifications/x", {"n": 1}, SPEAKS)
        peer.close()


async def test_only_who_was_sent_to_a_page_hears_that_it_is_done() -> None:
    async with House() as house:
        said: list[bytes] = []
        peer = peer_of(house, said)
        peer.conversation.assume("2025-11-25")
        params = {"mode": "url", "elicitationId": "e1"}
        peer.asked(Question("elicitation/create", params, server="srv"))
        for server, ident in (("srv", "e2"), ("other", "e1"), ("srv", None), ("srv", "e1")):
            told = {} if ident is None else {"elicitationId": ident}
            peer._changed(server, "notifications/elicitation/complete", told)
        assert [jsonrpc.decode(one)["params"] for one in said] == [{"elicitationId": "e1"}]
        peer._changed("srv", "notifications/subscriptions/acknowledged", {})
        assert len(said) == 1
        peer.close()


async def test_who_was_sent_to_a_page_by_an_error_hears_that_it_is_done() -> None:
    error = (
        b'{"code":-32042,"message":"open it","data":{"elicitations":[{"elicitationId":"srv/e"}]}}'
    )
    async with House() as house:
        house.script.does("echo", Failure("upstream_error", error=error))
        said: list[bytes] = []
        peer, reply = peer_of(house, said), Kept()
        peer.conversation.assume("2025-11-25")
        await within(peer.serve(effect_of(peer, rpc("tools/call", CALL, "x")), reply))
        for server, ident in (("other", "srv/e"), ("srv", "srv/f"), ("srv", "srv/e")):
            peer._changed(server, "notifications/elicitation/complete", {"elicitationId": ident})
        assert [jsonrpc.decode(one)["params"] for one in said] == [{"elicitationId": "srv/e"}]
        peer.close()


async def test_progress_goes_to_whoever_asked_and_only_while_it_asks() -> None:
    async with House() as house:
        peer = peer_of(house)
        told: list[Any] = []
        peer.hearing["gw-1"] = told.append, peer.shown
        for token in ("gw-1", "gw-2", 1, None):
            params = {"progressToken": token, "progress": 1}
            assert peer.take(Notice("notifications/progress", params, SPEAKS))
        assert told == [{"progressToken": "gw-1", "progress": 1}]
        await house.quiet()
        assert house.script.calls == []
        peer.close()


async def test_a_handshake_that_breaks_is_answered(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: Any) -> Any:
        raise RuntimeError("broken on purpose")

    async with House() as house:
        monkeypatch.setattr(house.upstream, "describe", broken)
        for sent in (rpc("initialize", HELLO, 4), modern("server/discover", ident=4)):
            answered = await house.post(sent)
            assert (answered.status, answered.json["id"]) == (500, 4)
            assert answered.json["error"]["code"] == -32603
        assert len(caplog.records) == 2


async def test_the_capabilities_of_each_request_reach_its_owner() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        all_: list[dict[str, Any]] = [{}, {"sampling": {}}, {"elicitation": {"x": 2**60}}]
        for capabilities in all_:
            await house.modern("tools/call", CALL, capabilities=capabilities)
            call = house.script.calls[-1]
            assert call.client.capabilities == capabilities
        session = await house.session(capabilities={"roots": {}})
        await session.ask("tools/call", CALL)
        assert house.script.calls[-1].client.capabilities == {"roots": {}}


async def test_a_broken_answer_of_a_server_ends_its_call_alone() -> None:
    """MGP-14.2-1: what breaks in the gateway is -32603, here and in the handshake above."""
    async with House() as house:
        peer, reply = peer_of(house), Kept()
        house.script.does("echo", Answer(b"{broken", modern=True))
        effect = effect_of(peer, rpc("tools/call", CALL, 1))
        assert isinstance(effect, Inbound)
        await within(peer.serve(effect, reply))
        assert jsonrpc.decode(reply.answers[0].error)["code"] == -32603
        peer.close()


async def test_servers_are_waited_for_until_all_have_started_and_never_again() -> None:
    async with House() as house:
        asked: list[bool] = []

        async def settled() -> bool:
            asked.append(len(asked) == 2)
            return asked[-1]

        house.upstream.settled = settled  # type: ignore[method-assign]
        for _ in range(5):
            reply = Kept()
            await peer_of(house).serve(effect_of(peer_of(house), rpc("tools/call", CALL, 1)), reply)
            assert len(reply.answers) == 1
        assert asked == [False, False, True]


async def test_who_waits_for_servers_to_start_can_be_cancelled() -> None:
    async with House() as house:
        waiting = asyncio.Event()

        async def settled() -> bool:
            waiting.set()
            await asyncio.sleep(60)
            return True

        house.upstream.settled = settled  # type: ignore[method-assign]
        peer, reply = peer_of(house), Kept()
        served = asyncio.create_task(peer.serve(effect_of(peer, rpc("tools/call", CALL, 1)), reply))
        await within(waiting.wait())
        peer.take(Cancelled(b"1"))
        await within(served)
        assert (reply.abandoned, reply.answers, peer.busy) == ([b"1"], [], False)
        assert house.script.calls == []
