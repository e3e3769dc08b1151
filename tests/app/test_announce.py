from __future__ import annotations

import json
import os
from pathlib import Path

from gatewright import __version__
from gatewright.app.announce import Ready, announced
from gatewright.storage.pid_namespace import pid_namespace


def test_the_command_line_finds_a_gateway_while_it_runs_and_no_longer(tmp_path: Path) -> None:
    tokens = {"operator": "one", "local": "two"}
    groups = [[Path("/a/mgp.toml"), Path("/a/mcp.toml")], [Path("/b/servers.toml")]]
    ready = Ready("http://127.0.0.1:1/mcp", {"console": "http://127.0.0.1:2/open#once"}, {})
    with announced(tmp_path, ready, tokens, clear_text=("10.0.0.1:1",), follows=groups):
        path = tmp_path / "gateway.json"
        assert json.loads(path.read_text()) == {
            "url": "http://127.0.0.1:1/mcp",
            "pid": os.getpid(),
            "operator_token": "one",
            "local_token": "two",
            "version": __version__,
            "console": "http://127.0.0.1:2",
            "clear_text": ["10.0.0.1:1"],
            "follows": [["/a/mgp.toml", "/a/mcp.toml"], ["/b/servers.toml"]],
            "pid_namespace": pid_namespace(),
        }
        assert path.stat().st_mode & 0o777 == 0o600
    assert not path.exists()
