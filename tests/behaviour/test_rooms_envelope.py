"""Envelopes through the real door: what is passed on and what is refused (MCPx §2, §3)."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests.rooms.foreign import Guest
from tests.rooms.hall import FULL, Hall

SEED_CALL = """{
  "protocol": "mcpx/v0.1",
  "id": "env-call-1",
  "from": "trusted-agent",
  "to": ["target-agent"],
  "kind": "mcp/request:tools/call:dangerous_operation",
  "payload": {
    "jsonrpc": "2.0",
    "id": 42,
    "method": "tools/call",
    "params": {
      "name": "dangerous_operation",
      "arguments": {"target": "production"}
    }
  }
}"""
SEED_PROPOSAL = """{
  "protocol": "mcpx/v0.1",
  "id": "env-req-1",
  "from": "untrusted-agent",
  "to": ["target-agent"],
  "kind": "mcp/proposal:tools/call:dangerous_operation",
  "payload": {
    "method": "tools/call",
    "params": {
      "name": "dangerous_operation",
      "arguments": {"target": "production"}
    }
  }
}"""
UUID4 = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}")
MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
PROPOSER = ("mcp/proposal:*", "chat")


async def refused(sender: Guest, other: Guest, text: str) -> dict[str, Any]:
    """The error that a frame earns, after making sure that nobody else heard of it."""
    await sender.raw(text)
    error = await sender.error()
    assert await other.fence() == []
    assert error["from"] == "system:gateway"
    assert error["to"] == [sender.id]
    await sender.next("chat")  # the fence
    return error


async def test_everybody_sees_what_is_addressed_to_another() -> None:
    """MCPX-2.1-1, MCPX-3-6: three forms of `to`, and all of them are seen by all."""
    async with Hall(dict.fromkeys("abc", FULL)) as hall:
        a, b, c = await hall.all("a", "b", "c")
        for to in (["b"], [], ...):
            sent = await a.chat("x", to=to)
            for one in (a, b, c):
                heard = await one.next()
                assert (heard["id"], heard.get("to", ...)) == (sent, to)


async def test_late_joiners_get_nothing_old_and_an_empty_topic_forgets() -> None:
    """MCPX-2.2-2."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a = await hall.guest("a")
        await a.chat("before")
        await a.next("chat")
        b = await hall.guest("b")
        assert await b.fence() == []
        await a.leave()
        await b.leave()
        await hall.gone()
        assert hall.hub.rooms == {}
        again = await hall.guest("a")
        assert again.participants == {}
        assert await again.fence() == []


async def test_topics_do_not_hear_each_other() -> None:
    """MCPX-2.2-3: also not for one participant that is in both."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        here, there = await hall.guest("a", "one"), await hall.guest("a", "two")
        other = await hall.guest("b", "two")
        assert (here.participants, other.participants) == ({}, {"a": list(FULL)})
        await there.next("system/presence")
        await here.chat("only here", to=["b"])
        assert await other.fence() == []
        assert [one["from"] for one in await there.fence()] == ["b"]


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        '[{"protocol":"mcpx/v0.1"}]',
        "{}{}",
        "{} {}",
        "nonsense",
        "",
        "7",
        "null",
        '"text"',
        "{" * 50_000,
        '{"a":' * 5000,
        "\ufeff{}",
        "{'a': 1}",
        '{"protocol": NaN}',
    ],
    ids=str,
)
async def test_what_is_not_one_json_object_is_answered_and_not_passed_on(text: str) -> None:
    """MCPX-3-1, MCPX-8.1-4."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        error = await refused(a, b, text)
        assert error["payload"]["error"] == "invalid_envelope"
        assert "correlation_id" not in error


@pytest.mark.parametrize(
    "protocol", ["mcpx/v0.2", "mcpx/v0", "MCPX/v0.1", "mcpx/v0.1 ", "", "mcp-x/v0", "mcpx"]
)
async def test_another_version_is_refused_with_a_clear_error(protocol: str) -> None:
    """MCPX-3-2, MCPX-6.1-1, MCPX-8.1-4."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        envelope = a.envelope("chat", {"text": "x"}, protocol=protocol)
        error = await refused(a, b, json.dumps(envelope))
        assert error["payload"]["error"] == "protocol_version_mismatch"
        assert "mcpx/v0.1" in error["payload"]["message"]
        assert error["correlation_id"] == envelope["id"]


async def test_an_envelope_of_v0_is_refused_as_such() -> None:
    """MCPX-6.1-2: protocol `mcp-x/v0` and kind `mcp`, without what v0.1 added."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        old = {
            "protocol": "mcp-x/v0",
            "id": "old-1",
            "from": "a",
            "to": [],
            "kind": "mcp",
            "payload": {"jsonrpc": "2.0", "method": "tools/list", "id": 1},
        }
        error = await refused(a, b, json.dumps(old))
        assert error["payload"]["error"] == "protocol_version_mismatch"
        assert error["correlation_id"] == "old-1"
        new = a.envelope("mcp", {})
        error = await refused(a, b, json.dumps(new))
        assert error["payload"]["error"] == "capability_violation"


