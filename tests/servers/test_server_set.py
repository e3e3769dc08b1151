"""The servers of one configuration: what needs another connection, and what they say together."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Refusal
from gatewright.config import ToolRule
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.server_set import reconnects
from gatewright.servers.spec import CatalogueLimits, Restart, ServerSpec
from tests.servers.rig import python, running

SPEC = ServerSpec(id="s", command="c")

FELT_AT_ONCE: dict[str, Any] = {
    "restart": Restart(max=1),
    "connect_s": 1.0,
    "approver": "operator",
    "call_s": 1.0,
    "restart_wait_s": 1.0,
    "in_flight": 1,
    "catalogue": CatalogueLimits(tools=1),
    "prefix": "p",
    "tools": {"t": ToolRule(enabled=False)},
    "permissions": ("network.outbound",),
}
NEEDS_ANOTHER: dict[str, Any] = {
    "transport": "http",
    "command": "d",
    "args": ("x",),
    "env": {"A": "b"},
    "cwd": "/",
    "url": "http://127.0.0.1:1/mcp",
    "headers": {"a": "b"},
    "era": "legacy",
    "face": Face(("security",)),
    "share": "session",
    "enabled": False,
    "problem": "A is not set",
    "trust_level": "sandboxed",
}


def other(**facts: Any) -> ServerSpec:
    return ServerSpec(id="s", **{"command": "c", **facts})


@pytest.mark.parametrize("name", FELT_AT_ONCE)
def test_what_the_connection_does_not_know_needs_no_other(name: str) -> None:
    assert reconnects(SPEC, other(**{name: FELT_AT_ONCE[name]})) == ()


@pytest.mark.parametrize("name", NEEDS_ANOTHER)
def test_what_the_connection_was_made_with_needs_another(name: str) -> None:
    assert reconnects(SPEC, other(**{name: NEEDS_ANOTHER[name]})) == (name,)


async def test_states_and_status_come_in_the_order_of_the_configuration() -> None:
    async with running(python("echo", id="b"), python("echo", id="a")) as supervisor:
        fleet = supervisor.fleet
        assert fleet.states == {"b": "connected", "a": "connected"}
        assert [(one.id, one.tools) for one in fleet.status()] == [("b", 1), ("a", 1)]
        limits = [fleet.call_s(name) for name in ("a", "unknown")]
        assert limits == [fleet.specs["a"].call_s, 0.0]


async def test_the_connection_of_a_server_that_may_not_have_one_ends_and_no_other() -> None:
    async with running(python("echo", id="a"), python("echo", id="b")) as supervisor:
        links = [supervisor.fleet.servers[name].link for name in ("a", "b")]
        supervisor.fleet.permitted({"a": Refusal("permission_denied", "an operator said no")})
        assert [link is not None and link.open for link in links] == [False, True]
