"""THE list of gates: complete and in order."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import gatewright.pipeline
from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants, Layer
from gatewright.access.permission_gate import Permission
from gatewright.access.resolve_gate import Resolve
from gatewright.approvals.gate import Confirm
from gatewright.call import Back, Call, Gate, Refusal, verdict_of
from gatewright.flow.gate import Flow, FlowRule
from gatewright.flow.taints import Taints
from gatewright.identity.gate import Authenticate
from gatewright.identity.keys import KeyStore
from gatewright.identity.session_gate import Session
from gatewright.lifecycle.gate import GatewayDrain
from gatewright.limits.gate import Rate
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.polls import Polls
from gatewright.limits.tool_gate import ToolRate
from gatewright.limits.usage import MINUTE, Window, Windows
from gatewright.mcp.wire.codes import REASONS
from gatewright.pins.gate import Definition
from gatewright.pipeline import Gates, ordered_gates
from gatewright.redaction.sanitize_gate import Sanitize, Wanted
from gatewright.schemas.gate import Schema
from gatewright.validators.gate import Validators
from tests.access.test_resolve_gate import Catalogue
from tests.gate_parts import AGENT, Mute, a_call, a_tool
from tests.storage.parts import state_in

NAMES = list(Gates._fields)
SOURCE = Path(str(gatewright.pipeline.__file__)).parent
GATES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts): path
    for path in SOURCE.rglob("*gate.py")
}
"""Module → file of everything that calls itself a gate."""
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}}


class Open:
    """Stands where no test here asks for the gate: that of a feature which is tested by itself."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, call: Call, back: Back) -> Call:
        return call


class House:
    """Gates with real stores behind them, wherever one is named here, and one key for one agent."""

    def __init__(self, keys: KeyStore, *grants: Grant, limit: int = 1000) -> None:
        self.issued = Layer(grants)
        self.grants = Grants(issued=self.issued)
        access = Access(self.grants, lambda: 0.0)
        self.catalogue = Catalogue(
            {
                tool.exposed: tool
                for tool in (
                    a_tool("echo", schema=SCHEMA),
                    a_tool("wipe", schema=SCHEMA, risk_level="dangerous"),
                    a_tool("shell", schema=SCHEMA, validator="sandbox"),
                    a_tool("needs", schema=SCHEMA, permissions_required=("camera",)),
                    a_tool("odd", schema=SCHEMA, validator="strongest"),
                    a_tool("moved", schema=SCHEMA),
                )
            }
        )
        windows = Windows([Window(limit, MINUTE)])
        callers, targets = (Meter([Rule(one, windows)], lambda: 0) for one in ("caller", "tool"))
        looks = Polls(lambda: 0.0)
        self.secret = keys.create(AGENT.id, by="test")[1]
        real = (
            Authenticate(keys),
            Session({"mine": AGENT.who}.get),
            GatewayDrain(),
            Rate(callers, looks),
            Resolve(self.catalogue, access.may_see),
            access,
            ToolRate(targets, callers, looks),
            Definition(lambda tool: "it has changed" if tool.target.name == "moved" else ""),
            Sanitize(Wanted(True)),
            Schema(),
            Validators(),
            Permission(self.grants, lambda: 0.0),
            Flow(Taints(lambda: 0.0), FlowRule()),
            Confirm(access, lambda: 0.0),
        )
        every: dict[str, Gate] = {name: Open(name) for name in NAMES}
        self.every = Gates(**(every | {one.name: one for one in real}))
        self.gates = ordered_gates(self.every)

    async def walk(self, call: Call) -> tuple[str, str]:
        """The reason of the first refusal and the gate that gave it; empty when all gates passed."""
        for gate in self.gates:
            found = await verdict_of(gate, call, Mute())
            if isinstance(found, Refusal):
                return found.reason, gate.name
            call = found
        return "", ""

    def call(self, name: str, command: object = "ls", **more: Any) -> Call:
        """A call with the agent's key."""
        more = {"credential": self.secret, "session": "mine", **more}
        return a_call(name=f"srv__{name}", arguments={"command": command}, **more)


@pytest.fixture
def keys(tmp_path: Path) -> Iterator[KeyStore]:
    """A real key store."""
    store = KeyStore(state_in(tmp_path), clock=lambda: 0.0, random=os.urandom)
    yield store
    store.close()


def test_the_list_has_every_gate_once_in_the_order_of_the_house(keys: KeyStore) -> None:
    gates = House(keys).gates
    assert [gate.name for gate in gates] == NAMES


def test_every_file_of_a_gate_is_in_the_list_once() -> None:
    called = [_called(module) for module in GATES]
    assert sorted(called) == sorted([name] for name in NAMES)


async def test_an_agent_can_call_what_it_was_granted_and_nothing_else(keys: KeyStore) -> None:
    """MGP-1.2-3"""
    house = House(keys, Grant(AGENT.id, "srv", "echo"))
    assert await house.walk(house.call("echo")) == ("", "")
    for name in ("wipe", "shell", "needs", "odd", "moved"):
        assert await house.walk(house.call(name)) == ("access_denied", "access")


