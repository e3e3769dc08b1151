"""What `mgp.toml` says of results that speak to the model, for each server and tool."""

from __future__ import annotations

from pathlib import Path

from gatewright.config import load
from gatewright.pins.result_levels import levels_of


def test_levels_of_servers_and_tools(tmp_path: Path) -> None:
    file = tmp_path / "mgp.toml"
    file.write_text(
        """
[results]
injection = "mark"

[[servers]]
id = "web"
command = "true"
injection = "hold"

[servers.tools.search]
injection = "off"

[[servers]]
id = "plain"
command = "true"
"""
    )
    levels = levels_of(load(file))
    assert levels.default == "mark"
    assert levels.servers == {"web": "hold"}
    assert levels.tools == {("web", "search"): "off"}
    assert not levels.off
