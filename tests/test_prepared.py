"""Prepared calls: who is served by one, what makes an ordinary call of it, and that nothing outlives what it rests on."""

from __future__ import annotations

import asyncio
import gc
import json
import time
import weakref
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.access.grants import Grant
from gatewright.call import Refusal
from gatewright.prepared import Prepared
from gatewright.secret_scanning import HELD
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, settings_of, told

TELL = "obedient__tell"


async def test_the_third_call_of_a_kind_is_prepared_and_says_the_same(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        said = [await house.served(client, TELL, f"text {at}") for at in range(6)]
        assert [text for text, _ in said] == [f"text {at}" for at in range(6)]
        assert [prepared for _, prepared in said].index(True) <= 3
        assert said[-1][1]
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running()) == (0, [])
        client.close()


async def test_answers_and_records_are_the_same_with_and_without(tmp_path: Path) -> None:
    """Member by member; ids, times and hashes apart."""
    records: list[list[Any]] = []
    answers: list[list[Any]] = []
    for wanted in (False, True):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        async with prepared_house(folder) as house:
            heard: list[bytes] = []
            house.gateway.audit.heard.listen(heard.append)
            client = await house.client()
            house.prepared.mode = "on" if wanted else "off"
            said = [await client.call(TELL, f'grüße "{at}" \\ \u2028') for at in range(7)]
            assert (house.prepared.served > 0) is wanted
            client.close()
            answers.append(said)
            records.append([_comparable(json.loads(one)) for one in heard if b"tell" in one])
    assert answers[0] == answers[1]
    assert records[0] == records[1]
    assert len(records[0]) == 7


def _comparable(record: dict[str, Any]) -> dict[str, Any]:
    for name in ("id", "time", "trace_id", "call", "session"):
        assert record.pop(name)
    del record["details"]["duration_ms"]
    return record


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ("late", "so"),
        ("log", "so"),
        ("error", "so"),
        ("failed", "so"),
        ("twice", "so"),
        ("long", "so" * 40_000),
    ],
)
async def test_what_is_unusual_about_an_answer_makes_an_ordinary_call(
    tmp_path: Path, how: str, says: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        assert await house.served(client, TELL, "so", how) == (says, True)
        assert await house.served(client, TELL, "and on") == ("and on", True)
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running(), kernel.prepared.going_on) == (0, [], {})
        client.close()


async def test_a_secret_in_an_answer_is_taken_out(tmp_path: Path) -> None:
    async with prepared_house(tmp_path, redaction={"terms": ["Nightjar"]}) as house:
        client = await house.client()
        await house.warm(client)
        said, prepared = await house.served(client, TELL, "the project Nightjar")
        assert prepared
        assert "the project" in said
        assert "Nightjar" not in said
        client.close()


