"""The gate `resolve`: a caller's name becomes one subject, and what is missing is not given away."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable, Mapping
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.resolve_gate import Resolve
from gatewright.call import KERNEL, Call, Caller, Refusal, Target, Tool, UserContext
from tests.gate_parts import AGENT, OPERATOR, Mute, a_call, a_tool


class Catalogue:
    """Tools, prompts and resources by name; each profile sees the same."""

    def __init__(
        self,
        tools: Mapping[str, Tool] | None = None,
        targets: Mapping[str, Target] | None = None,
        absent: Refusal | None = None,
    ) -> None:
        self._tools = dict(tools or {})
        self._targets = dict(targets or {})
        self._absent = absent

    def making(self, profile: str) -> None:
        """Everything is known."""

    def tool(self, profile: str, name: str) -> Tool | None:
        return self._tools.get(name)

    seen_tool = tool

    def prompt(self, profile: str, name: str, caller: Caller) -> Target | None:
        return self._targets.get(name)

    def resource(self, profile: str, uri: str, caller: Caller) -> Target | None:
        return self._targets.get(f"{caller.id} {uri}")

    def led(self, call: Call) -> Call | None:
        return None if call.method in self._targets else call

    def method(self, call: Call) -> Target:
        return self._targets[call.method]

    def tools(self, profile: str) -> Iterable[Tool]:
        return self._tools.values()

    def absent(self, call: Call, *, made: bool) -> Refusal | None:
        self.made = made
        return self._absent


def _tools(*names: str) -> dict[str, Tool]:
    return {f"srv__{name}": a_tool(name) for name in names}


def _everything(caller: Caller, tool: Tool) -> bool:
    return True


async def _refusal(gate: Resolve, call: Call) -> Refusal:
    found = gate(call, Mute())
    if not isinstance(found, Call | Refusal):
        found = await found
    assert isinstance(found, Refusal)
    return found


async def test_every_name_of_a_tool_leads_to_the_same_subject() -> None:
    tool = a_tool("echo")
    gate = Resolve(Catalogue({"srv__echo": tool, "srv.echo": tool}), _everything)
    for name in ("srv__echo", "srv.echo"):
        call = gate(a_call(name=name), Mute())
        assert isinstance(call, Call)
        assert (call.target, call.tool, call.name) == (tool.target, tool, name)


@pytest.mark.parametrize("kind", ["tool", "prompt", "resource"])
async def test_a_rehearsal_says_the_same_and_is_no_call(kind: Any) -> None:
    catalogue = Catalogue({}, absent=Refusal("server_not_ready", "later"))
    gate, call = Resolve(catalogue, _everything), a_call(kind=kind, name="srv__late")
    assert await gate.rehearse(call) == await _refusal(gate, call)
    assert catalogue.made
    await gate.rehearse(call)
    assert not catalogue.made


async def test_what_was_found_out_before_stays_with_the_call() -> None:
    call = a_call(facts={"seen": 1}, session="s", credential="c")
    found = Resolve(Catalogue(_tools("echo")), _everything)(call, Mute())
    assert isinstance(found, Call)
    assert (found.facts, found.session, found.credential) == ({"seen": 1}, "s", "c")


async def test_an_unknown_tool_is_answered_with_names_that_come_close() -> None:
    """MGP-14.3-15"""
    gate = Resolve(Catalogue(_tools("read_file", "write_file", "echo", "add")), _everything)
    found = await _refusal(gate, a_call(name="srv__readfile"))
    assert found.reason == "tool_not_found"
    assert found.details["suggestions"][0] == "srv__read_file"
    assert "did you mean srv__read_file" in found.message


@pytest.mark.parametrize(
    "said",
    [
        UserContext(),
        UserContext(role="analyst"),
        UserContext(trust="community"),
        UserContext(resources=("/srv",)),
        UserContext(permissions=("network.outbound",)),
    ],
)
async def test_whatever_is_said_of_a_caller_what_there_is_not_sounds_like_what_it_may_not_use(
    said: UserContext,
) -> None:
    """Only whose rights name single tools hears which of them it lacks anyway (GGEN-auth-11)."""
    catalogue, caller = Catalogue(_tools("hidden")), replace(AGENT, user=(said,))
    access = Access(Grants(), lambda: 0.0)
    gate = Resolve(catalogue, access.may_see)
    absent = await _refusal(gate, a_call(name="srv__nothing", caller=caller))
    present = gate(a_call(name="srv__hidden", caller=caller), Mute())
    assert isinstance(present, Call)
    refused = access(present, Mute())
    assert isinstance(refused, Refusal)
    assert absent.reason == refused.reason == "access_denied"
    assert absent.message == refused.message.replace("srv__hidden", "srv__nothing")


@pytest.mark.parametrize("name", ["read_file", "READ_FILE", "srv.read_file", "srv__read_fil"])
async def test_a_missing_prefix_or_another_spelling_is_close_enough(name: str) -> None:
    gate = Resolve(Catalogue(_tools("read_file", "echo")), _everything)
    assert (await _refusal(gate, a_call(name=name))).details == {"suggestions": ["srv__read_file"]}


async def test_names_that_the_caller_may_not_see_are_never_suggested() -> None:
    tools = _tools("read_file", "read_files")

    def may_see(caller: Caller, tool: Tool) -> bool:
        return caller == AGENT and tool.exposed == "srv__read_files"

    gate = Resolve(Catalogue(tools), may_see, _everything)
    found = await _refusal(gate, a_call(name="srv__readfile"))
    assert found.details == {"suggestions": ["srv__read_files"]}
    assert "srv__read_file," not in found.message


async def test_what_there_is_not_sounds_like_what_is_forbidden_where_something_is() -> None:
    """Unknown and forbidden have one shape for who may not know which of the two it is."""
    access = Access(Grants([Grant(AGENT.id, "srv", "open")]), lambda: 0.0)
    gate = Resolve(Catalogue(_tools("open", "read_file")), access.may_see)
    unknown = await _refusal(gate, a_call(name="srv__nothing"))
    known = gate(a_call(name="srv__read_file"), Mute())
    assert isinstance(known, Call)
    forbidden = access(known, Mute())
    assert isinstance(forbidden, Refusal)
    said = unknown.message.replace("srv__nothing", "srv__read_file")
    assert (unknown.reason, said, unknown.details, unknown.retry_after_ms) == (
        forbidden.reason,
        forbidden.message,
        forbidden.details,
        forbidden.retry_after_ms,
    )


async def test_who_may_use_everything_hears_that_there_is_no_such_tool() -> None:
    """MGP-14.3-15: the gateway's own tools are no secret, so they hide nothing."""
    own = a_tool("access.query", server=KERNEL)
    gate = Resolve(
        Catalogue(_tools("open") | {"mgp_access_query": own}),
        lambda caller, tool: tool.target.server != KERNEL,
    )
    assert (await _refusal(gate, a_call(name="srv__nothing"))).reason == "tool_not_found"


