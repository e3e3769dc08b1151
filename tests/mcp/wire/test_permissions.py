"""Names of permissions: the standard list, the shorthand, custom names."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire.permissions import (
    ALIASES,
    MOST,
    STANDARD,
    canonical_permission,
    declared_permissions,
    ggen_permission,
    groundhog_permission,
    held_permission,
    permission_risk,
)

ROOT = Path(__file__).resolve().parents[3]


def test_the_standard_permissions_have_the_risks_of_the_specification() -> None:
    """MGP-3.2-1"""
    assert dict(STANDARD) == {
        "filesystem.read": "moderate",
        "filesystem.write": "dangerous",
        "network.outbound": "moderate",
        "network.listen": "dangerous",
        "shell.execute": "dangerous",
        "code_execution": "dangerous",
        "memory.read": "safe",
        "memory.write": "moderate",
        "system.info": "safe",
        "camera": "dangerous",
        "notification": "safe",
    }


def test_the_page_for_operators_has_each_permission_with_its_risk() -> None:
    """MGP-3.2-1: the catalogue, in the order of the specification, and the shorthand."""
    page = (ROOT / "docs/configuration/permissions.md").read_text()
    rows = re.findall(r"^\| `([^`]+)` \| (safe|moderate|dangerous) \|$", page, re.MULTILINE)
    assert rows == list(STANDARD.items())
    said = re.findall(r"`([^`]+)`\s(?:stands\s)?for\s`([^`]+)`", page)
    assert dict(said) == ALIASES


@pytest.mark.parametrize(("short", "full"), sorted(ALIASES.items()))
def test_the_shorthand_of_the_specification_is_understood(short: str, full: str) -> None:
    assert canonical_permission(short) == full
    assert full in STANDARD


def test_a_custom_permission_is_a_reverse_domain_name_and_dangerous() -> None:
    assert canonical_permission("com.example.custom_permission") == "com.example.custom_permission"
    assert permission_risk("com.example.custom_permission") == "dangerous"


@pytest.mark.parametrize(
    "name", ["", "shel", "filesystem", "a.b", "com..x", "com.example.x y", "*"]
)
def test_a_name_that_means_nothing_is_not_a_permission(name: str) -> None:
    assert canonical_permission(name) is None


@given(st.text())
def test_a_canonical_name_stays_what_it_is(name: str) -> None:
    found = canonical_permission(name)
    assert found is None or canonical_permission(found) == found


TABLE = [
    # held, ggen, Groundhog: table 2.2 of the decisions
    ("filesystem.read", "filesystem.read", "read:filesystem"),
    ("filesystem.write", "filesystem.write", "write:filesystem"),
    ("network.outbound", "network.outbound", "connect:network"),
    ("network.listen", "network.listen", "listen:network"),
    ("shell.execute", "shell.execute", "execute:shell"),
    ("code_execution", "code_execution", "execute:code"),
    ("memory.read", "memory.read", "read:memory"),
    ("memory.write", "memory.write", "write:memory"),
    ("kernel.tool.invoke:add", "ToolInvoke(add)", "kernel.tool.invoke:add"),
    ("kernel.tool.read:fs/*", "ToolRead(fs/*)", "kernel.tool.read:fs/*"),
    ("kernel.tools.list", "ToolsListAll", "kernel.tools.list"),
    ("kernel.registry.write", "AdminWrite", "kernel.registry.write"),
    ("kernel.registry.read", "AdminRead", "kernel.registry.read"),
]


@pytest.mark.parametrize(("held", "ggen", "groundhog"), TABLE)
def test_every_dialect_spells_the_same_permission(held: str, ggen: str, groundhog: str) -> None:
    """GGEN-auth-4 to GGEN-auth-8, GRH-sec-6 and table 2.2"""
    assert (ggen_permission(held), groundhog_permission(held)) == (ggen, groundhog)
    assert {held_permission(one) for one in (held, ggen, groundhog)} == {held}


def test_shorthand_and_custom_names_may_be_held_in_both_spellings() -> None:
    assert held_permission("network") == "network.outbound"
    assert held_permission("com.example.thing.read") == "com.example.thing.read"
    assert held_permission("read:com.example.thing") == "com.example.thing.read"
    assert groundhog_permission("com.example.thing.read") == "read:com.example.thing"
    assert groundhog_permission("code_execution") == "execute:code"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "ToolInvoke()",
        "ToolInvoke(a b)",
        "ToolInvoke(a))",
        "toolinvoke(a)",
        "Tool(a)",
        "read:",
        "x:y",
        "AdminWrite(x)",
        "kernel.tool.invoke:",
        "everything",
        "read:nothing",
    ],
)
def test_what_is_no_permission_cannot_be_held(name: str) -> None:
    assert held_permission(name) is None


def test_what_a_server_declares_is_canonical_and_each_name_once() -> None:
    """MGP-3.2-2 and MGP-3.2-3; a name that is no permission waits for somebody who knows it."""
    names = ["shell", "camera", "shell.execute", "com.example.custom_permission", "file read"]
    assert declared_permissions(names) == (
        "shell.execute",
        "camera",
        "com.example.custom_permission",
        "file read",
    )


@pytest.mark.parametrize(
    "names", [[""], ["a\nb"], ["x" * 129], [f"com.example.p{n}" for n in range(MOST + 1)]]
)
def test_what_nobody_could_decide_on_is_refused(names: list[str]) -> None:
    with pytest.raises(ValueError, match="permission"):
        declared_permissions(names)