WRONG: list[dict[str, Any]] = [
    {"protocol": ...},
    {"protocol": 1},
    {"id": ...},
    {"id": ""},
    {"id": 7},
    {"id": "x" * 300},
    {"from": ...},
    {"from": None},
    {"kind": ...},
    {"kind": ""},
    {"kind": ["chat"]},
    {"kind": "chat\n"},
    {"kind": "chat\u0000"},
    {"ts": 0},
    {"ts": "yesterday"},
    {"ts": "2025-08-26"},
    {"ts": "2025-08-26T14:00:00"},
    {"ts": "2025-02-30T14:00:00Z"},
    {"ts": "2025-08-26T25:00:00Z"},
    {"ts": "2025-08-26 14:00:00Z"},
    {"ts": None},
    {"to": "b"},
    {"to": None},
    {"to": {}},
    {"to": [1]},
    {"to": [""]},
    {"to": ["x"] * 1001},
    {"to": ["x" * 129]},
    {"correlation_id": 1},
    {"correlation_id": ""},
    {"correlation_id": None},
    {"payload": ...},
    {"payload": "text"},
    {"payload": None},
    {"payload": []},
    {"payload": 1},
]


async def test_a_member_that_cannot_be_is_refused() -> None:
    """MCPX-3-3, MCPX-3-4, MCPX-3-12, MCPX-8.1-4, MCPX-3-10: the error names the envelope where it has an id."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        for changed in WRONG:
            envelope = a.envelope("chat", {"text": "x"}, **changed)
            error = await refused(a, b, json.dumps(envelope))
            expected = envelope["id"] if "id" not in changed else None
            found = error["payload"]["error"], error.get("correlation_id")
            assert found == ("invalid_envelope", expected), changed


@pytest.mark.parametrize(
    "ts", [..., "2025-08-26T14:00:00Z", "2024-02-29t23:59:60.123456z", "2025-08-26T14:00:00+02:00"]
)
async def test_a_time_may_be_left_out_and_is_never_put_in(ts: Any) -> None:
    """MCPX-3-4: ours always has one, which is RFC 3339: a welcome, a presence, an error."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        await a.chat("x", ts=ts)
        assert (await b.next("chat")).get("ts", ...) == ts
        await a.post("system/x", {})
        await a.error()
        await b.leave()
        await a.next("system/presence")
        ours = [json.loads(frame) for one in (a, b) for frame in one.heard]
        ours = [one for one in ours if one["from"] == "system:gateway"]
        assert {one["kind"] for one in ours} == {
            "system/welcome",
            "system/presence",
            "system/error",
        }
        assert all(MOMENT.fullmatch(one["ts"]) for one in ours)


