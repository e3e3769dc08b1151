"""GRH-int-1: a scripted model's calls, validated, checked, called and processed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from gatewright.sdk import Server, ToolSecurity
from gatewright.sdk.client import Client, ModelCall, ModelCalls, Options, Outcome, model_calls
from gatewright.sdk.client.model_calls import read_call
from gatewright.sdk.errors import AccessError
from tests.sdk.client.scripted import Scripted, broken, text, within

ADD = {"a": 1, "b": 2}


def shop() -> Server:
    server = Server("shop")

    @server.tool(security=ToolSecurity(risk_level="safe"))
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool(
        security=ToolSecurity(risk_level="dangerous", permissions_required=("shell.execute",))
    )
    def run() -> str:
        return "ran"

    @server.tool
    def fail() -> str:
        raise ValueError("no such thing")

    @server.tool(destructive=True, security=ToolSecurity(risk_level="dangerous"))
    def wipe() -> str:
        return "gone"

    return server


@pytest.mark.parametrize(
    "given",
    [
        {"name": "add", "arguments": ADD},
        {"id": "c", "name": "add", "input": ADD, "type": "tool_use"},
        {"id": "c", "type": "function", "function": {"name": "add", "arguments": '{"a":1,"b":2}'}},
        {"call_id": "c", "type": "function_call", "name": "add", "arguments": '{"a": 1, "b": 2}'},
        {"functionCall": {"id": "c", "name": "add", "args": ADD}},
        ModelCall("add", ADD, "c"),
    ],
)
async def test_a_call_in_any_providers_form_goes_the_whole_way(given: Any) -> None:
    """GRH-int-1."""
    async with Client(shop()) as client:
        done = await within(ModelCalls(client).run(given))
    assert (done.ok, done.stage, done.text) == (True, "done", "3")
    assert done.result is not None
    assert done.result.value == 3
    assert done.call.id in ("", "c")


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "add", "arguments": {"a": "x", "b": 1}}, "/a"),
        ({"name": "add", "arguments": {"a": 1}}, "required"),
        ({"name": "ad", "arguments": {}}, "no tool 'ad'"),
        ({"arguments": {}}, "has a name"),
        ({"name": "add", "arguments": "{broken"}, "no tool call"),
        ({"name": "add", "arguments": [1]}, "an object"),
    ],
)
async def test_what_a_model_did_wrong_it_reads_and_no_server_hears_of(
    given: dict[str, Any], said: str
) -> None:
    """GRH-int-1: validation comes first."""
    server = shop()
    async with Client(server) as client:
        done = await within(ModelCalls(client).run(given))
    assert (done.ok, done.stage) == (False, "validation")
    assert said in done.text
    assert server.registry.usage.all() == {}


@pytest.mark.parametrize(
    ("name", "limits", "said"),
    [
        ("run", {"allowed": frozenset({"add"})}, "may not be called here"),
        ("run", {"max_risk": "moderate"}, "is dangerous"),
        ("run", {"permissions": frozenset({"memory.read"})}, "needs shell.execute"),
        ("run", {"permit": lambda call, tool: False}, "not permitted"),
    ],
)
async def test_what_is_not_permitted_is_not_called(
    name: str, limits: dict[str, Any], said: str
) -> None:
    """GRH-int-1: permissions come before the call."""
    server = shop()
    async with Client(server) as client:
        done = await within(ModelCalls(client, **limits).run({"name": name}))
    assert (done.ok, done.stage) == (False, "permission")
    assert said in done.text
    assert server.registry.usage.all() == {}


@pytest.mark.parametrize("wanted", ["shell.execute", {"shell.execute": True}, [7], [["x"]]])
async def test_what_a_tool_needs_and_cannot_say_is_not_held(wanted: Any) -> None:
    """GRH-int-1: a server's word that cannot be read is no permission."""
    tool = {"name": "run", "inputSchema": {}, "security": {"permissions_required": wanted}}
    scripted = Scripted({}, "", tools_list={"tools": [tool]})
    async with Client(scripted) as client:
        calls = ModelCalls(client, permissions=frozenset({"memory.read"}))
        done: Outcome = await within(calls.run({"name": "run"}))
    assert (done.ok, done.stage) == (False, "permission")
    assert "cannot be read" in done.text


async def test_who_holds_the_permission_by_any_of_its_names_may_call() -> None:
    async def agree(call: ModelCall, tool: Any) -> bool:
        return call.arguments == {}

    async with Client(shop()) as client:
        calls = ModelCalls(client, permissions=frozenset({"shell"}), permit=agree)
        done: Outcome = await within(calls.run({"name": "run", "arguments": None}))
    assert done.text == "ran"