async def test_a_tool_of_several_names_is_suggested_once() -> None:
    tool = a_tool("read_file")
    gate = Resolve(Catalogue({"srv__read_file": tool, "srv/read_file": tool}), _everything)
    assert (await _refusal(gate, a_call(name="readfile"))).details == {
        "suggestions": ["srv__read_file"]
    }


async def test_a_name_that_resembles_nothing_gets_no_suggestion() -> None:
    gate = Resolve(Catalogue(_tools("echo")), _everything)
    for name in ("zzzz", "", "x", "日本語", "e" * 100_000):
        found = await _refusal(gate, a_call(name=name))
        assert found.details == {"suggestions": []}
        assert len(found.message) < 300


async def test_a_server_that_is_not_there_yet_says_so_instead() -> None:
    """MGP-14.3-7 and MGP-14.3-16, as the catalogue words them."""
    starting = Refusal("server_not_ready", "server srv is still starting", retry_after_ms=1000)
    gate = Resolve(Catalogue(absent=starting), _everything)
    for kind in ("tool", "prompt", "resource"):
        assert gate(a_call(kind), Mute()) is starting


@pytest.mark.parametrize(
    ("kind", "name", "key"),
    [("prompt", "p", "p"), ("resource", "test://x", f"{AGENT.id} test://x"), ("method", "", "x/y")],
)
async def test_prompts_resources_and_methods_find_their_owner(
    kind: str, name: str, key: str
) -> None:
    gate = Resolve(Catalogue(targets={key: Target("srv", "own")}), _everything)
    call = gate(a_call(kind, name, method="x/y"), Mute())  # type: ignore[arg-type]
    assert isinstance(call, Call)
    assert (call.target, call.tool) == (Target("srv", "own"), None)


