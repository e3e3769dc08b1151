"""Capabilities through the real door: what each profile may send, what nobody may, and what the others see of it."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from gatewright.mcpx.capabilities import PROFILES
from tests.rooms.foreign import Guest
from tests.rooms.hall import FULL, Hall

CALL = "mcp/request:tools/call"
EVERY = [
    CALL,
    CALL + ":read_file",
    CALL + ":x/list",
    "mcp/request:tools/list",
    "mcp/request:resources/read",
    "mcp/request:resources/read:file:///a:b",
    "mcp/request:resources/list",
    "mcp/request:resources/subscribe:file:///a",
    "mcp/request:resources/templates/list",
    "mcp/request:prompts/list",
    "mcp/request:notifications/initialized",
    "mcp/response:tools/call",
    "mcp/response:tools/call:read_file",
    "mcp/response:resources/read",
    "mcp/proposal:tools/call",
    "mcp/proposal:tools/call:read_file",
    "chat",
]
TOOLS = [one for one in EVERY if one.startswith("mcp/request:tools/")]
LISTS = [one for one in EVERY if one.endswith("/list") and one.count(":") == 1]
READS = [one for one in EVERY if "request:resources/read" in one]
REQUESTS = [one for one in EVERY if one.startswith("mcp/request:")]
RESPONSES = [one for one in EVERY if one.startswith("mcp/response:")]
PROPOSALS = [one for one in EVERY if one.startswith("mcp/proposal:")]
SETS: list[tuple[Sequence[str], list[str]]] = [
    (("mcp/*",), EVERY[:-1]),
    (("mcp/request:*",), REQUESTS),
    (("mcp/request:tools/*",), TOOLS),
    ((CALL,), [CALL, CALL + ":read_file", CALL + ":x/list"]),
    (("mcp/request:resources/*",), [one for one in EVERY if "request:resources/" in one]),
    (("mcp/response:*",), RESPONSES),
    (("mcp/response:tools/*",), RESPONSES[:2]),
    (("mcp/proposal:*",), PROPOSALS),
    (("mcp/request:*/list",), LISTS),
    ((CALL + ":read_file",), [CALL + ":read_file"]),
    (("chat",), ["chat"]),
    (("ch*", "*", "system/*"), []),
    ((), []),
    (PROFILES["full"], EVERY),
    (PROFILES["proposal-only"], [*PROPOSALS, *RESPONSES, "chat"]),
    (PROFILES["response-only"], [*RESPONSES, "chat"]),
    (PROFILES["read-only"], [*READS, *LISTS, *RESPONSES, "chat"]),
    (PROFILES["tool-only"], [*TOOLS, *RESPONSES[:2], "chat"]),
]


async def passed(sender: Guest, other: Guest, kinds: Sequence[str]) -> list[str]:
    """Which of some kinds reach another; all others are answered with the violation, to their sender alone."""
    sent = {await sender.post(kind, {}): kind for kind in kinds}
    refused: dict[str, Any] = {}
    while len(refused) + sum(1 for one in sender.heard if json.loads(one)["id"] in sent) < len(
        sent
    ):
        answer = await sender.next()
        if answer["kind"] == "system/error":
            refused[answer["correlation_id"]] = answer
    heard = await other.fence()
    assert all(one["kind"] != "system/error" for one in heard)
    for id, answer in refused.items():
        assert answer["from"] == "system:gateway"
        assert answer["to"] == [sender.id]
        assert answer["payload"]["error"] == "capability_violation"
        assert answer["payload"]["attempted_kind"] == sent[id]
        assert answer["payload"]["your_capabilities"] == sender.capabilities
        assert sent[id] in answer["payload"]["message"]
    found = [one["kind"] for one in heard if one["from"] == sender.id]
    assert len(found) + len(refused) == len(kinds)
    return found


async def test_each_set_of_capabilities_lets_through_exactly_what_the_text_says() -> None:
    """MCPX-4.1-1, MCPX-4.1-2, MCPX-4.1-3, MCPX-4.1-4, MCPX-4.1-5, MCPX-4.1-6, MCPX-4.1-7, MCPX-4.1-10, MCPX-4.1-11,
    MCPX-4.1-12, MCPX-4.1-13, MCPX-4.1-14, MCPX-4.2-2, MCPX-4.2-3, MCPX-4.2-4, MCPX-4.2-5, MCPX-3.5.2-1, MCPX-3-10."""
    people = {f"p{number}": tuple(one) for number, (one, _) in enumerate(SETS)}
    async with Hall({**people, "z": FULL}) as hall:
        for name, (capabilities, expected) in zip(people, SETS, strict=True):
            other = await hall.guest("z", name)
            sender = await hall.guest(name, name)
            await other.next("system/presence")
            found = await passed(sender, other, EVERY)
            assert found == [one for one in EVERY if one in expected], capabilities


@pytest.mark.parametrize("capabilities", [FULL, ("*", "system/*", "presence", "mcp/*", "chat")])
async def test_nobody_says_what_only_the_gateway_says(capabilities: Sequence[str]) -> None:
    """MCPX-4.1-8, MCPX-4.1-9, MCPX-8.1-6: whatever capability it has."""
    kinds = ["system/welcome", "system/presence", "system/error", "system/x", "system", "presence"]
    kinds += ["system/", "system:x", "systemd/x", "presence/x", "presence:x"]
    async with Hall({"a": tuple(capabilities), "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        assert await passed(a, b, kinds) == []


async def test_only_the_kind_is_looked_at() -> None:
    """MCPX-4.2-1, MCPX-2.2-1: what a spoofed payload says is for its receivers to find out."""
    async with Hall({"a": (CALL + ":safe_tool",), "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        payload = {"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"name": "dangerous_tool"}}
        sent = await a.post(CALL + ":safe_tool", payload)
        heard = await b.next()
        assert (heard["id"], heard["payload"]) == (sent, payload)


async def test_rules_hold_for_every_later_message() -> None:
    """MCPX-6.2-6: also for the one after a thousand."""
    async with Hall({"a": ("chat",), "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        for number in range(1000):
            await a.chat(str(number))
        await a.post(CALL, {})
        assert (await a.error())["payload"]["error"] == "capability_violation"
        assert len(await b.fence()) == 1000


async def test_the_others_are_told_of_a_violation_only_where_that_is_configured() -> None:
    """MCPX-6.4-1, MCPX-6.4-2: the error first, then the notice, and what was permitted after it goes on."""
    for notice in (False, True):
        async with Hall({"a": ("chat",), "b": FULL}, violation_notice=notice) as hall:
            a, b = await hall.all("a", "b")
            await a.post(CALL, {"secret": "payload"})
            last = await a.chat("after")
            assert [(await a.next())["kind"] for _ in range(2)] == ["system/error", "chat"]
            heard = await b.fence()
            assert heard[-1]["id"] == last
            assert len(heard) == 1 + notice
            if notice:
                told = heard[0]
                assert (told["from"], told["kind"], "to" in told) == (
                    "system:gateway",
                    "system/error",
                    False,
                )
                assert told["payload"]["participant"] == "a"
                assert told["payload"]["attempted_kind"] == CALL
                assert "secret" not in b.heard[-2]


async def test_unknown_agents_begin_with_proposals() -> None:
    """MCPX-7.1-1, MCPX-5.1-2: a key of the gateway of which the configuration says nothing."""
    async with Hall() as hall:
        ann = await hall.guest(None, token="key-ann")
        assert (ann.id, ann.capabilities) == ("ann", list(PROFILES["proposal-only"]))
        bob = await hall.guest(None, token="key-bob")
        assert await passed(ann, bob, EVERY) == [*RESPONSES, *PROPOSALS, "chat"]


CORPUS = Path(__file__).resolve().parents[3] / "shared" / "data" / "security" / "mcpx.jsonl"
EVASIONS = [
    ("mcp/request:tools/list", "mcp/request:tools/call"),
    ("mcp/request:tools/call:safe", "mcp/request:tools/call:safe/../danger"),
    ("mcp/request:tools/call:safe", "mcp/request:tools/call:safe\u200b"),
    ("mcp/request:tools/call:safe", "mcp/request:tools/call: safe"),
    ("mcp/request:tools/call:safe", "mcp/request:tools/call"),
    ("mcp/request:tools/call:safe", "mcp/request:tools/call:"),
    ("mcp/request:*/list", "mcp/request:tools/call:/list"),
    ("mcp/request:*/list", "mcp/request:tools/call:a/b/list"),
    ("mcp/request:*/list", "mcp/request::/list"),
    ("mcp/response:*", "mcp/response"),
    ("mcp/response:*", "mcp/request:mcp/response:x"),
    ("mcp/proposal:*", "mcp/Proposal:x"),
    ("mcp/proposal:*", "mcp/request:tools/call:mcp/proposal:"),
    ("mcp/proposal:*", "mcp\\/request:x"),
    ("mcp/proposal:*", "mcp/proposal\u2236x"),
    ("chat", "chat "),
    ("chat", "ch\u0430t"),
    ("chat", "chat:mcp/request:tools/call"),
]


async def test_no_way_around_a_capability_gets_through() -> None:
    """MCPX-4.2-2: hundred of hundred are refused; what the capability names gets through."""
    people = {
        f"p{number}": (capability, "com.x/ok") for number, (capability, _) in enumerate(EVASIONS)
    }
    async with Hall({**people, "z": FULL}) as hall:
        other = await hall.guest("z")
        for name, (_, kind) in zip(people, EVASIONS, strict=True):
            sender = await hall.guest(name)
            assert await passed(sender, other, [kind, "com.x/ok"]) == ["com.x/ok"], kind
            await sender.leave()


CASES = [json.loads(line) for line in CORPUS.read_text().splitlines()] if CORPUS.is_file() else []
OWN: list[dict[str, Any]] = [
    {
        "category": "mcpx.ok",
        "capabilities": ["mcp/*", "chat"],
        "kind": CALL + ":safe",
        "from": "p0",
    },
    {"category": "mcpx.no_capability", "capabilities": ["chat"], "kind": CALL, "from": "p1"},
    {"category": "mcpx.reserved", "capabilities": ["system/*"], "kind": "system/x", "from": "p2"},
    {"category": "mcpx.from_spoof", "capabilities": ["chat"], "kind": "chat", "from": "other"},
]


async def test_the_corpus_is_judged_as_it_is_labelled() -> None:
    """MCPX-3-5, MCPX-4.1-8, MCPX-4.2-2: what the gateway can know of it; payloads that do not fit their kind pass, as
    MCPX-4.2-1 has it. The corpus lies beside the repository; four cases of its kinds are here."""
    cases = [(one["category"], one["capabilities"], one) for one in OWN]
    cases += [
        (one["category"], one["input"]["capabilities"], one["input"]["envelope"]) for one in CASES
    ]
    people = {f"p{number}": tuple(one) for number, (_, one, _) in enumerate(cases)}
    async with Hall({**people, "z": FULL}) as hall:
        other = await hall.guest("z")
        for name, (category, _, envelope) in zip(people, cases, strict=True):
            sender = await hall.guest(name)
            spoofed = category == "mcpx.from_spoof"
            more = {"from": envelope["from"] if spoofed else sender.id, "to": ["z"]}
            await sender.post(envelope["kind"], envelope.get("payload", {}), **more)
            stops = category in ("mcpx.no_capability", "mcpx.reserved", "mcpx.from_spoof")
            error = (await sender.error())["payload"]["error"] if stops else ""
            wanted = "auth_violation" if spoofed else "capability_violation"
            assert error == (wanted if stops else ""), category
            heard = [one for one in await other.fence() if one["from"] == sender.id]
            assert len(heard) == (not stops), category
            await sender.leave()
