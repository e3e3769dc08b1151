"""The servers of one configuration: what needs another connection, and what they say together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.call import Refusal
from gatewright.config import ToolRule, load
from gatewright.mcp.protocol.negotiate import Face
from gatewright.servers.server_set import reconnects
from gatewright.servers.settings_adapters import spec_of
from gatewright.servers.spec import CatalogueLimits, Restart, ServerSpec
from gatewright.transport.base import Limits
from gatewright.transport.isolation.rules import Isolation, Kept
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


@pytest.mark.parametrize("name", sorted(set(Limits.__struct_fields__) - {"patience_s"}))
def test_every_limit_of_a_connection_but_its_patience_needs_another(name: str) -> None:
    limits = msgspec.structs.replace(SPEC.limits, **{name: getattr(SPEC.limits, name) + 1})
    assert reconnects(SPEC, other(limits=limits)) == ("limits",)


@pytest.mark.parametrize("key", ["limits", "servers"])
def test_another_time_limit_of_calls_needs_no_other_connection(tmp_path: Path, key: str) -> None:
    """Each stdio server was started anew for it, and lost its state."""
    specs = []
    for said in ("", "call_timeout_s = 300"):
        path = tmp_path / "mgp.toml"
        tables = {"limits": "[limits]", "servers": '[[servers]]\nid = "s"\ncommand = "c"'}
        tables[key] += f"\n{said}"
        path.write_text("\n".join(tables.values()))
        found = load(path, environ={"GATEWRIGHT_STATE": str(tmp_path)})
        specs.append(spec_of(found, found.servers[0]))
    assert [one.call_s for one in specs] == [30.0, 300.0]
    assert reconnects(specs[0], specs[1]) == ()


ISOLATED = Isolation(
    server="s",
    level="confined",
    state="/s",
    hidden=("/h/mgp.toml",),
    kept=(Kept("/x/code", "of a"),),
)
WRITING = msgspec.structs.replace(ISOLATED, write=("/w",))


@pytest.mark.parametrize("rules", [ISOLATED, WRITING])
@pytest.mark.parametrize(
    ("name", "value", "writing"),
    [
        ("changed_by_others", ("/w",), False),
        ("kept", (Kept("/x/code", "of b"),), False),
        ("kept", (Kept("/x/code", "of a", whole=True),), True),
        ("kept", (Kept("/x/token"),), True),
        ("hidden", ("/h/mgp.toml", "/above/mgp.toml"), True),
        ("kept", (Kept("/s/isolated/s/token"),), None),
        ("hidden", ("/h/mgp.toml", "/s/isolated/s/mgp.toml"), None),
        ("hidden", ("/h/mgp.toml", __file__), None),
        ("read", ("/r",), None),
    ],
)
def test_an_isolated_server_is_started_anew_only_for_rules_that_it_would_feel(
    rules: Isolation, name: str, value: tuple[object, ...], writing: bool | None
) -> None:
    """One more `${file:…}` of another server ended all of them. `writing` says whether only one with `write` feels it."""
    found = reconnects(
        other(isolation=rules), other(isolation=msgspec.structs.replace(rules, **{name: value}))
    )
    felt = writing is None or (writing and bool(rules.write))
    assert found == (("isolation",) if felt else ())


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
