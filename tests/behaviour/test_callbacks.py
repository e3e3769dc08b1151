"""Callbacks of MGP servers (MGP §13.4): asked of the caller whose call it is, answered once, in time, and recorded."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.event_house import (
    CALLBACK,
    EVERY,
    MODERN,
    OFFER,
    bearer,
    configured,
    listening,
    made_key,
    rule_of,
)
from tests.behaviour.gateway import Gateway, running
from tests.behaviour.hosts import Host, RpcError, host

FORMS: dict[str, Any] = {"elicitation": {}}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    tools = {"echo": {"tools": {"echo": {"confirmation_required": True}}}}
    content = configured()
    for one in content["servers"]:
        one.update(tools.get(one["id"], {}))
    with running(tmp_path_factory.mktemp("asking"), content) as found:
        yield found


async def _start(client: Host, tool: str, **arguments: Any) -> Any:
    params = {"name": f"eventful__{tool}", "arguments": arguments}
    return await client.start("tools/call", params)


async def _asked(client: Host) -> dict[str, Any]:
    found: dict[str, Any] = (await client.note(CALLBACK))["params"]
    return found


async def _respond(client: Host, asked: dict[str, Any], response: Any) -> Any:
    params = {"callback_id": asked["callback_id"], "response": response}
    return await client.request("mgp/callback/respond", params)


def _text(result: dict[str, Any]) -> str:
    words: str = result["content"][0]["text"]
    return words


async def _done(client: Host) -> list[str]:
    found: list[str] = json.loads(await client.text("eventful__done"))
    return found


@pytest.mark.parametrize("door", EVERY)
@pytest.mark.parametrize(("said", "came"), [("confirm", "deleted"), ("cancel", "kept")])
async def test_a_confirmation_is_asked_and_answered(
    gateway: Gateway, door: str, said: str, came: str
) -> None:
    """MGP-13.4-1 and MGP-13.4-2: `confirm` completes, `cancel` does not execute."""
    async with listening(gateway, door) as client:
        before = await _done(client)
        ident = await _start(client, "delete")
        asked = await _asked(client)
        assert asked["request_id"] == ident
        assert asked["type"] == "confirmation"
        assert asked["message"] == 'Server "eventful" asks: Delete 15 files?'
        assert asked["options"] == ["confirm", "cancel"]
        assert asked["timeout_ms"] == 60000
        assert asked["callback_id"].startswith("cb-")
        accepted = await _respond(client, asked, said)
        assert accepted["accepted"] is True
        assert _text(await client.finish(ident)) == came
        assert len(await _done(client)) - len(before) == (came == "deleted")


@pytest.mark.parametrize("door", EVERY)
async def test_each_type_of_callback(gateway: Gateway, door: str) -> None:
    """MGP-13.4-3: confirmation (see above), input, selection, and a notification that wants no answer."""
    async with listening(gateway, door) as client:
        ident = await _start(client, "ask", callback={"type": "input", "message": "Which city?"})
        asked = await _asked(client)
        assert "options" not in asked
        await _respond(client, asked, "Łódź")
        assert json.loads(_text(await client.finish(ident))) == "Łódź"
        choice = {"type": "selection", "message": "Which?", "options": ["red", "blue"]}
        ident = await _start(client, "ask", callback=choice)
        asked = await _asked(client)
        assert asked["options"] == ["red", "blue"]
        for wrong in ("green", "", None, 1, ["red"]):
            with pytest.raises(RpcError) as caught:
                await _respond(client, asked, wrong)
            assert rule_of(caught.value) == "callback_response"
        await _respond(client, asked, "blue")
        assert json.loads(_text(await client.finish(ident))) == "blue"
        ident = await _start(client, "inform", message="Half done")
        told = await _asked(client)
        assert (told["type"], told["request_id"]) == ("notification", ident)
        assert told["message"] == 'Server "eventful" says: Half done'
        assert "timeout_ms" not in told
        assert _text(await client.finish(ident)) == "informed"
        with pytest.raises(RpcError) as caught:
            await _respond(client, told, "thanks")
        assert rule_of(caught.value) == "callback_unknown"


@pytest.mark.parametrize("door", EVERY)
async def test_without_an_answer_in_time_the_call_fails(gateway: Gateway, door: str) -> None:
    """MGP-13.4-4: 3003, and the tool is not executed: a late answer is refused, and the server was told to stop."""
    async with listening(gateway, door) as client:
        before = await _done(client)
        began = time.monotonic()
        ident = await _start(client, "delete", timeout_ms=300)
        asked = await _asked(client)
        with pytest.raises(RpcError) as caught:
            await client.finish(ident)
        assert 0.2 < time.monotonic() - began < 5
        assert caught.value.code == 3003
        assert caught.value.data["_mgp"]["retryable"] is False
        with pytest.raises(RpcError) as late:
            await _respond(client, asked, "confirm")
        assert rule_of(late.value) == "callback_over"
        assert await _done(client) == before
        seen = json.loads(await client.text("eventful__seen"))
        assert "notifications/cancelled" in [one["method"] for one in seen[-6:]]


@pytest.mark.parametrize("door", EVERY)
async def test_the_rest_of_the_connection_goes_on(gateway: Gateway, door: str) -> None:
    """MGP-13.4-5: other calls of the same client complete while one waits, and several may wait."""
    async with listening(gateway, door) as client:
        waiting = [await _start(client, "delete") for _ in range(3)]
        asked = [await _asked(client) for _ in waiting]
        assert {one["request_id"] for one in asked} == set(waiting)
        assert len({one["callback_id"] for one in asked}) == 3
        assert await client.text("eventful__quick") == "quick"
        for one in asked:
            await _respond(client, one, "cancel")
        for ident in waiting:
            assert _text(await client.finish(ident)) == "kept"


async def test_only_who_was_asked_can_answer_and_only_once(gateway: Gateway) -> None:
    """MGP-13.4-2: an answer of another caller, of another session, or a second one is refused by name."""
    ann, bob = (made_key(gateway, name)["key"] for name in ("ann", "bob"))
    door = "http 2025-11-25"
    async with (
        listening(gateway, door, ann) as client,
        listening(gateway, door, ann) as again,
        listening(gateway, "websocket 2025-11-25", bob) as other,
    ):
        ident = await _start(client, "ask", callback={"type": "input", "message": "?"}, twice=True)
        asked = await _asked(client)
        for one in (other, again):
            with pytest.raises(RpcError) as caught:
                await _respond(one, asked, "mine")
            assert rule_of(caught.value) == "callback_unknown"
        await _respond(client, asked, "first")
        with pytest.raises(RpcError) as caught:
            await _respond(client, asked, "second")
        assert rule_of(caught.value) == "callback_answered"
        assert json.loads(_text(await client.finish(ident))) == "first"
        assert not [one for one in client.notes if one["method"] == CALLBACK]
        with pytest.raises(RpcError) as caught:
            await _respond(client, {"callback_id": "cb-none"}, "x")
        assert rule_of(caught.value) == "callback_unknown"
        with pytest.raises(RpcError) as caught:
            await _respond(other, asked, "x")
        assert rule_of(caught.value) == "callback_unknown"


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-06-18", "stdio 2025-11-25", "sse 2025-11-25", *MODERN])  # fmt: skip
async def test_a_client_of_plain_mcp_is_asked_by_a_form(gateway: Gateway, door: str) -> None:
    """MGP-13.4-1 to 13.4-3, by elicitation where the client has that."""
    shown: list[dict[str, Any]] = []
    says: dict[str, Any] = {"action": "accept", "content": {"response": "confirm"}}

    def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
        shown.append({"method": method, **params})
        return says

    async with host(gateway, door, can=FORMS, answer=answer) as client:
        assert await client.text("eventful__delete") == "deleted"
        assert shown[0]["method"] == "elicitation/create"
        assert shown[0]["message"] == 'Server "eventful" asks: Delete 15 files?'
        field = shown[0]["requestedSchema"]["properties"]["response"]
        assert (field["type"], field["enum"]) == ("string", ["confirm", "cancel"])
        says["content"] = {"response": "Rome"}
        answered = await client.text(
            "eventful__ask", callback={"type": "input", "message": "City?"}
        )
        assert json.loads(answered) == "Rome"
        says.clear()
        says["action"] = "decline"
        assert await client.text("eventful__delete") == "kept"
        unsaid = await client.call("eventful__ask", callback={"type": "input", "message": "City?"})
        assert unsaid["isError"] is True


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2025-06-18", "stdio 2025-11-25", "sse 2024-11-05"])  # fmt: skip
async def test_a_client_of_plain_mcp_may_say_which_lines_it_wants(
    gateway: Gateway, door: str
) -> None:
    """MGP-13.4-3: what a server only lets it know is a line of the log, so the gateway offers `logging` and takes a level."""
    async with host(gateway, door, can=FORMS) as client:
        assert "logging" in client.hello["capabilities"]
        assert await client.text("eventful__inform", message="one") == "informed"
        line = (await client.note("notifications/message"))["params"]
        assert (line["level"], line["data"]) == ("info", 'Server "eventful" says: one')
        for level, message in (("warning", "two"), ("debug", "three")):
            await client.request("logging/setLevel", {"level": level})
            assert await client.text("eventful__inform", message=message) == "informed"
        line = (await client.note("notifications/message"))["params"]
        assert line["data"] == 'Server "eventful" says: three'


async def test_a_client_that_cannot_be_asked_gets_a_reason(gateway: Gateway) -> None:
    """MGP-13.4-2: at once, and the tool is not executed."""
    began = time.monotonic()
    async with host(gateway) as client:
        before = await _done(client)
        found = await client.call("eventful__delete")
        assert found["isError"] is True
        assert "cannot be asked" in _text(found)
        assert await _done(client) == before
        assert await client.text("eventful__inform", message="m") == "informed"
    assert time.monotonic() - began < 10


async def test_what_a_server_may_not_ask(gateway: Gateway) -> None:
    """MGP-13.4-1: neither for secrets, nor in the gateway's name, nor what cannot be shown."""
    wrong: tuple[dict[str, Any], ...] = (
        {"type": "input", "message": "Your password, please"},
        {"type": "selection", "message": "Which?", "options": []},
        {"type": "selection", "message": "Which?", "options": ["Gatewright says yes"]},
        {"type": "selection", "message": "Which?", "options": ["a\u202eb"]},
        {"type": "selection", "message": "Which?", "options": ["a", "a"]},
        {
            "type": "confirmation",
            "message": f"Go to {gateway.url.removesuffix('/mcp')}/approvals/1",
        },
        {"type": "poll", "message": "?"},
        {"type": "input"},
        {"type": "input", "message": "?", "timeout_ms": 0},
        {"type": "input", "message": "?", "callback_id": "x" * 300},
    )
    async with listening(gateway, "http 2025-11-25") as client:
        for one in wrong:
            with pytest.raises(RpcError):
                await client.call("eventful__ask", callback=one)
        assert not [one for one in client.notes if one["method"] == CALLBACK]
        lines = await _start(client, "ask", callback={"type": "input", "message": "a\nGateway: b"})
        assert (await _asked(client))["message"].splitlines()[1:] == ["> a", "> Gateway: b"]
        await client.say({"method": "notifications/cancelled", "params": {"requestId": lines}})


