"""What a message asks for and how it is answered, around a kernel whose tools are scripted."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from gatewright.call import Answer, Back, Call, Caller, CannotAsk, Failure, Outcome, Refusal
from gatewright.mcp.wire import jsonrpc
from tests.dialects.client import SECONDS
from tests.dialects.groundhog.rig import Client, Rig
from tests.dialects.house import ANN, BOB, text

UNREADABLE = b'{"jsonrpc":"2.0","id":"1","method":"tools/list","params":{"a":"\\ud800"}}'
ECHO = {"tool_id": "echo", "parameters": {"n": 1}}


def structured(**found: Any) -> Answer:
    return Answer(jsonrpc.encode({"content": [], "structuredContent": found}))


async def test_an_invocation_becomes_a_call_of_the_kernel() -> None:
    """GRH-msg-3 and GRH-msg-6."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured(said=1))
        client = rig.client(ANN, "key-ann")
        response = await client.ask("tools/invoke", {**ECHO, "tool_version": None}, trace_id="t-1")
        (call,) = rig.house.script.calls
        assert (call.kind, call.method, call.name) == ("tool", "tools/call", "echo")
        assert (call.door, call.credential, call.caller) == ("groundhog", "key-ann", ANN)
        assert (call.arguments, call.trace_id, call.requested) == ({"n": 1}, "t-1", None)
        assert response == {
            "jsonrpc": "2.0",
            "id": "r1",
            "result": {
                "tool_id": "echo",
                "execution_id": f"exec-{call.id}",
                "status": "success",
                "data": {"said": 1},
                "security_context": {
                    "access_granted": True,
                    "permissions_used": [],
                    "audit_id": "t-1",
                },
            },
        }


async def test_permissions_that_were_used_are_said_in_groundhogs_words() -> None:
    """GRH-msg-6."""

    async def tool(call: Call, back: Back) -> Outcome:
        call.facts["permissions_used"] = ["filesystem.read", "com.example.own.thing"]
        return structured(ok=True)

    async with Rig() as rig:
        rig.house.script.does("echo", tool)
        result = await rig.client(ANN, "key-ann").result("tools/invoke", ECHO)
        used = result["security_context"]["permissions_used"]
        assert used == ["read:filesystem", "thing:com.example.own"]


async def test_what_a_tool_says_without_structure_is_its_content() -> None:
    async with Rig() as rig:
        rig.house.script.does("echo", text("hi"))
        result = await rig.client(ANN, "key-ann").result("tools/invoke", ECHO)
        assert result["data"] == {"content": [{"type": "text", "text": "hi"}]}


