"""The edges of handling calls: what is asked wrongly, and what is remembered."""

from __future__ import annotations

import asyncio
import time
from threading import Thread
from typing import Any

import pytest

from gatewright.sdk import Context, Registry, TimeLimits
from gatewright.sdk.errors import TransportError
from gatewright.sdk.server import Server
from tests.sdk.server.made import made
from tests.sdk.server.raw import Raw


@pytest.mark.parametrize(
    ("method", "params", "code"),
    [
        ("tools/list", {"cursor": "x"}, -32602),
        ("prompts/get", {"name": "no"}, -32602),
        ("prompts/get", {"name": "greet"}, -32602),
        ("prompts/get", {"name": "greet", "arguments": {"name": 7}}, -32602),
        ("prompts/get", {"name": "greet", "arguments": {"name": "a", "odd": "b"}}, -32602),
        ("resources/read", {"uri": "x://y"}, -32002),
        ("resources/subscribe", {"uri": "x://y"}, -32602),
        ("completion/complete", {"ref": 1}, -32602),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": []}, "argument": {}},
            -32602,
        ),
        ("completion/complete", {"ref": {"uri": {}}, "argument": {}}, -32602),
        ("completion/complete", {"ref": {"type": "ref/prompt"}, "argument": {}}, -32602),
        ("logging/setLevel", {"level": "loud"}, -32602),
        ("no/method", {}, -32601),
    ],
)
async def test_what_is_asked_wrongly_is_an_error_of_the_protocol(
    method: str, params: dict[str, Any], code: int
) -> None:
    raw = Raw(made())
    await raw.initialize({})
    assert (await raw.send(method, params))["error"]["code"] == code


async def test_a_plain_client_reads_a_refused_call_as_a_failed_result() -> None:
    raw = Raw(made())
    await raw.initialize({})
    found = await raw.ask("tools/call", {"name": "wipe"})
    assert found["isError"]
    assert "destructive" in found["content"][0]["text"]


async def test_an_mgp_client_reads_it_as_an_error_with_the_way_out() -> None:
    """MGP-14.4-1."""
    raw = Raw(made())
    await raw.initialize({"mgp": {"version": "0.2.0", "extensions": []}})
    error = (await raw.send("tools/call", {"name": "wipe"}))["error"]
    assert error["code"] == 1000
    assert error["data"]["_mgp"]["category"] == "security"
    assert error["data"]["_mgp"]["retryable"] is False


async def test_a_resource_is_read_once_while_it_holds() -> None:
    """GGEN-p4-4: the second read is served from the cache; after the TTL it is read again."""
    count = 0
    now = [0.0]
    server = Server("s", clock=lambda: now[0])

    @server.resource("n://n", ttl_s=5)
    def number() -> str:
        nonlocal count
        count += 1
        return str(count)

    raw = Raw(server)
    await raw.initialize({})
    for _ in range(2):
        assert (await raw.ask("resources/read", {"uri": "n://n"}))["contents"][0]["text"] == "1"
    server.resource_changed("n://n")
    assert (await raw.ask("resources/read", {"uri": "n://n"}))["contents"][0]["text"] == "2"
    for moment, wanted in ((4.9, "2"), (5.1, "3")):
        now[0] = moment
        read = await raw.ask("resources/read", {"uri": "n://n"})
        assert read["contents"][0]["text"] == wanted


async def test_a_function_that_breaks_is_an_internal_error_without_its_secrets() -> None:
    server = Server("s")

    @server.resource("n://n")
    def broken() -> str:
        raise RuntimeError("password hunter2")

    raw = Raw(server)
    await raw.initialize({})
    error = (await raw.send("resources/read", {"uri": "n://n"}))["error"]
    assert error["code"] == -32603
    assert "hunter2" not in str(error)


async def test_proposals_may_look_at_what_is_settled() -> None:
    server = made()

    @server.completion("greet", "tone")
    async def tones(typed: str, settled: dict[str, str]) -> list[str]:
        return [f"{typed} {settled.get('name')}"]

    raw = Raw(server)
    await raw.initialize({})
    asked = {
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "tone", "value": "k"},
        "context": {"arguments": {"name": "Ann"}},
    }
    assert (await raw.ask("completion/complete", asked))["completion"]["values"] == ["k Ann"]
    asked["argument"] = {"name": "other", "value": ""}
    assert (await raw.ask("completion/complete", asked))["completion"]["values"] == []