async def test_nobody_speaks_for_another() -> None:
    """MCPX-3-5, MCPX-8.1-4."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        for name in ("b", "system:gateway", "A", "a ", "nobody", ""):
            envelope = a.envelope("chat", {"text": "x"}, **{"from": name})
            error = await refused(a, b, json.dumps(envelope))
            assert error["payload"]["error"] == "auth_violation"
            assert error["correlation_id"] == envelope["id"]


REPEATED = [
    ('"kind":"chat"', '"kind":"chat","kind":"mcp/request:tools/call"'),
    ('"kind":"chat"', '"kind":"mcp/request:tools/call","kind":"chat"'),
    ('"kind":"chat"', '"kind":"chat","\\u006bind":"mcp/request:tools/call"'),
    ('"from":"a"', '"from":"b","from":"a"'),
    ('"from":"a"', '"fro\\u006d":"b","from":"a"'),
    ('"payload":{}', '"payload":{},"payload":{"text":"y"}'),
    ('"id":"1"', '"id":"1","id":"2"'),
    ('"payload":{}', '"payload":{"kind":"x"},"x":{"kind":1},"kind":"chat"'),
]


@pytest.mark.parametrize(("plain", "double"), REPEATED)
async def test_a_member_that_stands_twice_is_refused(plain: str, double: str) -> None:
    """MCPX-4.2-1: two readers could understand two kinds by it, so it is no envelope, however it is spelled."""
    async with Hall({"a": ("chat",), "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        good = '{"protocol":"mcpx/v0.1","id":"1","from":"a","kind":"chat","payload":{}}'
        error = await refused(a, b, good.replace(plain, double))
        assert error["payload"]["error"] == "invalid_envelope"
        assert "twice" in error["payload"]["message"]


@pytest.mark.parametrize(
    "text",
    [
        SEED_CALL.replace("trusted-agent", "a"),
        SEED_PROPOSAL.replace("untrusted-agent", "a"),
        (
            '{"payload":{"z":1e400,"\\u0061":[1.0,1.00,-0],"b":"\\/ü\\ud83d"}, "x-extra" : [ {} ],'
            ' "kind":"chat","protocol":"mcpx/v0.1","from":"a","id":"1","more":{"kind":"k","id":null}}'
        ),
        '  {"protocol":"mcpx/v0.1","id":"\\u0031","from":"\\u0061","kind":"ch\\u0061t","payload":{}}\n',
        (
            '{"protocol":"mcpx/v0.1","id":"1","from":"a","kind":"chat","payload":{"id":"1","kind":"x",'
            '"from":"b","payload":{"payload":{}}},"correlation_id":"env-1"}'
        ),
    ],
)
async def test_what_a_sender_wrote_is_what_readers_get_byte_for_byte(text: str) -> None:
    """MCPX-3.1.1-1, MCPX-3.2-1, MCPX-8.1-5, MCPX-3-11, MCPX-2.2-1: unknown members, white space and spelling included,
    and a payload that makes no sense."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        await a.raw(text)
        for one in (a, b):
            await one.next()
            assert one.heard[-1] == text


async def test_requests_with_and_without_context_and_notifications_pass() -> None:
    """MCPX-3.1-1, MCPX-3.1-3, MCPX-3-7, MCPX-3-9, MCPX-3.3-2."""
    kinds = [
        "mcp/request:tools/call",
        "mcp/request:tools/call:read_file",
        "mcp/request:resources/read:file:///a/b:c",
        "mcp/request:notifications/initialized",
        "mcp/response:tools/call:read_file",
        "mcp/proposal:tools/call:read_file",
        "chat",
    ]
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        for kind in kinds:
            await a.post(kind, {"x": 1}, correlation_id="env-0")
        heard = [await b.next() for _ in kinds]
        assert [one["kind"] for one in heard] == kinds
        assert {one["correlation_id"] for one in heard} == {"env-0"}


async def test_the_gateway_names_itself_and_gives_every_message_its_own_id() -> None:
    """MCPX-3-3, MCPX-8.1-6: a hundred messages of two participants, and every `system/…` is the gateway's."""
    async with Hall({"a": PROPOSER, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        for number in range(50):
            await a.post("mcp/request:tools/list", {"n": number})
            await b.chat(str(number))
        for _ in range(50):
            await a.error()
        await b.fence()
        heard = [json.loads(one) for one in {*a.heard, *b.heard}]
        own = [one for one in heard if one["kind"].startswith("system/")]
        assert len(own) >= 53
        assert {one["from"] for one in own} == {"system:gateway"}
        assert all(UUID4.fullmatch(one["id"]) for one in own)
        assert len({one["id"] for one in own}) == len(own)


async def test_a_proposal_with_a_correlation_id_passes_unless_that_is_configured() -> None:
    """MCPX-3.2.1-1: lazily (decision C-26), or strictly on wish."""
    async with Hall({"a": PROPOSER, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        sent = await a.post("mcp/proposal:tools/call:x", {"method": "m"}, correlation_id="e")
        assert (await b.next())["id"] == sent
    async with Hall({"a": PROPOSER, "b": FULL}, strict_proposals=True) as hall:
        a, b = await hall.all("a", "b")
        text = json.dumps(a.envelope("mcp/proposal:tools/call:x", {}, correlation_id="e"))
        assert (await refused(a, b, text))["payload"]["error"] == "invalid_envelope"
        sent = await a.post("mcp/proposal:tools/call:x", {"method": "m"})
        assert (await b.next())["id"] == sent
