"""The configuration that benchmarks write is one that the gateway understands whole."""

from __future__ import annotations

import json
from pathlib import Path

from benchmarks.gateway import Upstream, config
from gatewright.config import load


def test_a_written_configuration_loads_without_a_word_of_complaint(tmp_path: Path) -> None:
    upstreams = [Upstream.echo("one", "--era", "legacy"), Upstream("two", url="http://[::1]:9/mcp")]
    path = tmp_path / "mgp.toml"
    path.write_text(config(upstreams, tmp_path, "always"), encoding="utf-8")
    settings = load(path, environ={})
    assert settings.warnings == ()
    assert settings.gateway.anonymous == "allow"
    assert settings.audit.sync == "always"
    assert [one.transport for one in settings.servers] == ["stdio", "http"]
    assert json.dumps(settings.servers[0].args[-2:]) == '["--era", "legacy"]'
    assert {(one.agent, one.server) for one in settings.grants} == {("*", "one"), ("*", "two")}
