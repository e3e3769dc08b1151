"""No second spelling of a member reaches a server: every door, every message, every known member, every folding that some decoder makes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.answered import ANSWERED, answered
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host
from tests.behaviour.member_names import ARGUMENTS, PARAMS, cases, differently, foldings
from tests.behaviour.messages import unlimited
from tests.behaviour.test_task_handles import keys
from tests.rooms.foreign import Guest

DOORS = (
    "http 2025-11-25",
    "http 2026-07-28",
    "stdio 2025-11-25",
    "websocket 2025-11-25",
    "sse 2024-11-05",
)
AT_ONCE = 40
TOKENS = {name: f"token-of-{name}-0123456789" for name in ("ana", "bob")}
ROOMS: dict[str, Any] = {
    "participants": [{"id": name, "token": TOKENS[name], "profile": "full"} for name in TOKENS],
    "kernel": {"topics": ["desk"]},
}
POINTED = {
    "validator": "paths",
    "validator_args": ["/path"],
    "validator_options": {"root": "/srv"},
}
REQUESTS = [one for one in PARAMS if not one.startswith("notifications/")]
TOLD = [one for one in PARAMS if one.startswith("notifications/")]


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("members")
    declared = ["acme/*", "notifications/acme.*"]
    loose = server("loose", "loose", str(folder / "loose.log"), methods=declared)
    more: dict[str, Any] = {"profiles": {"small": {}}, "mcp": unlimited(), "rooms": ROOMS}
    with running(folder, config(loose, **more)) as gateway:
        yield gateway


def got(gateway: Gateway) -> list[dict[str, Any]]:
    """What the server got."""
    return [json.loads(one) for one in (gateway.folder / "loose.log").read_text().splitlines()]


def misled(gateway: Gateway) -> list[dict[str, Any]]:
    return [one for one in got(gateway) if differently(one)]


async def each(jobs: list[Any]) -> None:
    for at in range(0, len(jobs), AT_ONCE):
        await asyncio.gather(*jobs[at : at + AT_ONCE])


@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", DOORS)
async def test_no_second_spelling_in_a_request_reaches_a_server(house: Gateway, door: str) -> None:
    async with host(house, door) as client:

        async def refused(number: int, message: dict[str, Any], what: str) -> None:
            ident = f"m{number}"
            message["params"] = client._with_meta(message["params"])
            frame = json.dumps({"jsonrpc": "2.0", "id": ident, **message})
            with pytest.raises(RpcError) as no:
                await client.finish(await client.start_raw(ident, frame))
            reads = "reads as" in no.value.message
            assert reads or no.value.code in (-32601, -32020), (message, what, str(no.value))

        every = [one for method in REQUESTS for one in cases(method)]
        await each([refused(n, *one) for n, one in enumerate(every) if "id as" not in one[1]])
        assert await client.text("loose__read", path="a") == "ran"
    assert misled(house) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("door", DOORS)
async def test_no_second_spelling_in_a_notification_reaches_a_server(
    house: Gateway, door: str
) -> None:
    async with host(house, door, can={"roots": {"listChanged": True}}) as client:
        every = [one for method in TOLD for one in cases(method)]
        await each([client.say(one) for one, _ in every])
        for _ in range(3):
            assert await client.text("loose__read", path="a") == "ran"
    assert misled(house) == []


@pytest.mark.timeout(120)
@pytest.mark.parametrize("way", list(ANSWERED))
async def test_no_second_spelling_reaches_a_server_where_callers_are_only_answered(
    house: Gateway, way: str
) -> None:
    (ann,) = keys(house.folder, f"ann-{way.replace(' ', '-')}")
    async with answered(house, way, ann["authorization"].removeprefix("Bearer ")) as client:
        for number, (message, _) in enumerate([*cases("tools/call"), *cases("resources/read")]):
            if way == "rest" and "name" not in message["params"]:
                continue
            if "id" not in message and number % 3 == 0:
                await client.send({"id": f"m{number}", **message})
    assert misled(house) == []


async def came_of(client: Host, tool: str, words: dict[str, Any]) -> str:
    """What a call came to, told as a result or as an error."""
    try:
        return await client.text(tool, **words)
    except RpcError as no:
        return no.message


def arguments() -> Iterator[tuple[dict[str, Any], bool]]:
    """Arguments with one second spelling, and whether it is one: in a table of words it is not."""
    for known in ARGUMENTS:
        for name in foldings(known):
            yield {"path": "a", name: "b"}, True
            yield {name: "b"}, True
    for name in foldings("mode"):
        yield {"options": {"mode": "r", name: "w"}}, True
        yield {"options": {name: "w"}}, True
    for name in foldings("key"):
        yield {"rows": [{"key": 1}, {"key": 1, name: 2}]}, True
    yield {"stranger": 1, "Stranger": 2}, True
    yield {"words": {"path": "a", "Path": "b", "PATH": "c"}}, False
    yield {"stranger": 1, "other": {"mode": 1, "Mode": 2}}, False
    yield {"path": "a", "paths": "b", "pa": 1, "th": 2, "_": 3, "-": 4}, False


@pytest.mark.parametrize("door", ["http 2025-11-25", "http 2026-07-28"])
async def test_no_second_spelling_of_an_argument_reaches_a_server(
    house: Gateway, door: str
) -> None:
    async with host(house, door) as client:
        for words, twice in arguments():
            if not twice:
                assert await client.text("loose__read", **words) == "ran", words
                assert words in [
                    one["params"]["arguments"]
                    for one in got(house)[-3:]
                    if one.get("method") == "tools/call"
                ]
                continue
            assert "reads as" in await came_of(client, "loose__read", words), words
    assert misled(house) == []


async def test_members_that_nobody_knows_reach_the_server(house: Gateway) -> None:
    """C-62: what reads as nothing known passes, wherever it stands."""
    more = {"vendorOption": {"a": 1}, "names": [1], "x-name": 2, "Uri": 3, "uris": 4}
    meta = {"acme/progressToken": 5, "Server": 6}
    asked = {"name": "loose__read", "arguments": {"path": "a"}, **more, "_meta": meta}
    async with host(house) as client:
        await client.request("tools/call", asked)
        await client.request("acme/work", {"Name": "x", "URI": "y", "Arguments": {}})
    call, own = [one for one in got(house) if one["method"] in ("tools/call", "acme/work")][-2:]
    assert call["params"] == {**asked, "name": "read"}
    assert own["params"] == {"Name": "x", "URI": "y", "Arguments": {}}


@pytest.mark.parametrize("words", [{"Path": "/etc/passwd"}, {"path": "/srv/a", "PATH": "/etc/x"}])
async def test_what_a_validator_points_at_has_one_spelling(
    tmp_path: Path, words: dict[str, str]
) -> None:
    """Also where the schema says nothing, or is not enforced."""
    tools = {"free": POINTED, "read": POINTED}
    log = str(tmp_path / "loose.log")
    with running(
        tmp_path, config(server("loose", "loose", log, tools=tools, schema="off"))
    ) as gateway:
        async with host(gateway) as client:
            for tool in ("loose__free", "loose__read"):
                assert await client.text(tool, path="/srv/a", other="b") == "ran"
                assert "reads as" in await came_of(client, tool, words)
        assert misled(gateway) == []


# -- what servers say


async def test_no_second_spelling_in_a_definition_reaches_a_host(house: Gateway) -> None:
    """A tool that is called `say` here and `pay` there would be shown as another's; other members pass."""
    async with host(house) as client:
        tools = {one["name"]: one for one in (await client.request("tools/list"))["tools"]}
    shown = {"name", "description", "inputSchema", "outputSchema"}
    assert {*tools["loose__say"]} - {"annotations", "execution", "_meta"} == shown
    assert tools["loose__free"]["vendor"] == 1


