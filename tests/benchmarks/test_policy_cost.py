"""The configuration in which everything is on is one that the gateway understands whole, and everything is on in it."""

from __future__ import annotations

from pathlib import Path

from benchmarks.policy_cost import written
from gatewright.config import load


def test_everything_is_on_where_it_should_be(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "on", everything=True), environ={})
    assert settings.warnings == ()
    calls, tool = settings.limits.calls, settings.servers[0].tools["echo"]
    assert calls is not None
    assert None not in (calls.total, calls.caller, calls.server, calls.tool)
    assert (settings.redaction.level, settings.redaction.hidden) == ("personal", "remove")
    assert (tool.validator, tool.flow) == ("paths", ("untrusted", "private"))


def test_nothing_is_said_where_the_defaults_hold(tmp_path: Path) -> None:
    settings = load(written(tmp_path, "off"), environ={})
    assert settings.warnings == ()
    assert settings.limits.calls is None
    assert settings.servers[0].tools == {}
