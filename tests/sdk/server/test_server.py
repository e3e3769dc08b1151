"""A server made with the SDK, asked by clients of both eras, without any wire and over every wire."""

from __future__ import annotations

import asyncio
import sys
import threading
from typing import Any

import pytest

from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.wire.versions import LEGACY
from gatewright.sdk import REGISTRY, Registry, mcp_tool
from gatewright.sdk.client import Client, Options, SyncClient
from gatewright.sdk.errors import (
    AccessError,
    RegistrationError,
    SchemaError,
    SdkError,
    TimeoutError,
    ToolNotFoundError,
    TransportError,
)
from gatewright.sdk.server import Context, Server
from tests.sdk.client.scripted import within
from tests.sdk.server.made import clients, made, yes
from tests.sdk.server.raw import Raw

FIVE_LINES = """
from gatewright.sdk import mcp_tool, serve
@mcp_tool
def add(a: int, b: int) -> int: return a + b
print("this goes to the log")
serve()
"""


async def test_a_tool_is_listed_called_and_checked_in_both_eras() -> None:
    """CDM-con-3, MGP-4.1-1, CDM-err-2, CDM-err-3."""
    async with clients(made()) as both:
        for client in both:
            listed = {one.name: one for one in await within(client.list_tools())}
            assert listed["add"].description == "Add two numbers."
            assert listed["add"].security["risk_level"] == "moderate"
            assert listed["wipe"].security["risk_level"] == "dangerous"
            assert (await within(client.call_tool("add", {"a": 1, "b": 2}))).value == 3
            with pytest.raises(SchemaError, match="a of add"):
                await within(client.call_tool("add", {"a": "x", "b": 2}))
            with pytest.raises(ToolNotFoundError, match="did you mean add"):
                await within(client.call_tool("ad", {}))
            failed = await within(client.call_tool("broken"))
            assert failed.is_error
            assert "not today" in failed.text


@pytest.mark.parametrize("place", ["mgp", "experimental", "extensions"])
async def test_the_minimum_of_mgp_is_negotiation_and_security_metadata(place: str) -> None:
    """MGP-8.1-1, MGP-2.3-1, MGP-2.4-3: offered in any of the three places, answered in the same one."""

    offer = {"version": "0.2.0", "extensions": ["security", "zzz"]}
    places: dict[str, dict[str, Any]] = {
        "mgp": {"mgp": offer},
        "experimental": {"experimental": {"mgp": offer}},
        "extensions": {"extensions": {"dev.cloto/mgp": offer}},
    }
    raw = Raw(made())
    hello = await raw.initialize(places[place])
    inner: Any = hello["capabilities"]
    for key in {"mgp": ["mgp"], "experimental": ["experimental", "mgp"]}.get(
        place, ["extensions", "dev.cloto/mgp"]
    ):
        inner = inner[key]
    assert inner == {"version": "0.2.0", "extensions": ["security"]}
    tools = (await raw.ask("tools/list"))["tools"]
    assert all(one["security"] == one["_meta"]["dev.cloto/security"] for one in tools)


@pytest.mark.parametrize("revision", LEGACY)
async def test_who_offers_no_mgp_sees_no_word_of_it_in_any_revision(revision: str) -> None:
    """MGP-2.4-3, MGP-4.2-2."""

    raw = Raw(made())
    hello = await raw.initialize({}, revision)
    assert hello["protocolVersion"] == revision
    listed = await raw.ask("tools/list")
    assert "mgp" not in str(hello)
    assert "security" not in str(listed)


async def test_an_author_says_who_the_server_is_for_mgp() -> None:
    """MGP-2.3-2."""
    face = Face(("security", "audit"), server_id="made.one", trust_level="trusted")
    server = made(face=face, instructions="Be careful.")
    async with Client(server, Options(era="legacy")) as client:
        assert client.hello is not None
        said = client.hello.capabilities["mgp"]
        assert said == {
            "version": "0.2.0",
            "extensions": ["security", "audit"],
            "server_id": "made.one",
            "trust_level": "trusted",
        }
        assert client.hello.instructions == "Be careful."


async def test_progress_and_log_lines_travel_while_the_tool_runs() -> None:
    lines: list[Any] = []
    heard: list[Any] = []
    options: dict[str, Any] = {"on_event": lambda method, params: lines.append(params)}
    async with clients(made(), **options) as both:
        for client in both:
            heard.clear()
            lines.clear()
            await within(client.set_log_level("info"))
            await within(client.call_tool("told", on_progress=heard.append))
            assert [(one.progress, one.total, one.message) for one in heard] == [
                (1, 2, "half"),
                (2, 2, ""),
            ]
            assert lines == [{"level": "warning", "logger": "told", "data": {"odd": True}}]