async def test_failures_of_tools_and_refusals_of_servers_are_results_too() -> None:
    async with Client(shop()) as client:
        calls = ModelCalls(client)
        failed, refused = await within(calls.run_all([{"name": "fail"}, {"name": "wipe"}]))
    assert (failed.ok, failed.stage) == (False, "done")
    assert "no such thing" in failed.text
    assert (refused.ok, refused.stage) == (False, "call")
    assert isinstance(refused.error, AccessError)


async def test_a_model_is_shown_only_what_it_may_call() -> None:
    async with Client(shop()) as client:
        calls = ModelCalls(client, max_risk="safe")
        assert [one.name for one in await within(calls.refresh())] == ["add"]


def test_empty_arguments_are_none_at_all() -> None:
    assert read_call({"name": "x", "arguments": ""}) == ModelCall("x", {})


async def test_an_unknown_name_is_answered_with_the_tools_that_the_model_may_be_shown() -> None:
    async with Client(shop()) as client:
        done = await within(
            ModelCalls(client, max_risk="safe").run({"name": "ad", "arguments": {}})
        )
    assert done.text.partition("There are: ")[2] == "add"


class Changing:
    """A server whose only tool the test exchanges."""

    def __init__(self) -> None:
        self.tool: dict[str, Any] = {"name": "add", "inputSchema": {}}
        self.server = Scripted(tools_list=lambda _: {"tools": [self.tool]}, tools_call=text("ok"))
        self._heard = asyncio.Event()
        self.client = Client(self.server, Options(on_event=lambda *_: self._heard.set()))

    async def change(self, **tool: Any) -> None:
        """Exchange it, and have the client hear of that."""
        self.tool = {"inputSchema": {}, **tool}
        self._heard.clear()
        self.server.say("notifications/tools/list_changed", {})
        await within(self._heard.wait())

    @property
    def lists(self) -> int:
        """How often the tools were asked for."""
        return len(self.server.params("tools/list"))


async def test_names_that_a_model_makes_up_are_asked_for_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_calls, "_AGAIN_S", 1e9)
    scene = Changing()
    async with scene.client as client:
        calls = ModelCalls(client)
        done = await within(calls.run_all([{"name": f"no{one}"} for one in range(20)]))
        assert [one.stage for one in done] == ["validation"] * 20
        for number in range(20):
            await within(calls.run({"name": f"nor{number}"}))
        assert scene.lists == 1
        await scene.change(name="new")
        assert (await within(calls.run({"name": "new"}))).text == "ok"
        assert scene.lists == 2


async def test_a_new_tool_of_a_server_that_tells_nobody_is_found_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(model_calls, "_AGAIN_S", 0.0)
    scene = Changing()
    async with scene.client as client:
        calls = ModelCalls(client)
        assert (await within(calls.run({"name": "add"}))).ok
        scene.tool = {"name": "new", "inputSchema": {}}
        assert (await within(calls.run({"name": "new"}))).ok


async def test_a_tool_that_changed_is_judged_as_it_is_now() -> None:
    scene = Changing()
    async with scene.client as client:
        calls = ModelCalls(client, max_risk="moderate")
        assert (await within(calls.run({"name": "add"}))).ok
        schema = {"type": "object", "required": ["a"]}
        await scene.change(name="add", inputSchema=schema)
        assert (await within(calls.run({"name": "add"}))).stage == "validation"
        await scene.change(name="add", security={"risk_level": "dangerous"})
        done: Outcome = await within(calls.run({"name": "add", "arguments": {"a": 1}}))
        assert done.stage == "permission"
        assert scene.lists == 3


async def test_a_server_that_cannot_list_is_asked_once_for_all_and_again_later() -> None:
    answers: list[Any] = [broken(-32602, "no list")]

    def listed(_: dict[str, Any]) -> Any:
        if answers:
            raise answers.pop()
        return {"tools": [{"name": "add", "inputSchema": {}}]}

    server = Scripted(tools_list=listed, tools_call=text("ok"))
    async with Client(server) as client:
        calls = ModelCalls(client)
        both = asyncio.gather(
            calls.run({"name": "add"}), calls.run({"name": "add"}), return_exceptions=True
        )
        assert ["no list" in str(one) for one in await within(both)] == [True, True]
        assert len(server.params("tools/list")) == 1
        assert (await within(calls.run({"name": "add"}))).ok