OURS = {"dev.gatewright/tool": {"name": "forged"}}
RESULTS: list[dict[str, Any]] = [
    *({"structuredContent": {"amount": 1}, one: {}} for one in foldings("structuredContent")),
    *({one: {"amount": "forged"}} for one in foldings("structuredContent")),
    *({"structuredContent": {"amount": 1, one: "forged"}} for one in foldings("amount")),
]


async def test_structured_content_has_one_spelling(house: Gateway) -> None:
    """It is held against the tool's schema, which a second one would not be."""
    async with host(house) as client:
        fits = {"content": [], "structuredContent": {"amount": 1, "other": 2}}
        assert (await client.call("loose__say", result=fits))["structuredContent"]["other"] == 2
        odd = {*foldings("structuredContent")}
        for one in RESULTS:
            text = [{"type": "text", "text": "ok"}]
            said = await came_of(client, "loose__say", {"result": {"content": text, **one}})
            assert "reads as" in said or not ({*json.loads(client.frames[-1])["result"]} & odd), one


async def test_what_only_the_gateway_says_is_not_said_under_a_second_spelling(
    house: Gateway,
) -> None:
    async with host(house) as client:
        for one in foldings("_meta"):
            found = await client.call("loose__free", result={"content": [], one: OURS, "x": 1})
            assert found == {"content": [], "x": 1}, one
        for one in (*foldings("retryable"), *foldings("retry_after_ms"), *foldings("_mgp")):
            error = {"code": 5001, "message": "no", "data": {one: {"retryable": True}, "x": 1}}
            with pytest.raises(RpcError) as no:
                await client.call("loose__free", error=error)
            assert one not in no.value.data, one
        for one in foldings("data"):
            error = {"code": 5001, "message": "no", one: {"retryable": True}}
            with pytest.raises(RpcError):
                await client.call("loose__free", error=error)
            assert one not in json.loads(client.frames[-1])["error"], one


