"""`[servers.tools.NAME]` beside `[servers.tools."*"]`: key by key, the tool's own word first."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from gatewright.config import ToolRule
from tests.config.test_servers import server

EVERY = """id = "a"
command = "x"
[servers.tools."*"]
confirmation_required = true
validator = "sandbox"
validator_args = ["/command"]
redaction = "personal"
hidden = "remove"
injection = "hold"
approver = "operator"
risk_level = "dangerous"
permissions_required = ["shell.execute"]
flow = ["outbound"]
result_bytes = 5
categories = ["c"]
repeatable = true
enabled = false
[servers.tools."*".calls]
per_minute = 3
[servers.tools."*".validator_options]
mode = "deny-list"
"""


def test_a_table_with_one_key_takes_back_nothing_that_every_tool_has() -> None:
    """As `gatewright tool enable` writes one."""
    every = server(EVERY).tools["*"]
    whole = server(EVERY + "[servers.tools.t]\nenabled = true\n").tools["t"]
    assert whole == replace(every, enabled=True)
    unsaid = ToolRule()
    kept = [one for one in ToolRule.__struct_fields__ if one != "enabled"]
    assert [one for one in kept if getattr(every, one) == getattr(unsaid, one)] == []


@pytest.mark.parametrize("name", [one for one in ToolRule.__struct_fields__ if one != "enabled"])
def test_what_a_tools_own_table_says_goes_first(name: str) -> None:
    own = {
        "validator": '"paths"',
        "validator_args": '["/path"]',
        "validator_options": "{ pipes = true }",
        "redaction": '"off"',
        "hidden": '"keep"',
        "injection": '"off"',
        "approver": '"caller"',
        "risk_level": '"safe"',
        "permissions_required": "[]",
        "flow": "[]",
        "result_bytes": "7",
        "categories": '["d"]',
        "calls": "{ per_day = 9 }",
    }.get(name, "false")
    alone = server(f'id = "a"\ncommand = "x"\n[servers.tools.t]\n{name} = {own}\n').tools["t"]
    beside = server(EVERY + f"[servers.tools.t]\n{name} = {own}\n")
    assert getattr(beside.tools["t"], name) == getattr(alone, name)
    assert (beside.tools["t"].validator_args == ()) == (name == "validator")
    assert beside.tools["t"].enabled
