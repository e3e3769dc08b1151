"""Legacy Streamable HTTP: who needs a session, and what a batch is."""

from __future__ import annotations

import pytest

from gatewright.call import Answer, Back, Call, Outcome, Refusal
from gatewright.mcp.wire.codes import REASONS
from gatewright.mcp.wire.versions import LEGACY
from tests.dialects.client import Sent, modern, rpc
from tests.dialects.house import House, text
from tests.dialects.steps import CALL, TOLD, progress, progressed


async def test_a_session_negotiates_each_legacy_revision() -> None:
    """MGP-2.1-1: the handshake is all there is before the first list."""
    async with House() as house:
        house.script.does("tools/list", Answer(b'{"tools":[]}'))
        for revision in LEGACY:
            session = await house.session(revision)
            assert session.hello["protocolVersion"] == revision
            assert (await session.ask("tools/list"))["result"] == {"tools": []}
        latest = await house.session("1999-01-01")
        assert latest.hello["protocolVersion"] == LEGACY[-1]


async def test_a_request_without_a_session_is_served_alone() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        answered = await house.post(rpc("tools/call", CALL, 5))
        assert (answered.status, answered.kind) == (200, "application/json")
        assert "mcp-session-id" not in answered.headers
        named = await house.post(
            rpc("tools/call", CALL, 5), headers={"mcp-protocol-version": "2025-06-18"}
        )
        assert named.status == 200
        revisions = [(call.session, call.client.revision) for call in house.script.calls]
        assert revisions == [(None, "2025-03-26"), (None, "2025-06-18")]


async def test_a_request_may_name_another_legacy_revision_than_was_negotiated() -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        session = await house.session("2025-11-25")
        headers = {"mcp-protocol-version": "2025-03-26"}
        assert "result" in await session.ask("tools/call", CALL, headers=headers)


async def test_empty_results_have_no_members_at_all() -> None:
    async with House() as house:
        house.script.does("logging/setLevel", Answer(b"{}"))
        session = await house.session()
        assert await session.ask("ping", ident=1) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        level = await session.ask("logging/setLevel", {"level": "info"}, ident=2)
        assert level == {"jsonrpc": "2.0", "id": 2, "result": {}}


async def test_modern_metadata_under_a_legacy_header_is_a_mismatch() -> None:
    async with House() as house:
        house.script.does("echo", text("never"))
        session = await house.session()
        sent = modern("tools/call", CALL, ident=4)
        answered = await session.send(sent.body)
        assert (answered.status, answered.json["id"]) == (400, 4)
        assert answered.json["error"]["code"] == -32020
        batch = await house.session("2025-03-26")
        both = await batch.send(b"[" + sent.body + b"]")
        assert both.json[0]["error"]["code"] == -32020
        assert house.script.calls == []


@pytest.mark.parametrize("reason", sorted(REASONS))
async def test_who_only_posts_json_gets_codes_of_json_rpc(reason: str) -> None:
    """CDM-con-7: whatever is refused, by whatever method. The reason itself stands in the data."""
    asked = {"tools/call": CALL, "resources/read": {"uri": "x:y"}, "prompts/get": {"name": "p"}, "tools/list": {}}  # fmt: skip
    async with House() as house:
        for method in asked:
            house.script.does(method, Refusal(reason, "no"))
        said = [(await house.post(rpc(*one, 5))).json for one in asked.items()]
    errors = [one["error"] for one in said if "error" in one]
    assert len(errors) >= 3
    assert {one["data"]["reason"] for one in errors} == {reason}
    specified = {-32700, *range(-32603, -32599), *range(-32099, -31999)}
    assert {one["code"] for one in errors} <= specified


# -- batches


async def test_a_batch_is_answered_in_one_piece_in_the_revision_that_has_them() -> None:
    async with House() as house:
        session = await house.session("2025-03-26")
        frames = [rpc("ping", None, "b"), rpc("notifications/x"), rpc("tools/call", CALL), b"7"]
        answered = await session.send(b" [" + b",".join(frames) + b"]")
        assert (answered.status, answered.kind) == (200, "application/json")
        by_id = {one["id"]: one for one in answered.json}
        assert sorted(by_id, key=str) == [None, "b"]
        assert by_id["b"] == {"jsonrpc": "2.0", "id": "b", "result": {}}
        assert by_id[None]["error"]["code"] == -32600
        (call,) = house.script.calls
        assert (call.caller.id, call.method, call.params) == ("anonymous", "notifications/x", {})


async def test_a_batch_that_asks_nothing_is_only_acknowledged() -> None:
    async with House() as house:
        session = await house.session("2025-03-26")
        answered = await session.send(b"[" + rpc("notifications/x") + b"]")
        assert (answered.status, answered.body) == (202, b"")
        alone = await house.post(b"[" + rpc("ping", None, 1) + b"]")
        assert alone.json == [{"jsonrpc": "2.0", "id": 1, "result": {}}]


@pytest.mark.parametrize("revision", [one for one in LEGACY if one != "2025-03-26"])
async def test_no_other_revision_has_batches(revision: str) -> None:
    async with House() as house:
        session = await house.session(revision)
        answered = await session.send(b"[" + rpc("ping", None, 1) + b"]")
        assert (answered.status, answered.json["error"]["code"]) == (400, -32600)
        modern_ = Sent(b"[" + modern("tools/list").body + b"]", modern("tools/list").headers)
        assert (await house.post(modern_)).status == 400


async def test_a_handshake_has_no_place_in_a_batch() -> None:
    async with House() as house:
        hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
        answered = await house.post(b"[" + rpc("initialize", hello, 1) + b"]")
        assert answered.json[0]["error"]["code"] == -32600
        assert len(house.app.streamable.sessions) == 0


async def test_a_batch_is_bounded_and_not_empty() -> None:
    async with House() as house:
        session = await house.session("2025-03-26")
        for body in (b"[]", b"[" + b",".join([rpc("ping", None, 1)] * 51) + b"]", b"[1,"):
            answered = await session.send(body)
            assert answered.status == 400
            assert answered.json["error"]["code"] in (-32600, -32700)


async def test_what_a_batched_call_says_meanwhile_goes_to_the_stream_of_the_session() -> None:
    async def tool(call: Call, back: Back) -> Outcome:
        back.emit(progress(1))
        return text("done")

    async with House() as house:
        house.script.does("echo", tool)
        session = await house.session("2025-03-26")
        answered = await session.send(b"[" + rpc("tools/call", TOLD, 1) + b"]")
        assert [one["id"] for one in answered.json] == [1]
        assert await session.get().message() == progressed(1)
