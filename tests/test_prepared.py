"""Prepared calls: who is served by one, what makes an ordinary call of it, and that nothing outlives what it rests on."""

from __future__ import annotations

import asyncio
import gc
import json
import weakref
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from gatewright.access.grants import Grant
from gatewright.call import Client
from gatewright.kernel import Hooks
from gatewright.prepared import Prepared, PreparedCalls
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, settings_of, told
from tests.prepared_twins import Twins

TELL = "obedient__tell"
each_era = pytest.mark.parametrize("revision", ["2025-06-18", "2026-07-28"])


@pytest.mark.parametrize(
    ("walked", "differs"), [("aab", False), ("abb", True), ("ab", True), ("aabb", True), ("", True)]
)
def test_records_of_twins_are_the_same_where_each_is_there_as_often(
    walked: str, differs: bool
) -> None:
    """A record too many of one call hid that one of another was missing."""
    one, other = (Mock(taken=partial(list, of)) for of in ("aab", walked))
    with pytest.raises(AssertionError, match="prepared: ") if differs else nullcontext():
        assert Twins(one, other).recorded() == ["a", "a", "b"]


@each_era
async def test_the_third_call_of_a_kind_is_prepared_and_says_the_same(
    tmp_path: Path, revision: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
        said = [await house.served(client, TELL, f"text {at}") for at in range(6)]
        assert [text for text, _ in said] == [f"text {at}" for at in range(6)]
        # What a modern client says of itself is known from its second call on.
        assert [prepared for _, prepared in said].index(True) <= (3 if client.session else 4)
        assert said[-1][1]
        kernel = house.gateway.kernel
        assert (kernel.in_flight, kernel.running()) == (0, [])
        client.close()


@each_era
async def test_answers_and_records_are_the_same_with_and_without(
    tmp_path: Path, revision: str
) -> None:
    """Member by member; ids, times and hashes apart."""
    records: list[list[Any]] = []
    answers: list[list[Any]] = []
    for wanted in (False, True):
        folder = tmp_path / str(wanted)
        folder.mkdir()
        async with prepared_house(folder) as house:
            heard: list[bytes] = []
            house.gateway.audit.heard.listen(heard.append)
            client = await house.client(revision=revision)
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
    for name in ("id", "time", "trace_id", "call"):
        assert record.pop(name)
    record.pop("session", None)
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
@each_era
async def test_what_is_unusual_about_an_answer_makes_an_ordinary_call(
    tmp_path: Path, how: str, says: str, revision: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
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


@each_era
async def test_a_server_that_leaves_in_the_middle_fails_the_call_once(
    tmp_path: Path, revision: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
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


def _deny(house: PreparedHouse) -> None:
    gates: Any = house.gateway.kernel.policy.gates
    access = next(one for one in gates if one.name == "access")
    access._grants._issued.put(Grant("*", "obedient", permission="deny", granted_by="test"))


@each_era
async def test_a_limit_refuses_and_a_call_that_is_not_made_costs_nothing(
    tmp_path: Path, revision: str
) -> None:
    limits = {"calls": {"caller": {"per_minute": 12}, "tool": {"per_minute": 100}}}
    async with prepared_house(tmp_path, limits=limits) as house:
        client = await house.client(revision=revision)
        said = [await client.text(TELL, f"text {at}") for at in range(14)]
        assert said[:12] == [f"text {at}" for at in range(12)]
        assert said[12:] == ["rate_limited"] * 2
        assert house.prepared.served > 6
        client.close()


@each_era
async def test_arguments_that_do_not_fit_are_refused_by_the_walk(
    tmp_path: Path, revision: str
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client(revision=revision)
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


def test_what_was_walked_of_one_client_counts_for_no_other() -> None:
    """Another one may be made in the very place in which the first one was."""
    kept = PreparedCalls(Any, set(), lambda call: None, Hooks())
    for _ in range(50):
        before = kept.of(Client("2026-07-28"))
        assert kept.walked(before, "t", 1000) == 1000
        del before
        assert kept.walked(kept.of(Client("2026-07-28")), "t", 1) == 1


def test_of_how_many_names_it_is_counted_is_bounded_for_each_client() -> None:
    kept = PreparedCalls(Any, set(), lambda call: None, Hooks())
    one, other = kept.of(Client("2026-07-28")), kept.of(Client("2026-07-28"))
    kept.walked(other, "t", 7)
    for at in range(5000):
        kept.walked(one, f"t{at}", 1)
    assert len(one.tried) < 200
    assert kept.walked(one, "t4999", 1) == 2
    assert kept.walked(other, "t", 1) == 8
