"""What an import says: everything that matters, and no value."""

from __future__ import annotations

from pathlib import Path

from gatewright.config import load
from gatewright.hosts.commands.import_report import COLUMNS, comment, document, remarks, rows
from gatewright.hosts.commands.import_secrets import Store
from gatewright.hosts.plan import Known, make_plan
from gatewright.hosts.read import Place, read

TEXT = b"""{"mcpServers": {"a": {"command": "npx", "args": ["-y", "pkg", "--key", "hunter2"],
    "title": "  The\\n tool ", "env": {"A": "plain-value", "B": "${NOT_SET}"}, "trust": true}}}"""

GRANTS = "nothing is granted: `gatewright grant add AGENT a` if it is meant"


def test_the_same_plan_is_told_in_three_ways(tmp_path: Path) -> None:
    store = Store(load(environ={"GATEWRIGHT_STATE": str(tmp_path)}, cwd=tmp_path))
    plan = make_plan([read(TEXT, Place(file="/h/x.json"))], Known())
    target = "npx -y pkg --key ${secret:a.args.3}"
    assert rows(plan) == [("add", "a", "stdio", target, ("a.args.3",), "h/x.json: mcpServers.a")]
    assert len(COLUMNS) == len(rows(plan)[0])
    assert list(remarks(plan, store)) == [
        "variable: a gets A=plain-value",
        "variable: a gets B=${NOT_SET}",
        "needed: a stays down without it; set NOT_SET and start again",
        "warning: a runs pkg in whatever version is newest; write pkg@VERSION",
        f"suggested: a needed no confirmation for * (mcpServers.a.trust); {GRANTS}",
    ]
    assert comment(plan.servers[0]) == "The tool. Imported from x.json, mcpServers.a"
    told = document(plan, tmp_path / "mgp.toml", store, dry_run=True)
    (server,) = told["servers"]
    assert (server["target"], server["env"]) == (target, ["A", "B"])
    assert server["reads"] == [
        {"name": "secret:a.args.3", "there": True},
        {"name": "NOT_SET", "there": False},
    ]
    assert server["variables"] == [
        {"name": "A", "value": "plain-value", "kind": ""},
        {"name": "B", "value": "${NOT_SET}", "kind": ""},
    ]
    assert "hunter2" not in str(told)


def test_a_name_that_would_act_in_a_shell_is_quoted_in_what_may_be_pasted(tmp_path: Path) -> None:
    store = Store(load(environ={"GATEWRIGHT_STATE": str(tmp_path)}, cwd=tmp_path))
    text = b"""{"mcpServers": {"a": {"command": "x", "autoApprove": ["$(id)"]}}}"""
    (line,) = remarks(make_plan([read(text)], Known()), store)
    assert "`gatewright grant add AGENT 'a/$(id)'`" in line
