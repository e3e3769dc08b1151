"""Where a gate knows at a glance that it has nothing to say, it says what it would say after the long way, for whatever call."""

from __future__ import annotations

from collections.abc import Awaitable, Coroutine
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.permission_gate import Permission
from gatewright.approvals import Confirm
from gatewright.call import ANONYMOUS, Call, Caller, Refusal, UserContext
from gatewright.identity.gate import LOCAL, Authenticate
from gatewright.schemas.schema import CompiledSchema, TakesLongError, compile_schema
from tests.gate_parts import AGENT, OPERATOR, Mute, a_tool, a_tool_call

GIVEN = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

facts = st.fixed_dictionaries(
    {},
    optional={
        "access": st.sampled_from(["tool_grant", "server_grant", "default_policy"]),
        "flow": st.just({"untrusted": "a", "private": "b"}),
    },
)
securities = st.fixed_dictionaries(
    {},
    optional={
        "risk_level": st.sampled_from(["safe", "moderate", "dangerous"]),
        "confirmation_required": st.booleans(),
        "hints": st.sampled_from([(), ("destructive",), ("open_world",)]),
        "permissions_required": st.sampled_from([(), ("shell.execute",)]),
    },
)
callers = st.sampled_from([AGENT, OPERATOR, ANONYMOUS, LOCAL, replace(ANONYMOUS)])


class _Operators:
    """Notes which calls have passed."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def passed(self, call: Call) -> None:
        self.calls.append(call)


def _end(said: Any) -> None:
    if isinstance(said, Coroutine):
        said.close()


@GIVEN
@given(security=securities, found=facts, tool=st.booleans())
def test_nobody_is_asked_exactly_where_nobody_would_be(
    security: Any, found: dict[str, Any], tool: bool
) -> None:
    operators: Any = _Operators()
    confirm = Confirm(Access(Grants(()), lambda: 0.0), lambda: 0.0, operators=operators)
    call = replace(a_tool_call(a_tool("run", **security)), facts=found)
    if not tool:
        call = replace(call, tool=None)
    said = confirm(call, Mute())
    asked = confirm._to_confirm(call) is not None
    assert isinstance(said, Awaitable) is asked
    assert (said is call) is not asked
    assert operators.calls == ([] if asked or not tool else [call])
    _end(said)


@GIVEN
@given(
    security=securities,
    barred=st.booleans(),
    granted=st.booleans(),
    tool=st.sampled_from(["tool", "task", "none"]),
)
def test_permission_says_what_it_would_say_of_a_call_that_runs(
    security: Any, barred: bool, granted: bool, tool: str
) -> None:
    grants = [Grant(AGENT.id, "srv", permissions=("shell.execute",))] if granted else []
    bars = {"srv": Refusal("permission_denied", "barred")} if barred else {}
    gate = Permission(Grants(grants), lambda: 0.0, barred=bars)
    call = a_tool_call(a_tool("run", **security))
    if tool != "tool":
        call = replace(call, tool=None, task_tool=call.tool if tool == "task" else None)
    assert gate(call, Mute()) == (gate.judge(replace(call, facts=dict(call.facts))) or call)


class _Keys:
    def verify(self, credential: str) -> Caller | str:
        return AGENT if credential == "good" else "unknown"


@GIVEN
@given(
    door=st.sampled_from(["http", "stdio", "websocket"]),
    credential=st.sampled_from([None, "good", "bad"]),
    caller=callers,
    anonymous=st.booleans(),
    users=st.sampled_from(
        [None, {"*": UserContext(role="guest")}, {"anonymous": UserContext("x")}]
    ),
    completed=st.booleans(),
)
def test_who_comes_without_a_credential_is_who_that_would_be(
    door: str,
    credential: str | None,
    caller: Caller,
    anonymous: bool,
    users: Any,
    completed: bool,
) -> None:
    gate = Authenticate(_Keys(), anonymous=anonymous, users=users)
    if completed:
        caller = gate.completed(caller)
    call = replace(a_tool_call(a_tool()), door=door, credential=credential, caller=caller)
    assert gate(call, Mute()) == gate._known_by(call)


SCHEMAS: list[Any] = [
    True,
    {"type": "object"},
    {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]},
    {"type": "object", "properties": {"n": {"enum": [1, "a"]}}, "additionalProperties": False},
    {"type": "object", "properties": {"n": {"anyOf": [{"type": "string"}, {"minimum": 3}]}}},
    {"type": "object", "properties": {"n": {"type": "string", "pattern": "^a+$"}}},
    {"type": "object", "properties": {"n": {"type": "array", "uniqueItems": True}}},
]
values = st.dictionaries(
    st.sampled_from(["n", "m"]),
    st.one_of(
        st.none(), st.integers(-5, 5), st.text("ab", max_size=4), st.lists(st.integers(0, 2))
    ),
    max_size=2,
)


def _objection(schema: CompiledSchema, value: Any, at_once: bool) -> Any:
    try:
        return schema.objection(value, at_once=at_once)
    except TakesLongError:
        return TakesLongError


@pytest.mark.parametrize("schema", SCHEMAS)
@GIVEN
@given(value=values, at_once=st.booleans())
def test_what_is_light_by_its_schema_is_judged_like_all_else(
    schema: Any, value: Any, at_once: bool
) -> None:
    compiled, long = compile_schema(schema, 32, 1000), compile_schema(schema, 32, 1000)
    long._light = False
    assert _objection(compiled, value, at_once) == _objection(long, value, at_once)


def test_the_schemas_here_are_of_both_kinds() -> None:
    found = {compile_schema(schema, 32, 1000)._light for schema in SCHEMAS}
    assert found == {False, True}