@pytest.mark.no_cover
async def test_resources_and_prompts_have_the_time_of_a_tool_and_no_more() -> None:
    registry = Registry(limits=TimeLimits(tool_s=0.05))
    server = Server("s", registry=registry)

    @server.resource("n://n")
    async def slow() -> str:
        await asyncio.sleep(60)
        return ""

    @server.prompt
    def slower() -> str:
        while True:
            time.sleep(0.001)

    raw = Raw(server)
    await raw.initialize({})
    read = await raw.send("resources/read", {"uri": "n://n"})
    got = await raw.send("prompts/get", {"name": "slower"})
    assert [one["error"]["data"]["reason"] for one in (read, got)] == ["timeout", "timeout"]
    assert "slow did not end within 0.05 s" in read["error"]["message"]


async def test_every_call_is_answered_whatever_its_function_does_to_its_task() -> None:
    """GGEN-err-8: a tool that is cancelled from inside, or wants to end the process."""
    server = Server("left")

    @server.tool
    async def cancelled() -> int:
        raise asyncio.CancelledError

    @server.tool
    async def leaves() -> int:
        raise SystemExit(3)

    @server.tool(timeout_s=20)
    async def left(context: Context | None = None) -> float:
        return -1.0 if context is None else context.remaining_s()

    @server.prompt
    async def ask(context: Context) -> str:
        return "in time" if context.remaining_s() <= server.registry.limits.tool_s else "never"

    raw = Raw(server)
    await raw.initialize({})
    for name in ("cancelled", "leaves"):
        found = await raw.ask("tools/call", {"name": name})
        assert (found["isError"], found["content"][0]["text"][:13]) == (True, "RuntimeError:")
    found = await raw.ask("tools/call", {"name": "left"})
    assert 0 < found["structuredContent"]["result"] <= 20
    prompt = await raw.ask("prompts/get", {"name": "ask"})
    assert prompt["messages"][0]["content"]["text"] == "in time"


async def test_an_authors_word_about_another_call_says_nothing_of_this_one() -> None:
    """A method that asked two others and could not reach the second has done something all the same."""
    server = Server("s")

    @server.method("acme/pay")
    def pay(params: dict[str, Any], context: Context) -> dict[str, Any]:
        raise TransportError("the second one is down", details={"sent": False, "where": "b"})

    raw = Raw(server)
    await raw.initialize({"mgp": {"version": "0.2.0", "extensions": []}})
    error = (await raw.send("acme/pay", {}))["error"]
    assert (error["code"], error["data"]["_mgp"]["retryable"]) == (5002, False)
    assert error["data"]["_mgp"]["details"] == {"where": "b"}


async def test_a_change_while_a_list_is_made_leaves_no_old_list(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tools are registered by threads, too."""
    server = made()
    raw = Raw(server)
    await raw.initialize({})
    listed, before = server.registry.list, len(server.registry.list())

    def meanwhile() -> Any:
        found = listed()
        if len(found) == before:
            Thread(target=lambda: server.tool(_late)).start()
            while len(listed()) == before:
                pass
        return found

    monkeypatch.setattr(server.registry, "list", meanwhile)
    assert len((await raw.ask("tools/list", {}))["tools"]) == before
    assert len((await raw.ask("tools/list", {}))["tools"]) == before + 1


def _late() -> str:
    """Come late."""
    return "late"


async def test_a_method_of_the_authors_own_sees_that_nobody_waits_any_more() -> None:
    begun = asyncio.Event()
    seen: list[Context] = []
    server = Server("s")

    @server.method("acme/look")
    async def look(params: dict[str, Any], context: Context) -> dict[str, Any]:
        seen.append(context)
        begun.set()
        await asyncio.Event().wait()
        return {}

    raw = Raw(server)
    await raw.initialize({})
    asking = asyncio.ensure_future(raw.send("acme/look", {}))
    await asyncio.wait_for(begun.wait(), 10)
    raw._pipe.close()
    async with asyncio.timeout(10):
        while not seen[0].cancelled:
            await asyncio.sleep(0)
    asking.cancel()


async def test_what_a_person_takes_to_answer_is_no_time_of_a_method_either() -> None:
    server = Server("s", registry=Registry("s", limits=TimeLimits(tool_s=0.3)))

    @server.method("acme/ask")
    async def asks(params: dict[str, Any], context: Context) -> dict[str, Any]:
        running = context.running
        assert running is not None
        loop = asyncio.get_running_loop()
        running.asks(loop.time())
        await asyncio.sleep(0.6)  # as a question would
        running.asked(loop.time())
        return {"left": context.remaining_s() > 0}

    raw = Raw(server)
    await raw.initialize({})
    assert await raw.ask("acme/ask", {}) == {"left": True}