async def test_a_dangerous_tool_needs_more_than_a_grant_of_its_server(keys: KeyStore) -> None:
    """MGP-1.2-3"""
    house = House(keys, Grant(AGENT.id, "srv"))
    assert await house.walk(house.call("wipe")) == ("confirmation_required", "confirm")
    house.issued.put(Grant(AGENT.id, "srv", "wipe"))
    assert await house.walk(house.call("wipe")) == ("", "")


@pytest.mark.parametrize(
    ("name", "command", "more", "expected"),
    [
        ("echo", "ls", {"credential": None}, ("auth_required", "authenticate")),
        ("echo", "ls", {"credential": "gw_x"}, ("auth_failed", "authenticate")),
        ("echo", "ls", {"session": "other"}, ("session_unknown", "session")),
        ("none", "ls", {}, ("tool_not_found", "resolve")),
        ("moved", 7, {}, ("tool_disabled", "definition")),
        ("echo", 7, {}, ("invalid_args", "schema")),
        ("shell", "echo $(id)", {}, ("validation_blocked", "validators")),
        ("odd", "ls", {}, ("policy_violation", "validators")),
        ("needs", "ls", {}, ("permission_denied", "permission")),
        ("wipe", "ls", {}, ("confirmation_required", "confirm")),
        ("echo", "ls", {}, ("", "")),
        ("shell", "ls -l", {}, ("", "")),
    ],
)
async def test_each_gate_ends_the_calls_that_are_its_own(
    keys: KeyStore, name: str, command: object, more: dict[str, object], expected: tuple[str, str]
) -> None:
    house = House(keys, Grant(AGENT.id, "srv"))
    assert await house.walk(house.call(name, command, **more)) == expected


def test_a_gate_for_which_nothing_is_configured_is_left_out(keys: KeyStore) -> None:
    house = House(keys).every
    nothing = Meter([], lambda: 0)
    looks = Polls(lambda: 0.0)
    idle = house._replace(rate=Rate(nothing, looks), tool_rate=ToolRate(nothing, nothing, looks))
    found = [gate.name for gate in ordered_gates(idle)]
    assert found == [name for name in NAMES if name not in ("rate", "tool_rate")]


async def test_who_may_not_use_a_tool_cannot_use_it_up_for_others(keys: KeyStore) -> None:
    house = House(keys, Grant(AGENT.id, "srv", "wipe"), limit=3)
    for _ in range(2):
        assert await house.walk(house.call("echo")) == ("access_denied", "access")
    meter = house.every.tool_rate.meter  # type: ignore[attr-defined]
    assert meter.would("http", "srv", "echo") is None
    assert await house.walk(house.call("wipe")) == ("", "")


async def test_a_caller_over_the_limit_learns_nothing_more(keys: KeyStore) -> None:
    house = House(keys, limit=1)
    assert await house.walk(house.call("echo")) == ("access_denied", "access")
    assert await house.walk(house.call("none")) == ("rate_limited", "rate")


async def test_a_denied_caller_does_not_learn_the_schema(keys: KeyStore) -> None:
    house = House(keys)
    assert await house.walk(house.call("echo", 7)) == ("access_denied", "access")


async def test_what_is_judged_is_what_is_forwarded(keys: KeyStore) -> None:
    """What goes out of the arguments goes before the validators look at them."""
    house = House(keys, Grant(AGENT.id, "srv"))
    assert await house.walk(house.call("shell", "ec\u200bho $(i\x00d)")) == (
        "validation_blocked",
        "validators",
    )


@pytest.mark.parametrize("kind", ["list", "method"])
async def test_what_the_gateway_answers_itself_passes_as_the_call_it_was(
    keys: KeyStore, kind: str
) -> None:
    house = House(keys)
    call = a_call(kind, "", method="tools/list", credential=house.secret)  # type: ignore[arg-type]
    authenticated = await verdict_of(house.gates[0], call, Mute())
    assert isinstance(authenticated, Call)
    for gate in house.gates[1:]:
        assert await verdict_of(gate, authenticated, Mute()) is authenticated


def _called(module: str) -> list[str]:
    """What the gates of a module are called."""
    every = vars(import_module(module)).values()
    own = [one for one in every if isinstance(one, type) and one.__module__ == module]
    names = {getattr(one, "name", None) for one in own}
    return sorted(one for one in names if isinstance(one, str))


def _reasons(path: Path) -> set[str]:
    """The first argument of every `Refusal(…)` in a file."""
    return {
        ast.literal_eval(node.args[0])
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "Refusal"
    }


@pytest.mark.parametrize("gate", sorted(GATES))
def test_every_reason_that_a_gate_gives_can_be_spelled_at_every_endpoint(gate: str) -> None:
    file = GATES[gate]
    files = file.parent.glob("*.py") if "approvals" in gate else [file]
    reasons = {reason for one in files for reason in _reasons(one)}
    assert reasons or ".limits." in gate  # theirs are those of the meter
    assert reasons <= set(REASONS)