async def test_requested_permissions_travel_as_what_they_are() -> None:
    """GRH-sec-9: names of all dialects; what is none stays, and nobody holds it."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured())
        wanted = {"permissions": ["read:filesystem", "filesystem.write", "no such thing"]}
        await rig.client(ANN, "key-ann").result(
            "tools/invoke", {**ECHO, "security_context": wanted}
        )
        expected = frozenset({"filesystem.read", "filesystem.write", "no such thing"})
        assert rig.house.script.calls[0].requested == expected


@pytest.mark.parametrize("claim", [{"user_id": "bob"}, {"session_id": "of-bob"}])
async def test_who_claims_to_be_somebody_else_is_refused_by_the_kernel(claim: Any) -> None:
    """GRH-err-10 and GRH-test-3: recorded as every other call, and its tool never runs."""
    async with Rig() as rig:
        await rig.client(BOB, "key-bob").result("session/create", {"session_id": "of-bob"})
        client = rig.client(ANN, "key-ann")
        data = await client.data("tools/invoke", {**ECHO, "security_context": claim})
        assert (data["error_type"], data["error_code"]) == (
            "security_error",
            "invalid_security_context",
        )
        assert data["security_context"]["violation_type"] == "forged_context"
        assert rig.house.script.calls == []
        ((call, outcome),) = rig.house.trails.ended
        assert (call.caller, call.name) == (ANN, "echo")
        assert isinstance(outcome, Refusal)
        assert (outcome.reason, outcome.gate) == ("bad_security_context", "session")
        for method in ("session/get", "session/create", "tools/list", "tools/register"):
            told = await client.data(method, {"security_context": claim, **_SOME})
            assert told["error_code"] == "invalid_security_context", method


_SOME: dict[str, Any] = {"tool_metadata": {}, "security_profile": {}, "schema": {}}


async def test_what_cannot_be_recorded_is_not_answered_or_not_served() -> None:
    """GRH-err-11: fail closed."""
    async with Rig() as rig:
        rig.notes.room = False
        client = rig.client(None)
        client.begin("tools/list")
        await client.wait_closed()
        assert client.sent.empty()
        rig.notes.broken = True
        data = await rig.client(ANN, "key-ann").data("no/such")
        assert data["error_code"] == "audit_unavailable"


async def test_every_refused_request_is_noted_under_the_id_that_its_answer_says() -> None:
    """GRH-aud-6 and GRH-err-11."""
    async with Rig() as rig:
        client = rig.client(ANN, "key-ann")
        for method, params, reason in (
            ("no/such", {}, "method_not_found"),
            ("tools/invoke", {}, "invalid_params"),
            ("tools/list", {"protocol_version": "2"}, "unsupported_version"),
        ):
            data = await client.data(method, params)
            last = rig.notes.found[-1]
            assert (last.caller, last.method, last.outcome.reason) == (ANN, method, reason)
            assert data["security_context"]["audit_id"] == last.trace_id
        client.peer.message(b"{")
        answer = await client.next()
        assert answer["id"] is None
        said = answer["error"]["data"]["security_context"]["audit_id"]
        assert said == rig.notes.found[-1].trace_id


async def test_the_same_failure_is_told_to_four_users_in_four_depths() -> None:
    """GRH-err-12, GRH-err-13, GRH-err-14 and GRH-err-15."""
    async with Rig() as rig:
        details = {"requested_path": "/etc", "reason": "r", "suggestion": "s", "server": "inner"}
        rig.house.script.does("echo", Refusal("path_not_allowed", "no", details, gate="roots"))
        client = rig.client(ANN, "key-ann")
        found = {}
        for level in ("system", "verified", "community", "untrusted", "unheard of"):
            rig.trust["ann"] = level
            found[level] = await client.data("tools/invoke", ECHO)
        assert found["system"]["details"]["server"] == "inner"
        assert found["system"]["details"]["gate"] == "roots"
        told = {"requested_path": "/etc", "reason": "r", "suggestion": "s"}
        assert found["verified"]["details"] == told
        assert set(found["community"]) == {"error_type", "error_code", "error_message"}
        assert set(found["untrusted"]) == {"error_type", "error_code"}
        assert found["unheard of"] == found["untrusted"]
        sizes = [len(json.dumps(found[level])) for level in list(found)[:4]]
        assert sizes == sorted(sizes, reverse=True)
        assert len(set(sizes)) == 4


async def test_a_tool_that_failed_says_so_in_its_own_words() -> None:
    """GRH-err-1."""
    async with Rig() as rig:
        failed = {"content": [{"type": "text", "text": "no such ticket"}], "isError": True}
        rig.house.script.does("echo", Answer(jsonrpc.encode(failed), True))
        data = await rig.client(ANN, "key-ann").data("tools/invoke", ECHO)
        assert (data["error_code"], data["error_message"]) == ("execution_failed", "no such ticket")


async def test_a_path_that_a_gate_refused_is_said_as_it_was_asked_for() -> None:
    """GRH-msg-8."""
    async with Rig() as rig:
        rig.house.script.does("echo", Refusal("path_not_allowed", "no", {"path": "/where"}))
        params = {"tool_id": "echo", "parameters": {"where": "../x"}}
        data = await rig.client(ANN, "key-ann").data("tools/invoke", params)
        assert data["details"]["requested_path"] == "../x"


async def test_the_risk_of_the_arguments_is_in_the_record() -> None:
    """GRH-aud-5."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured())
        client = rig.client(ANN, "key-ann")
        await client.result("tools/invoke", ECHO)
        await client.result("tools/invoke", {"tool_id": "echo", "parameters": {"secret": 1}})
        plain, sensitive = (call.facts for call, _ in rig.house.trails.ended)
        assert "argument_risk" not in plain
        assert sensitive["argument_risk"] == "dangerous"


