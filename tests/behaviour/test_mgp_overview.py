"""MGP §1: what an MCP host sees, and what an MGP host sees, of the same gateway."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, EVERY_DOOR, RpcError, host
from tests.behaviour.wires import MODERN

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_a_host_that_never_mentions_mgp_sees_none_of_it(several: Gateway, door: str) -> None:
    """MGP-1.1-1, MGP-1.1-2, MGP-1.3-1, MGP-2.2-2 and MGP-2.4-3: at every door, in every revision."""
    async with host(several, door) as client:
        await client.tools()
        assert await client.text("echo__echo", message="hi") == "hi"
        await client.call("extras__everything")
        with pytest.raises(RpcError):
            await client.call("no_such_tool")
        for frame in client.frames:
            told = frame.replace(b"gatewright", b"")
            assert b'"mgp"' not in told
            assert b'"_mgp"' not in told
            assert b"dev.cloto" not in told
            assert b'"security"' not in told
        assert not [note for note in client.notes if "mgp" in note["method"]]


@pytest.mark.parametrize("door", DOORS)
async def test_the_same_calls_answer_the_same_with_and_without_mgp(
    several: Gateway, door: str
) -> None:
    """MGP-1.2-1: MCP behaviour is extended, never modified."""

    async def seen(can: dict[str, Any]) -> list[Any]:
        async with host(several, door, can=can) as client:
            results = [
                await client.call("asker__structured", a=2, b=3),
                await client.request("resources/read", {"uri": "asker:///alpha"}),
                await client.request("prompts/get", {"name": "asker__plain"}),
            ]
            listed = (await client.request("tools/list"))["tools"]
            for one in listed:
                one.pop("security", None)
                one.get("_meta", {}).pop("dev.cloto/security", None)
                if not one.get("_meta", True):
                    del one["_meta"]
            return [*results, listed]

    assert await seen({}) == await seen(OFFER)


@pytest.mark.parametrize(
    "method", ["mgp/events/subscribe", "mgp/access/grant", "mgp/tools/discover"]
)
@pytest.mark.parametrize("door", DOORS)
async def test_what_was_not_negotiated_does_not_exist(
    several: Gateway, door: str, method: str
) -> None:
    """MGP-1.2-2."""
    audit_only = {"mgp": {"version": "0.2.0", "extensions": ["audit"]}}
    async with host(several, door, can=audit_only) as client:
        with pytest.raises(RpcError) as caught:
            await client.request(method, {"channels": ["system.error"]})
        assert caught.value.code == -32601


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A gateway whose servers are granted only in part, and one of whose tools is dangerous."""
    tools = {
        "echo": {"risk_level": "dangerous"},
    }
    open_door = server("extras", tools={"mirror": {"validator": "sandbox"}})
    content = config(
        server("echo", tools=tools),
        open_door,
        server("asker"),
        grants=[
            {"agent": "*", "server": "echo"},
            {"agent": "*", "server": "extras"},
        ],
        approvals={"approver": "caller"},
    )
    with running(tmp_path_factory.mktemp("guarded"), content) as gateway:
        yield gateway


def target_calls(gateway: Gateway, tool: str) -> list[dict[str, Any]]:
    """The records of a tool that say that it was forwarded."""
    return [
        one
        for one in gateway.audit("--tool", tool)
        if one["event_type"] in ("TOOL_EXECUTED", "dev.gatewright.intent")
    ]


