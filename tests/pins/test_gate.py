"""The gate `definition`: what is held back does not run, and its caller learns why."""

from __future__ import annotations

import shlex

import msgspec
import pytest
from msgspec.structs import replace

from gatewright.call import Refusal, Target
from gatewright.pins.gate import Definition
from tests.gate_parts import Mute, a_call, a_tool, a_tool_call


async def test_a_tool_that_is_held_back_is_refused_with_the_way_out() -> None:
    gate = Definition(lambda tool: f"{tool.target.name} has changed")
    found = gate(a_tool_call(a_tool("wipe")), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "tool_disabled"
    assert "wipe has changed" in found.message
    assert "gatewright server pin srv wipe" in found.message
    assert found.details == {"held": "wipe has changed", "server_id": "srv", "tool_name": "wipe"}


@pytest.mark.parametrize(
    "name", ["x; touch y", "$(touch y)", "a`b`", "it's", "two words", "-rf", "a\nb", "x\u202ey"]
)
async def test_the_command_that_is_shown_holds_a_hostile_name_as_one_word(name: str) -> None:
    tool = replace(a_tool("plain"), target=Target("srv", name))
    found = Definition(lambda _: "it has changed")(a_tool_call(tool), Mute())
    assert isinstance(found, Refusal)
    look = found.message.partition("with `")[2].rpartition("`")[0]
    words = [one for one in shlex.split(look) if one != "--"]
    assert "\n" not in look
    assert words[:4] == ["gatewright", "server", "pin", "srv"]
    assert len(words) == 5
    assert "--accept" not in found.message, "whatever the server says by then"


async def test_any_other_tool_passes_as_it_is() -> None:
    call = a_tool_call(a_tool())
    assert Definition(lambda _: "")(call, Mute()) is call


@pytest.mark.parametrize("kind", ["list", "prompt", "resource", "method"])
async def test_what_is_no_tool_has_no_definition_to_hold_back(kind: str) -> None:
    call = a_call(kind)  # type: ignore[arg-type]
    assert Definition(lambda _: "held")(call, Mute()) is call


async def test_a_call_that_has_waited_is_about_the_tool_that_was_called() -> None:
    tool = a_tool("wipe")
    assert Definition(lambda _: "", lambda _: tool).since(a_tool_call(tool)) is None
    held, call = Definition(lambda _: "", lambda _: a_tool("wipe")), a_tool_call(a_tool("wipe"))
    assert held.since(call) is None
    assert Definition(lambda _: "").since(call) is None  # its server is no longer there
    assert held.since(a_call("list")) is None
    changed = Definition(lambda _: "", lambda _: a_tool("other")).since(call)
    assert changed is not None
    assert changed.reason == "confirmation_required"
    assert changed.details == {"missing": "confirmation", "risk_level": "moderate"}
    moved = Definition(lambda _: "it is new", lambda _: a_tool("wipe")).since(call)
    assert moved is not None
    assert moved.reason == "tool_disabled"


async def test_a_call_that_has_waited_does_not_reach_a_tool_that_was_taken_back() -> None:
    gate = Definition(lambda _: "", lambda _: None, lambda server: server == "srv")
    gone = gate.since(a_tool_call(a_tool("wipe")))
    assert gone is not None
    assert gone.reason == "tool_not_found"
    elsewhere = replace(a_tool("wipe"), target=Target("other", "wipe"))
    assert gate.since(a_tool_call(elsewhere)) is None  # its server is no longer there


async def test_a_definition_that_cannot_be_read_is_not_the_one_that_was_agreed_to() -> None:
    deep = msgspec.Raw(b"[" * 300 + b"]" * 300)
    tool = replace(a_tool("wipe"), definition={"name": msgspec.Raw(b'"wipe"'), "_meta": deep})
    again = replace(tool, definition=dict(tool.definition))
    changed = Definition(lambda _: "", lambda _: again).since(a_tool_call(tool))
    assert changed is not None
    assert changed.reason == "confirmation_required"