async def test_a_defect_of_ours_is_answered_without_telling_it() -> None:
    async with Rig() as rig:

        def broken(*given: Any) -> str:
            raise ZeroDivisionError("secret")

        names: Any = broken
        rig.parts.names = names
        data = await rig.client(ANN, "key-ann").data("tools/invoke", ECHO)
        assert (data["error_type"], data["error_code"]) == ("system_error", "internal")
        assert "secret" not in json.dumps(data)
        assert not any("retry" in one for one in data)  # nobody knows how far it came


async def test_a_client_that_leaves_ends_what_it_runs() -> None:
    async with Rig() as rig:
        forever = asyncio.Event()

        async def hang(call: Call, back: Back) -> Outcome:
            await forever.wait()
            return Failure("internal")

        rig.house.script.does("echo", hang)
        client = rig.client(ANN, "key-ann")
        client.begin("tools/invoke", ECHO)
        await rig.house.began()
        client.close()
        async with asyncio.timeout(SECONDS):
            while not rig.house.script.cancelled:
                await asyncio.sleep(0)
        assert rig.house.script.cancelled == ["echo"]


async def test_more_at_once_than_a_connection_may_is_refused() -> None:
    """GRH-test-6."""
    async with Rig(in_flight=2) as rig:
        forever = asyncio.Event()

        async def hang(call: Call, back: Back) -> Outcome:
            await forever.wait()
            return structured()

        rig.house.script.does("echo", hang)
        client = rig.client(ANN, "key-ann")
        for _ in range(3):
            client.begin("tools/invoke", ECHO)
        refused = await client.next()
        assert refused["id"] == "r3"
        assert refused["error"]["data"]["error_code"] == "resource_limit"
        forever.set()
        assert {(await client.next())["id"] for _ in range(2)} == {"r1", "r2"}


async def test_who_registers_can_be_asked_and_is_forgotten_when_it_leaves() -> None:
    async with Rig() as rig:
        rig.house.script.does("tools/register", structured(tool_id="t"))
        client = rig.client(ANN, "key-ann")
        assert await client.result("tools/register", dict(_SOME)) == {"tool_id": "t"}
        call = rig.house.script.calls[0]
        assert (call.kind, call.method, call.params) == ("method", "tools/register", _SOME)
        ((name, ask),) = rig.asks.items()
        assert call.facts == {"connection": name}
        asked = asyncio.create_task(ask("tools/invoke", {"tool_id": "t"}))
        question = await client.next()
        assert question["method"] == "tools/invoke"
        answer = {"jsonrpc": "2.0", "id": question["id"], "result": {"data": 7}}
        client.peer.message(json.dumps(answer).encode())
        assert await asyncio.wait_for(asked, SECONDS) == {"data": 7}
        client.close()
        await asyncio.sleep(0.01)
        assert rig.asks == {}


async def test_a_connection_is_one_provider_whatever_sessions_it_has() -> None:
    """GRH-reg-5: what it registers in another session is still asked over it."""
    async with Rig() as rig:
        rig.house.script.does("tools/register", structured(tool_id="t"))
        client = rig.client(ANN, "key-ann")
        await client.result("tools/register", dict(_SOME))
        await client.result("session/create")
        await client.result("tools/register", dict(_SOME))
        other = rig.client(ANN, "key-ann")
        await other.result("tools/register", dict(_SOME))
        facts = [call.facts["connection"] for call in rig.house.script.calls]
        assert facts[0] == facts[1] != facts[2]
        assert set(rig.asks) == set(facts)