@pytest.mark.parametrize("kind", ["prompt", "resource"])
async def test_what_nobody_owns_is_not_found(kind: str) -> None:
    found = await _refusal(Resolve(Catalogue(), _everything), a_call(kind, "nothing"))  # type: ignore[arg-type]
    assert (found.reason, found.message) == ("not_found", f"there is no {kind} 'nothing'")


@pytest.mark.parametrize("kind", ["list", "method"])
async def test_what_the_gateway_answers_itself_is_handed_on(kind: str) -> None:
    call = a_call(kind, "", method="tools/list")  # type: ignore[arg-type]
    assert Resolve(Catalogue(), _everything)(call, Mute()) is call


async def test_a_long_name_is_repeated_as_far_as_it_helps() -> None:
    gate = Resolve(Catalogue(), _everything)
    exact, longer = [await _refusal(gate, a_call(name="z" * many)) for many in (128, 129)]
    assert exact.message == longer.message
    assert f"'{'z' * 128}'" in exact.message


async def test_of_names_that_hold_the_wanted_one_the_nearest_in_length_comes_first() -> None:
    gate = Resolve(Catalogue(_tools("read_file_with_all_about_it", "read_file")), _everything)
    found = await _refusal(gate, a_call(name="read_file"))
    assert found.details == {"suggestions": ["srv__read_file", "srv__read_file_with_all_about_it"]}


@pytest.mark.parametrize("hidden", [True, False])
async def test_a_hidden_tool_behind_thousands_of_others_is_not_given_away(hidden: bool) -> None:
    """No call looks at all of them; so nobody learns from the answer whether all may be used."""
    tools = _tools(*(f"open-{number}" for number in range(5_000)), "last")
    grants = Grants([Grant(AGENT.id, "srv", "last", "deny")] if hidden else [], {"srv": "opt-out"})
    access = Access(grants, lambda: 1000.0)
    gate = Resolve(Catalogue(tools), access.may_see)
    found = await _refusal(gate, a_call(name="srv__none", caller=AGENT))
    assert found.reason == "access_denied"
    few = Resolve(Catalogue(_tools("open")), access.may_see)
    assert (await _refusal(few, a_call(name="srv__none"))).reason == "tool_not_found"
    known = await _refusal(gate, a_call(name="srv__none", caller=OPERATOR))
    assert known.reason == "tool_not_found", "operators may know of all there is"


async def test_others_have_their_turn_while_thousands_of_tools_are_asked_about() -> None:
    """Rights are asked about each, and none is remembered just after they changed."""
    turns: list[int] = []

    def may_see(caller: Caller, tool: Tool) -> bool:
        deadline = time.perf_counter() + 0.0005
        while time.perf_counter() < deadline:
            pass
        return True

    async def others() -> None:
        while True:
            turns.append(1)
            await asyncio.sleep(0)

    gate = Resolve(Catalogue(_tools(*(f"open-{number}" for number in range(100)))), may_see)
    other = asyncio.create_task(others())
    found = await _refusal(gate, a_call(name="srv__opne-7"))
    other.cancel()
    assert found.details["suggestions"]
    assert len(turns) > 10, "of a tenth of a second, in slices of milliseconds"


async def test_what_was_taken_away_meanwhile_is_not_suggested() -> None:
    asked: list[str] = []

    def may_see(caller: Caller, tool: Tool) -> bool:
        asked.append(tool.exposed)
        return asked.count("srv__read_file") < 2

    gate = Resolve(Catalogue(_tools("read_file")), may_see, _everything)
    found = await _refusal(gate, a_call(name="srv__readfile"))
    assert found.details == {"suggestions": []}