async def test_a_question_in_a_prepared_call_reaches_its_caller(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(elicitation={})
        await house.warm(client)
        before = house.prepared.served
        asking = asyncio.create_task(_asked(client))
        assert json.loads((await asking).split(" ", 1)[1]) == {"action": "decline"}
        assert house.prepared.served == before + 1
        client.close()


async def _asked(client: RawClient) -> str:
    """Call the tool that asks, read the question on its stream, and decline."""
    arguments = {"text": "so", "how": "ask"}
    client.send({"id": 7, "method": "tools/call", "params": {"name": TELL, "arguments": arguments}})
    reader = client.reader
    while (await reader.readline()).strip() != b"":
        pass
    other = RawClient(client._port)
    other._session = client.session
    other.reader, other.writer = await asyncio.open_connection("127.0.0.1", client._port)
    while True:
        line = await reader.readline()
        if not line.startswith(b"data:") or line.strip() == b"data:":
            continue
        message = json.loads(line[5:])
        if message.get("method") == "elicitation/create":
            answer = {"id": message["id"], "result": {"action": "decline"}}
            await other.post(answer)
        elif message.get("id") == 7:
            other.close()
            return told(message)


async def test_a_cancelled_call_is_answered_as_any(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client, other = await house.client(), await house.client()
        await house.warm(client)
        other._session = client.session
        arguments = {"text": "so", "how": "never"}
        call = {"name": TELL, "arguments": arguments}
        before = house.prepared.served
        client.send({"id": 7, "method": "tools/call", "params": call})
        while house.prepared.served == before:
            await asyncio.sleep(0.001)
        await other.post({"method": "notifications/cancelled", "params": {"requestId": 7}})
        _, body = await client.receive()
        assert json.loads(body)["error"]["code"] == -32800
        assert house.gateway.kernel.in_flight == 0
        client.close()
        other.close()


async def test_a_call_whose_grant_goes_while_it_runs_ends_with_that(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        client.send({"id": 7, "method": "tools/call", "params": {"name": TELL, "arguments": {"text": "so", "how": "never"}}})  # fmt: skip
        while not house.gateway.kernel.running():
            await asyncio.sleep(0.001)
        _deny(house)
        assert house.gateway.kernel.end_refused() == 1
        _, body = await client.receive()
        assert told(json.loads(body)) == "access_denied"
        assert house.gateway.kernel.in_flight == 0
        client.close()


async def test_a_server_that_leaves_in_the_middle_fails_the_call_once(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        said, prepared = await house.served(client, TELL, "so", "leaves")
        assert (said, prepared) == ("upstream_unavailable", True)
        assert (await house.served(client, TELL, "back"))[0] == "back"
        await house.warm(client)
        client.close()


async def test_a_client_that_leaves_is_no_trouble(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        arguments = {"text": "so", "how": "late"}
        client.send(
            {"id": 7, "method": "tools/call", "params": {"name": TELL, "arguments": arguments}}
        )
        while not house.gateway.kernel.running():
            await asyncio.sleep(0.001)
        client.close()
        async with asyncio.timeout(5):
            while house.gateway.kernel.in_flight:
                await asyncio.sleep(0.01)


async def test_a_long_call_goes_on_as_a_stream_that_can_be_resumed(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision="2025-11-25")
        await house.warm(client)
        before = house.prepared.served
        client.send({"id": 7, "method": "tools/call", "params": {"name": TELL, "arguments": {"text": "so", "how": "late"}}})  # fmt: skip
        headers, body = await client.receive()
        assert headers["content-type"] == "text/event-stream"
        assert b'"text":"so"' in body.replace(b": ", b":")
        assert house.prepared.served == before + 1
        client.close()


# -- nothing outlives what it rests on ---------------------------------------------------------------


def _deny(house: PreparedHouse) -> None:
    rights = house.gateway.kernel.policy
    access = next(one for one in rights.gates if one.name == "access")
    layer = access._grants._issued  # type: ignore[attr-defined]
    layer.put(Grant("*", "obedient", permission="deny", granted_by="test"))


async def _grant(house: PreparedHouse, client: RawClient) -> str:
    _deny(house)
    return "access_denied"


async def _grant_ends(house: PreparedHouse, client: RawClient) -> str:
    access = next(one for one in house.gateway.kernel.policy.gates if one.name == "access")
    grants = access._grants  # type: ignore[attr-defined]
    ends = time.time() + 0.4
    grants._issued.put(Grant("*", "obedient", "tell", expires_at=ends, granted_by="test"))
    await house.warm(client)
    grants._issued.put(Grant("*", "obedient", permission="deny", granted_by="test"))
    await house.warm(client)
    await asyncio.sleep(max(0.0, ends - time.time()))
    return "access_denied"


async def _held(house: PreparedHouse, client: RawClient) -> str:
    definition = next(one for one in house.gateway.kernel.policy.gates if one.name == "definition")
    definition._held = lambda tool: "so"  # type: ignore[attr-defined]
    return "so"


async def _listed(house: PreparedHouse, client: RawClient) -> str:
    """Its server says another definition: the tool is held back until somebody looks at it."""
    await client.text(TELL, "Tells something else.", "offers")
    catalogue = house.gateway.supervisor.catalogue
    async with asyncio.timeout(5):
        while (tool := catalogue.tool("", TELL)) is not None and b"something else" not in bytes(
            tool.definition["description"]
        ):
            await asyncio.sleep(0.005)
    return "tool_disabled"


async def _named(house: PreparedHouse, client: RawClient) -> str:
    """The name is another tool's, or nobody's, in the profile."""
    tools: Any = house.gateway.supervisor.catalogue.view("").tools
    del tools[TELL]
    return "tool_not_found"


async def _barred(house: PreparedHouse, client: RawClient) -> str:
    permission = next(one for one in house.gateway.kernel.policy.gates if one.name == "permission")
    permission._barred["obedient"] = Refusal("permission_denied", "barred")  # type: ignore[attr-defined]
    return "permission_denied"


async def _drained(house: PreparedHouse, client: RawClient) -> str:
    draining = next(one for one in house.gateway.kernel.policy.gates if one.name == "draining")
    draining._reason = "operator_request"  # type: ignore[attr-defined]
    return "draining"


async def _reloaded(house: PreparedHouse, client: RawClient) -> str:
    folder = house.gateway.settings.storage.path.parent
    await house.gateway.adopt(settings_of(folder, grants=[]))
    return "access_denied"


async def _record_barred(house: PreparedHouse, client: RawClient) -> str:
    house.gateway.audit.bar("so")
    return "audit_unavailable"


async def _record_full(house: PreparedHouse, client: RawClient) -> str:
    house.gateway.audit._journal.fault = "so"
    return "audit_unavailable"


CHANGES: list[Callable[[PreparedHouse, RawClient], Awaitable[str]]] = [
    *(_grant, _grant_ends, _held, _listed, _named, _barred, _drained, _reloaded),
    *(_record_barred, _record_full),
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_call_after_a_change_goes_by_what_holds_then(
    tmp_path: Path, change: Callable[[PreparedHouse, RawClient], Awaitable[str]]
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        reason = await change(house, client)
        said, prepared = await house.served(client, TELL, "after")
        house.gateway.audit._journal.fault = None
        assert not prepared
        if reason != "so":
            assert said == reason
        client.close()


async def test_a_reload_that_changes_nothing_but_what_is_taken_out_holds_at_once(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        assert house.prepared.known
        await house.gateway.adopt(settings_of(tmp_path, redaction={"terms": ["Nightjar"]}))
        assert not house.prepared.known
        for _ in range(5):
            assert "Nightjar" not in await client.text(TELL, "the project Nightjar")
        client.close()


async def test_a_key_that_is_revoked_or_ends_lets_nobody_in_from_then_on(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        keys = house.gateway.callers
        made = [
            keys.create("ada", by="test"),
            keys.create("bob", by="test", expires=time.time() + 2.0),
        ]
        clients = [await house.client(secret) for _, secret in made]
        for client in clients:
            await house.warm(client)
        keys.revoke(made[0][0].id, by="test")
        headers, _ = await clients[0].post(_asking())
        assert headers["status"] == "401"
        assert (await house.served(clients[1], TELL, "so")) == ("so", True)
        await asyncio.sleep(2.0)
        headers, _ = await clients[1].post(_asking())
        assert headers["status"] == "401"
        for client in clients:
            client.close()


async def test_a_session_is_its_callers_alone_and_ends_at_once(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        made = [house.gateway.callers.create(name, by="test") for name in ("ada", "bob")]
        ada, bob = [await house.client(secret) for _, secret in made]
        await house.warm(ada)
        await house.warm(bob)
        mine, bob._session = bob.session, ada.session
        for _ in range(2):  # its head is known by then
            headers, _ = await bob.post(_asking())
            assert headers["status"] == "404"
        bob._session = mine
        assert (await house.served(ada, TELL, "so")) == ("so", True)
        house.gateway._standing[ada.session].end()
        headers, _ = await ada.post(_asking())
        assert headers["status"] == "404"
        ada.close()
        bob.close()


def _asking() -> dict[str, Any]:
    params = {"name": TELL, "arguments": {"text": "so"}}
    return {"id": 5, "method": "tools/call", "params": params}


async def test_a_new_secret_is_looked_for_in_names_of_records_from_then_on(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        held = next(iter(house.prepared.known.values()))
        assert held.holds()
        HELD.version += 1
        assert not held.holds()
        client.close()


async def test_a_limit_refuses_and_a_call_that_is_not_made_costs_nothing(tmp_path: Path) -> None:
    limits = {"calls": {"caller": {"per_minute": 12}, "tool": {"per_minute": 100}}}
    async with prepared_house(tmp_path, limits=limits) as house:
        client = await house.client()
        said = [await client.text(TELL, f"text {at}") for at in range(14)]
        assert said[:12] == [f"text {at}" for at in range(12)]
        assert said[12:] == ["rate_limited"] * 2
        assert house.prepared.served > 6
        client.close()


async def test_arguments_that_do_not_fit_are_refused_by_the_walk(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        before = house.prepared.served
        said = await client.ask("tools/call", {"name": TELL, "arguments": {"text": 7}}, 9)
        assert "do not fit" in json.dumps(said)
        assert house.prepared.served == before
        assert (await house.served(client, TELL, "so")) == ("so", True)
        client.close()


@pytest.mark.parametrize(
    "params",
    [
        {"name": TELL, "arguments": {"text": "so"}, "_meta": {"progressToken": 1}},
        {"name": TELL, "arguments": {"text": "so"}, "trace_id": "t"},
        {"name": TELL, "arguments": {"text": "so" * 3000}},
    ],
)
async def test_what_is_unusual_about_a_request_takes_the_walk(
    tmp_path: Path, params: dict[str, Any]
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        before = house.prepared.served
        said = await client.ask("tools/call", params, 9)
        assert told(said).startswith("so")
        assert house.prepared.served == before
        client.close()


async def test_without_the_word_of_any_one_gate_or_filter_calls_take_the_walk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each in turn: what it would say is then asked of each call."""
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        policy = house.gateway.kernel.policy
        every: list[Any] = [*policy.gates, *policy.filters]
        assert len(every) >= 14
        for one in every:
            with monkeypatch.context() as patched:
                patched.delattr(type(one), "stands")
                house.prepared.clear()
                said = [await house.served(client, TELL, f"{one.name} {at}") for at in range(5)]
                assert said == [(f"{one.name} {at}", False) for at in range(5)]
        await house.warm(client)
        client.close()


async def test_a_call_that_became_an_ordinary_one_leaves_no_cycle(tmp_path: Path) -> None:
    """Else the configuration that it began with would stay until somebody looks for garbage."""
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        gc.collect()
        gc.disable()
        try:
            for how in ("error", "log", "late", "plain"):
                assert await house.served(client, TELL, "so", how) == ("so", True)
            policy = weakref.ref(house.gateway.kernel.policy)
            await house.gateway.adopt(settings_of(tmp_path, limits={"stall_ms": 777}))
            async with asyncio.timeout(5):
                while policy() is not None:
                    await asyncio.sleep(0.01)
        finally:
            gc.enable()
        client.close()


async def test_how_many_are_kept_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.prepared.KEPT", 2)
    async with prepared_house(tmp_path) as house:
        clients = [await house.client() for _ in range(4)]
        for client in clients:
            for at in range(5):
                assert await client.text(TELL, f"{at}") == f"{at}"
        kept: dict[Any, Prepared] = house.prepared.known
        assert 1 <= len(kept) <= 2
        for client in clients:
            client.close()