async def test_a_connection_that_is_another_callers_now_answers_no_more_for_what_its_former_one_registered() -> (
    None
):
    """Nobody would end it when the key of whom the tool is was revoked. Another key of the same caller changes nothing."""
    async with Rig() as rig:
        rig.house.script.does("tools/register", structured(tool_id="t"))
        client = rig.client(ANN, "key-ann")
        await client.result("tools/register", dict(_SOME))
        ((name, ask),) = rig.asks.items()
        await client.result("session/create", {"token": "key-ann"})
        assert list(rig.asks) == [name]
        asked = asyncio.create_task(ask("tools/invoke", {"tool_id": "t"}))
        question = await client.next()
        await client.result("session/create", {"token": "key-bob"})
        assert rig.asks == {}
        with pytest.raises(CannotAsk):
            await asyncio.wait_for(asked, SECONDS)
        late = {"jsonrpc": "2.0", "id": question["id"], "result": {"data": 7}}
        client.peer.message(json.dumps(late).encode())
        await client.result("tools/register", dict(_SOME))
        facts = [call.facts["connection"] for call in rig.house.script.calls]
        assert list(rig.asks) == facts[1:]
        assert facts[0] != facts[1]
        again = asyncio.create_task(rig.asks[facts[1]]("tools/invoke", {"tool_id": "t"}))
        question = await client.next()
        client.peer.message(json.dumps(late).encode())
        client.peer.message(json.dumps({**late, "id": question["id"], "result": 8}).encode())
        assert await asyncio.wait_for(again, SECONDS) == 8


async def test_a_request_that_waits_for_the_start_is_of_the_caller_and_session_that_it_came_with() -> (
    None
):
    """Another caller takes the connection while it waits."""
    async with Rig() as rig:
        rig.house.script.does("echo", structured(said=1))
        rig.house.script.does("tools/register", structured(tool_id="t"))
        client = rig.client(ANN, "key-ann")
        mine = (await client.result("session/create", {"token": "key-ann"}))["session_id"]
        started = rig.starting()
        client.begin("tools/invoke", {"tool_id": "echo", "parameters": {}})
        client.begin("tools/register", dict(_SOME))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await client.result("session/create", {"token": "key-bob"})
        assert rig.asks == {}
        started.set()
        for _ in range(2):
            assert "result" in await client.next()
        calls = rig.house.script.calls
        assert [(one.caller.id, one.credential) for one in calls] == [("ann", "key-ann")] * 2
        assert {one.session for one in calls} == {mine}
        assert rig.asks == {}


async def test_a_fault_of_ours_is_recorded_like_every_refusal() -> None:
    """GRH-aud-6 and GRH-err-11: its audit id is one of the record."""

    async def broken(profile: str, caller: Caller, tool_id: str, version: str | None) -> str:
        raise ZeroDivisionError

    async with Rig() as rig:
        rig.parts.names = broken
        client = rig.client(ANN, "key-ann")
        data = await client.data("tools/invoke", ECHO)
        assert data["error_code"] == "internal"
        (noted,) = rig.notes.found
        assert noted.outcome.reason == "internal"
        assert noted.trace_id == data["security_context"]["audit_id"]


@pytest.mark.parametrize(
    "frame", [b"", b"null", b"\xff\xfe", b'{"id":{}}', b"[[[[", b"{}" * 9, UNREADABLE]
)
async def test_no_frame_leaves_a_client_without_an_answer(frame: bytes) -> None:
    """GRH-err-2 and GRH-test-1."""
    async with Rig() as rig:
        client: Client = rig.client(ANN, "key-ann")
        client.peer.message(frame)
        answer = await client.next()
        assert answer["error"]["data"]["error_code"] == "invalid_message"


async def test_a_statement_is_neither_served_nor_answered() -> None:
    async with Rig() as rig:
        client = rig.client(ANN, "key-ann")
        client.peer.message(
            b'{"jsonrpc":"2.0","method":"tools/invoke","params":{"tool_id":"echo"}}'
        )
        rig.house.script.does("echo", structured())
        await client.result("tools/invoke", ECHO)
        assert len(rig.house.script.calls) == 1


async def test_numbers_of_errors_are_mgps_where_that_is_wanted() -> None:
    """GRH-msg-9: decision C-02."""
    async with Rig(strict_codes=True) as rig:
        rig.house.script.does("echo", Refusal("path_not_allowed", "no"))
        response = await rig.client(ANN, "key-ann").ask("tools/invoke", ECHO)
        assert response["error"]["code"] == 1010