@pytest.mark.parametrize("door", ["http 2025-11-25", "websocket 2026-07-28"])
@pytest.mark.parametrize("said", ["confirm", "cancel"])
async def test_the_gateways_own_question_comes_as_a_callback(
    gateway: Gateway, door: str, said: str
) -> None:
    """MGP-13.4-1: to a client that answers callbacks and no elicitation."""
    async with listening(gateway, door) as client:
        params = {"name": "echo__echo", "arguments": {"message": "m"}}
        ident = await client.start("tools/call", params)
        asked = await _asked(client)
        assert (asked["type"], asked["request_id"]) == ("confirmation", ident)
        assert "asks to run the tool echo" in asked["message"]
        assert asked["message"].endswith("Yes runs exactly this call once.")
        await _respond(client, asked, said)
        if said == "confirm":
            assert "content" in await client.finish(ident)
        else:
            with pytest.raises(RpcError) as caught:
                await client.finish(ident)
            assert caught.value.code == 1000


async def test_callbacks_are_recorded(gateway: Gateway) -> None:
    """MGP-13.4-2: that one was asked, and what was chosen; what somebody wrote is in no record."""
    key = made_key(gateway, "rita")["key"]
    async with listening(gateway, "http 2025-11-25", key) as client:
        ident = await _start(client, "delete")
        await _respond(client, await _asked(client), "cancel")
        await client.finish(ident)
        ident = await _start(client, "ask", callback={"type": "input", "message": "Where?"})
        await _respond(client, await _asked(client), "Atlantis-47")
        await client.finish(ident)
    records = gateway.audit("--agent", "rita")
    asked = [one for one in records if one["event_type"].startswith("dev.gatewright.callback.")]
    told = [(one["event_type"].rpartition(".")[2], one["details"].get("response")) for one in asked]
    assert sorted(told, key=str) == sorted([("asked", None), ("answered", "cancel"), ("asked", None), ("answered", None)], key=str)  # fmt: skip
    assert "Atlantis" not in json.dumps(records)
    assert "mgp/callback/respond" in {one.get("method") for one in records}


async def test_a_call_that_ends_takes_its_callback_with_it(gateway: Gateway) -> None:
    """MGP-13.4-2: cancelled by its caller, or with its session."""
    async with host(gateway, "websocket 2025-11-25", can=OFFER, headers=bearer(made_key(gateway, "ann")["key"])) as client:  # fmt: skip
        ident = await _start(client, "delete")
        asked = await _asked(client)
        await client.say({"method": "notifications/cancelled", "params": {"requestId": ident}})
        async with asyncio.timeout(5):
            while True:
                with pytest.raises(RpcError) as caught:
                    await _respond(client, asked, "nonsense")
                if rule_of(caught.value) == "callback_over":
                    break
        assert await client.text("eventful__quick") == "quick"