async def test_a_dangerous_tool_without_a_grant_of_its_own_never_runs(guarded: Gateway) -> None:
    """MGP-1.2-3 and MGP-4.4-3: neither confirmation nor permission, so refused."""
    async with host(guarded) as client:
        result = await client.call("echo__echo", message="x")
        assert result["isError"] is True
        assert "confirmation_required" in result["content"][0]["text"]
    async with host(guarded, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("echo__echo", message="x")
        assert caught.value.code == 1000
        assert caught.value.data["_mgp"]["category"] == "security"
    assert target_calls(guarded, "echo") == []


async def test_a_person_may_confirm_a_dangerous_tool(guarded: Gateway) -> None:
    """MGP-4.4-3: either lets it run."""
    said: list[str] = []

    def agree(method: str, params: dict[str, Any]) -> dict[str, Any]:
        said.append(params["message"])
        return {"action": "accept", "content": {"confirm": True}}

    for door in ("http 2025-11-25", "http 2026-07-28"):
        async with host(guarded, door, can={"elicitation": {}}, answer=agree) as client:
            assert await client.text("echo__echo", message="x") == "x"
    assert len(said) == 2
    assert "echo" in said[0]


async def test_what_was_granted_to_nobody_is_neither_listed_nor_callable(guarded: Gateway) -> None:
    """MGP-5.5-1: a fresh kernel allows what its configuration grants and nothing else."""
    async with host(guarded) as client:
        assert not [one for one in await client.tools() if one.startswith("asker")]
        result = await client.call("asker__structured", a=1, b=1)
        assert result["isError"] is True
    async with host(guarded, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("asker__structured", a=1, b=1)
        assert caught.value.code == 1001


@pytest.mark.parametrize("argument", ["$(id)", "a|b", "rm -rf x"])
async def test_a_server_that_checks_nothing_never_gets_a_blocked_argument(
    guarded: Gateway, argument: str
) -> None:
    """MGP-1.2-4, MGP-1.3-3, MGP-4.5-1 and MGP-4.5-6: the kernel's validator stands before the server.

    The strings are inert: the tool only says what it got.
    """
    before = len(target_calls(guarded, "mirror"))
    async with host(guarded, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("extras__mirror", value=argument)
        assert caught.value.code == 1010
        await client.call("extras__mirror", value="plain")
    assert len(target_calls(guarded, "mirror")) == before + 1


async def test_every_decision_leaves_exactly_one_record(guarded: Gateway) -> None:
    """MGP-1.2-5, MGP-6.4-1, MGP-6.4-2 and MGP-6.4-10."""
    async with host(guarded) as client:
        trace = "11111111-2222-4333-8444-555555555555"
        for arguments in ({"value": "fine"}, {"value": "a;b"}):
            await client.request(
                "tools/call",
                {"name": "extras__mirror", "arguments": arguments, "trace_id": trace},
            )
        await client.request(
            "tools/call", {"name": "asker__meta", "arguments": {}, "trace_id": trace}
        )
    kinds = [one["event_type"] for one in guarded.audit("--trace", trace)]
    assert sorted(kind for kind in kinds if kind != "dev.gatewright.intent") == [
        "TOOL_BLOCKED",
        "TOOL_BLOCKED",
        "TOOL_EXECUTED",
        "VALIDATION_FAILED",
    ]


async def test_four_pairings_work_with_one_configuration(tmp_path: Path) -> None:
    """MGP-1.3-2, MGP-1.3-4 and MGP-1.3-5: MCP and MGP hosts before MCP and MGP servers."""
    mgp = server("mgp_server", "governed", mgp={"extensions": ["security", "audit"]})
    with running(tmp_path, config(server("echo"), mgp)) as gateway:
        for can in ({}, OFFER):
            async with host(gateway, can=can) as client:
                assert await client.text("echo__echo", message="m") == "m"
                assert json.loads(await client.text("governed__hello"))["extensions"] == [
                    "security",
                    "audit",
                ]
                listed = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
                assert ("security" in listed["governed__hello"]) == bool(can)
                notes = {one["method"] for one in client.notes}
                told = {one for one in notes if one.startswith("notifications/mgp.")}
                assert told <= ({"notifications/mgp.audit"} if can else set())  # who offered it


@pytest.mark.parametrize("door", EVERY_DOOR)
async def test_one_transcript_reads_the_same_at_every_door(several: Gateway, door: str) -> None:
    """MGP-1.4-1, MGP-1.4-2 and MGP-1.4-3."""
    async with host(several, door) as client:
        result = await client.call("echo__echo", message="same")
        assert result["content"] == [{"type": "text", "text": "same"}]
        with pytest.raises(RpcError) as caught:
            await client.request("prompts/get", {"name": "nobody"})
        assert caught.value.code == -32602
        assert caught.value.data["reason"] == "not_found"


TRANSCRIPT: list[tuple[str, dict[str, Any]]] = [
    ("tools/list", {}),
    ("tools/call", {"name": "echo__echo", "arguments": {"message": "same"}}),
    ("tools/call", {"name": "echo__echo", "arguments": {"message": 5}}),
    ("tools/call", {"name": "echo__none", "arguments": {}}),
    ("prompts/list", {}),
    ("prompts/get", {"name": "nobody"}),
    ("resources/list", {}),
    ("resources/templates/list", {}),
    ("resources/read", {"uri": "none:none"}),
    ("mgp/health/ping", {}),
    ("mgp/no/such", {}),
    ("no/such", {}),
]


@pytest.mark.parametrize("can", [{}, OFFER], ids=["plain", "mgp"])
@pytest.mark.parametrize("revision", ["2025-11-25", MODERN])
async def test_a_transcript_has_the_same_bodies_at_every_transport(
    several: Gateway, revision: str, can: dict[str, Any]
) -> None:
    """MGP-1.4-3: results and errors whole, the hello included, but for the marks of the request."""
    doors = [one for one in EVERY_DOOR if one.endswith(revision)]
    assert len(doors) >= 3
    said: dict[str, list[Any]] = {}
    for door in doors:
        async with host(several, door, can=can) as client:
            said[door] = [client.hello]
            for method, params in TRANSCRIPT:
                ident = await client.start(method, params)
                try:
                    found: Any = await client.finish(ident)
                except RpcError as problem:
                    found = [problem.code, problem.message, problem.data]
                said[door].append(found)
    bodies = {door: [_without_marks(one) for one in every] for door, every in said.items()}
    first = bodies[doors[0]]
    assert [isinstance(one, list) for one in first].count(True) >= 4
    for door in doors:
        for number, (method, _) in enumerate([("hello", {}), *TRANSCRIPT]):
            assert bodies[door][number] == first[number], (door, method)


def _without_marks(body: Any) -> Any:
    """An answer without traces, which differ from one to the next."""
    return json.loads(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "ID", json.dumps(body)))


@pytest.mark.parametrize("door", [*DOORS, "sse 2025-11-25"])
async def test_a_message_without_jsonrpc_2_0_is_an_invalid_request(
    several: Gateway, door: str
) -> None:
    """MGP-1.5-1."""
    async with host(several, door) as client:
        for number, version in enumerate(('"1.0"', "2.0", "null", ""), 900):
            member = version and f'"jsonrpc":{version},'
            frame = f'{{{member}"id":{number},"method":"ping"}}'
            with pytest.raises(RpcError) as caught:
                await client.finish(await client.start_raw(number, frame))
            assert caught.value.code == -32600


# Who has neither a name nor a connection of its own hears of nothing.
@pytest.mark.parametrize("door", [one for one in EVERY_DOOR if one != f"http {MODERN}"])
async def test_what_the_extension_notifies_of_wants_no_answer(several: Gateway, door: str) -> None:
    """MGP-1.5-2 and MGP-1.5-3: a frame of a notification has its prefix and no id."""
    async with host(several, door, can=OFFER) as client:
        if MODERN in door:
            await client.start("subscriptions/listen", {"notifications": {"dev.cloto/audit": True}})
            await client.note("notifications/subscriptions/acknowledged")
        await client.call("echo__echo", message="told")
        note = await client.note("notifications/mgp.audit")
        frames = [json.loads(one) for one in client.frames]
    assert set(note) == {"jsonrpc", "method", "params"}
    told = [one for one in frames if str(one.get("method")).startswith("notifications/")]
    assert note in told
    assert not [one for one in told if "id" in one]


def test_every_method_of_the_extension_has_its_prefix() -> None:
    """MGP-1.5-2: of all names in the source, those that are MGP's are spelled so; what is served is in tests/app."""
    source = Path(__file__).parents[2] / "src"
    names = set()
    for file in source.rglob("*.py"):
        names |= set(re.findall(r'"((?:notifications/)?mgp[./][a-z_./]+)"', file.read_text()))
    names -= {"mgp.toml", "mgp.schema.json"}  # files
    names -= {"mgp.trust_level", "mgp.permissions_required"}  # keys of a server
    assert names
    assert all(re.match(r"mgp/[a-z]+(/[a-z]+)*$|notifications/mgp\.[a-z.]*$", one) for one in names)
