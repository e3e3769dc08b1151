"""Recorded calls on another configuration: judged by the gate itself, as far as the record goes."""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gatewright.access.grants import Grant
from gatewright.access.simulate import JUDGED, Finding, judge, simulate, tally
from gatewright.config import Settings, load
from gatewright.pipeline import Gates

CONFIG = """
[[servers]]
id = "files"
command = "x"
[servers.tools.wipe]
enabled = false
[[servers]]
id = "open"
command = "x"
default_policy = "opt-out"
[[servers]]
id = "off"
command = "x"
enabled = false
[[grants]]
agent = "ann"
server = "files"
[[grants]]
agent = "ann"
server = "open"
tool = "read"
permission = "deny"
"""


def settings(folder: Path) -> Settings:
    (folder / "mgp.toml").write_text(CONFIG)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def record(
    agent: str, server: str | None, tool: str | None, gate: str = "", kind: str = "agent"
) -> dict[str, Any]:
    found = {
        "event_type": "TOOL_BLOCKED" if gate else "TOOL_EXECUTED",
        "actor": {"type": kind, "id": agent},
        "target": {"server_id": server, "tool_name": tool},
    }
    return {**found, "decision": {"gate": gate, "reason": "x"}} if gate else found


def test_what_the_configuration_says_of_a_caller_counts(tmp_path: Path) -> None:
    (tmp_path / "mgp.toml").write_text(
        CONFIG + '[agents.ann]\npermissions = ["ToolInvoke(open/read)"]\n'
    )
    found = load(tmp_path / "mgp.toml", environ={"HOME": str(tmp_path)})
    (finding,) = simulate(found, [], [record("ann", "files", "read")]).findings
    assert (finding.now, finding.why) == ("refused", "caller_permission")


def test_each_caller_and_tool_is_judged_once_and_counted(tmp_path: Path) -> None:
    records = [
        record("ann", "files", "read"),
        record("ann", "files", "read"),
        record("ann", "files", "read", "access"),
        record("ann", "files", "read", "validators"),
        record("bob", "files", "read"),
        record("ann", "open", "read"),
        record("bob", "open", "read", "access"),
    ]
    found = simulate(settings(tmp_path), [], records)
    assert (found.judged, found.unjudged) == (7, 0)
    assert found.findings == (
        Finding("ann", "agent", "files", "read", "allowed", "allowed", "server_grant", 3),
        Finding("ann", "agent", "files", "read", "refused", "allowed", "server_grant", 1),
        Finding("ann", "agent", "open", "read", "allowed", "refused", "tool_grant", 1),
        Finding("bob", "agent", "files", "read", "allowed", "refused", "default_policy", 1),
        Finding("bob", "agent", "open", "read", "refused", "allowed", "default_policy", 1),
    )


def test_what_the_configuration_no_longer_offers_is_refused_and_says_so(tmp_path: Path) -> None:
    records = [
        record("ann", "files", "wipe"),
        record("ann", "gone", "read"),
        record("local", "off", "read", kind="owner"),
        record("local", "files", "read", kind="owner"),
        record("local", "mgp", "access.query", kind="operator"),
    ]
    why = {
        (one.server, one.tool): (one.now, one.why)
        for one in simulate(settings(tmp_path), [], records).findings
    }
    assert why == {
        ("files", "wipe"): ("refused", "tool is disabled"),
        ("gone", "read"): ("refused", "server is not configured"),
        ("off", "read"): ("refused", "server is disabled"),
        ("files", "read"): ("allowed", "owner"),
        ("mgp", "access.query"): ("allowed", "owner"),
    }


def test_issued_grants_count_whatever_definition_they_were_for(tmp_path: Path) -> None:
    issued = [Grant("bob", "files", "read", tool_digest="d1")]
    (one,) = simulate(settings(tmp_path), issued, [record("bob", "files", "read")]).findings
    assert (one.now, one.why) == ("allowed", "tool_grant")


def test_what_never_came_to_access_is_not_judged(tmp_path: Path) -> None:
    records = [
        record("ann", None, "nothing", "resolve"),
        record("ann", "files", "read", "rate"),
        record("gateway", "files", "read", kind="system"),
        {"event_type": "SERVER_CONNECTED", "actor": {}, "target": {}},
        {"event_type": "dev.gatewright.intent", "actor": {}, "target": {}},
    ]
    found = simulate(settings(tmp_path), [], records)
    assert (found.judged, found.unjudged, found.findings) == (0, 3, ())


def test_what_is_judged_are_gates() -> None:
    assert set(Gates._fields) > JUDGED


def test_calls_are_counted_and_no_record_is_kept(tmp_path: Path) -> None:
    """A week of a busy gateway has millions."""

    class Kept(dict[str, Any]):
        """A record that can be seen to go."""

    alive = most = 0

    def gone() -> None:
        nonlocal alive
        alive -= 1

    def records() -> Iterator[Kept]:
        nonlocal alive, most
        for _ in range(500):
            one = Kept(record("ann", "files", "read"))
            weakref.finalize(one, gone)
            alive += 1
            most = max(most, alive)
            yield one

    counted = tally(records())
    assert most <= 3
    assert judge(settings(tmp_path), [], counted).judged == 500
    assert judge(settings(tmp_path), [], counted).findings[0].calls == 500