@pytest.mark.parametrize("tool", ["order", "order_in_a_thread"])
async def test_the_user_is_asked_with_a_form_and_the_answer_is_a_value(tool: str) -> None:
    seen: list[Any] = []

    def answer(params: dict[str, Any]) -> dict[str, Any]:
        seen.append(params["requestedSchema"])
        return yes(params)

    async with clients(made(), elicit=answer) as both:
        for client in both:
            found = await within(client.call_tool(tool))
            assert "large" in found.text
            assert "3" in found.text
    assert seen[0]["properties"]["size"]["enum"] == ["small", "large"]
    assert seen[0]["required"] == ["size"]


async def test_a_client_that_cannot_be_asked_is_told_what_it_would_need() -> None:
    async with clients(made()) as (legacy, modern):
        with pytest.raises(SdkError, match="elicitation/create"):
            await within(legacy.call_tool("order"))
        with pytest.raises(SdkError) as caught:
            await within(modern.call_tool("order"))
    error = caught.value.details
    assert error["code"] == -32021
    assert error["data"]["requiredCapabilities"] == {"elicitation": {}}


async def test_what_a_person_takes_to_answer_is_not_the_tools_time() -> None:
    server = Server("patient")

    @server.tool(timeout_s=1.0)
    async def ask(context: Context) -> str:
        return (await context.elicit("?", {"type": "object", "properties": {}})).action

    async def think(params: dict[str, Any]) -> dict[str, Any]:
        await asyncio.sleep(1.2)
        return {"action": "decline"}

    async with Client(server, Options(era="legacy", elicit=think)) as client:
        assert (await within(client.call_tool("ask"))).text == "decline"


async def test_a_time_limit_cancels_and_a_destructive_tool_wants_trust() -> None:
    """CDM-err-6, CDM-con-8, CDM-con-9."""
    server = made()
    async with clients(server, retry=None) as both:
        for client in both:
            with pytest.raises(TimeoutError, match=r"slow did not end within 0\.05 s"):
                await within(client.call_tool("slow", {"seconds": 30}))
            with pytest.raises(AccessError, match="destructive"):
                await within(client.call_tool("wipe"))
        server.registry.trust.promote()
        server.registry.trust.promote()
        assert (await within(both[0].call_tool("wipe"))).text == "gone"


async def test_a_client_that_gives_up_cancels_the_tool() -> None:
    server = Server("waits")
    began, ended = asyncio.Event(), asyncio.Event()

    @server.tool
    async def wait() -> None:
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()

    async with clients(server) as both:
        for client in both:
            began.clear()
            ended.clear()
            call = asyncio.create_task(client.call_tool("wait"))
            await within(began.wait())
            call.cancel()
            await within(ended.wait())


async def test_resources_prompts_and_proposals_are_offered() -> None:
    async with clients(made()) as both:
        for client in both:
            assert [one.uri for one in await within(client.list_resources())] == ["config://app"]
            templates = await within(client.list_resource_templates())
            assert [one.uri for one in templates] == ["user://{name}/photo"]
            read = await within(client.read_resource("config://app"))
            assert read.text == '{"debug":false}'
            photo = await within(client.read_resource("user://A%20n/photo"))
            assert photo.contents[0]["blob"] == "QSBu"
            prompt = (await within(client.list_prompts()))[0]
            assert (prompt.title, prompt.description) == ("Greeting", "Greet somebody.")
            assert prompt.arguments == [
                {"name": "name", "required": True},
                {"name": "tone"},
            ]
            got = await within(client.get_prompt("greet", {"name": "Ann"}))
            assert [one["role"] for one in got.messages] == ["user", "assistant"]
            assert got.messages[0]["content"]["text"] == "Greet Ann, be kind."
            ref = {"type": "ref/prompt", "name": "greet"}
            assert (await within(client.complete(ref, "name", "An"))).values == ["Ann", "Anna"]
            said = await within(client.request("com.example/echo", {"text": "x"}))
            assert said.raw["said"] == "x"
            with pytest.raises(SdkError, match="there is no resource"):
                await within(client.read_resource("config://other"))


async def test_changes_are_told_to_who_listens() -> None:
    """CDM-mod-11: listChanged is honoured."""
    server = made()
    heard: asyncio.Queue[str] = asyncio.Queue()
    options: dict[str, Any] = {"on_event": lambda method, params: heard.put_nowait(method)}
    async with clients(server, **options) as both:
        for client in both:
            await within(client.watch("config://app"))
        for change, method in (
            (lambda: server.tool(_later), "notifications/tools/list_changed"),
            (lambda: server.remove("greet"), "notifications/prompts/list_changed"),
            (lambda: server.resource_changed("config://app"), "notifications/resources/updated"),
        ):
            thread = threading.Thread(target=change)
            thread.start()
            assert [await within(heard.get()) for _ in both] == [method, method]
            thread.join()
        assert "_later" in [one.name for one in await within(both[0].list_tools())]