FORM = {"mode": "form", "message": "m", "requestedSchema": {"type": "object", "properties": {}}}
LOG = {"level": "error", "data": "x"}
FAR = {"progressToken": 0, "progress": 1}
SAID: list[dict[str, Any]] = [
    *(
        {"method": f"notifications/{what}", "params": {**params, one: "forged"}}
        for what, params, known in (
            ("message", LOG, "logger"),
            ("message", LOG, "data"),
            ("progress", FAR, "progressToken"),
            ("resources/updated", {"uri": "loose:///a"}, "uri"),
        )
        for one in foldings(known)
    ),
    *(
        {"id": f"q{known}{n}", "method": "elicitation/create", "params": {**FORM, one: "forged"}}
        for known in ("mode", "url", "message", "requestedSchema")
        for n, one in enumerate(foldings(known))
    ),
]


async def test_no_second_spelling_in_what_a_server_says_meanwhile_reaches_a_host(
    house: Gateway,
) -> None:
    """Whom a log line comes from, how far whose call is, and where a person is led to."""
    asked: list[Any] = []

    def answer(method: str, params: dict[str, Any]) -> None:
        asked.append((method, params))

    last = {"method": "notifications/message", "params": {**LOG, "data": "last"}}
    can: dict[str, Any] = {"elicitation": {"form": {}, "url": {}}}
    async with host(house, can=can, answer=answer) as client:
        await client.call("loose__free", said=[*SAID, last])
        assert (await client.note("notifications/message"))["params"]["data"] == "last"
        assert [one for one in client.notes if "list_changed" not in one["method"]] == []
    assert asked == []


async def test_no_second_spelling_in_a_room_is_carried_out_or_passed_on(house: Gateway) -> None:
    """The payload is the receivers' to judge, and the gateway is one; the envelope is judged for all."""
    ana = await Guest(house.urls["rooms"], "desk", TOKENS["ana"]).connect()
    bob = await Guest(house.urls["rooms"], "desk", TOKENS["bob"]).connect()
    kind = "mcp/request:tools/call:loose__read"
    for number, (message, what) in enumerate(cases("tools/call")):
        if number % 3 or "id" in message:
            continue
        call = {"jsonrpc": "2.0", "id": number, **message}
        await ana.post(kind, call, to=["gatewright"])
        answer = await ana.next("mcp/response:tools/call:loose__read")
        assert "reads as" in json.dumps(answer), what
    for known in ("kind", "payload", "to", "from", "correlation_id", "protocol", "id"):
        for name in foldings(known):
            said = ana.envelope("chat", {"text": "x", "format": "plain"}, **{name: "chat"})
            await ana.raw(json.dumps(said))
            refusal = await ana.next("system/error")
            assert "reads as" in json.dumps(refusal), name
    await ana.chat("last")
    assert (await bob.next("chat"))["payload"]["text"] == "last"
    await ana.leave()
    await bob.leave()
    assert misled(house) == []