def _later() -> str:
    return "late"


async def test_the_same_server_answers_over_http_and_websocket() -> None:
    """CDM-con-3."""
    served = await made().serve_http()
    try:
        for url in (served.url, served.url.replace("http", "ws", 1)):
            async with Client(url, Options(elicit=yes)) as client:
                assert client.hello is not None
                assert client.hello.revision == "2026-07-28"
                heard: list[Any] = []
                told = await within(client.call_tool("told", on_progress=heard.append))
                assert told.text == "anonymous"
                assert len(heard) == 2
                assert (await within(client.call_tool("order"))).text == "3 large"
            async with Client(url, Options(elicit=yes, era="legacy")) as client:
                assert (await within(client.call_tool("order"))).text == "3 large"
    finally:
        await served.stop()


async def test_tokens_say_who_calls_and_keep_strangers_out() -> None:
    """MGP-14.3-3 for a server of one's own."""
    served = await made(tokens={"hush": "ann", "hist": "bob"}).serve_http()
    try:
        for token, who in (("hush", "ann"), ("hist", "bob")):
            async with Client(served.url, Options(bearer=token)) as client:
                assert (await within(client.call_tool("told"))).text == who
        for wrong in (None, "other"):
            client = Client(served.url, Options(bearer=wrong))
            with pytest.raises(TransportError, match="401"):
                await within(client.connect())
            await client.close()
    finally:
        await served.stop()


async def test_an_open_address_without_tokens_has_to_be_meant() -> None:
    with pytest.raises(ValueError, match="anonymous=True"):
        await made().serve_http("0.0.0.0")
    served = await made().serve_http("0.0.0.0", anonymous=True)
    await served.stop()


def test_five_lines_are_a_server_on_stdio_and_its_prints_are_no_messages() -> None:
    log: list[str] = []
    options = Options(on_stderr=log.append)
    with SyncClient([sys.executable, "-c", FIVE_LINES], options) as client:
        assert client.call_tool("add", {"a": 20, "b": 22}).value == 42
    assert "this goes to the log" in log


def test_each_server_has_tools_of_its_own_unless_it_is_given_a_registry() -> None:
    before = len(REGISTRY)
    one, other = made(), Server("other")
    assert len(one.registry) > 1
    assert (len(other.registry), len(REGISTRY)) == (0, before)
    shared = Registry()
    mcp_tool(registry=shared, name="x")(_later)
    assert [tool.name for tool in Server("x", registry=shared).registry] == ["x"]


@pytest.mark.parametrize(
    "offer",
    [
        lambda server: server.resource("config://app")(_later),
        lambda server: server.resource("no uri")(_later),
        lambda server: server.resource("a://{b}")(_later),
        lambda server: server.prompt(_greet),
        lambda server: server.method("tools/mine")(_later),
        lambda server: server.method("Tools/Call")(_later),
        lambda server: server.method("my method")(_later),
        lambda server: server.method("com.example/echo")(_later),
        lambda server: server.remove("nothing"),
    ],
)
def test_what_cannot_be_offered_is_refused_with_the_reason(offer: Any) -> None:
    """CDM-con-4."""
    server = made()
    with pytest.raises(RegistrationError):
        offer(server)


def _greet() -> str:
    return "twice"


_greet.__name__ = "greet"


async def test_the_handshake_says_how_much_there_is() -> None:
    """CDM-mod-10, CDM-mod-11, C-41: the object of the contract in Python, the counts in `_meta` on the wire."""
    server = Server("codomyrmex-mcp", "1.0.5")

    @server.tool
    def look() -> str:
        return "looked"

    @server.resource("n://n")
    def number() -> str:
        return "1"

    counts = {"tools_count": 1, "resources_count": 1, "prompts_count": 0}
    said = await Raw(server).initialize({})
    assert said["_meta"] == counts
    assert said["serverInfo"] == {"name": "codomyrmex-mcp", "version": "1.0.5"}
    assert said["capabilities"]["tools"] == {"listChanged": True}
    assert server.described() == {
        "name": "codomyrmex-mcp",
        "version": "1.0.5",
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {"subscribe": True, "listChanged": True},
            "prompts": {"listChanged": True},
        },
        **counts,
    }
