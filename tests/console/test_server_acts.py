"""Acts on servers through a whole gateway; what is asked of them by their screen: `screens/test_servers.py`."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.console.asking import Api
from tests.console.running import ROOT, running

_LOCAL = f"""
[[servers]]
id = "demo"
command = "{sys.executable}"
args = ["{ROOT}/examples/demo_server.py"]
"""


def test_what_is_not_there_is_neither_acted_on_nor_written(tmp_path: Path) -> None:
    with running(tmp_path, _LOCAL) as console:
        api = Api(console)
        before = console.config.read_text()
        said = [
            api.post("/servers/nothing/stop", reason="x"),
            api.post("/servers/nothing/drain"),
            api.post("/servers/nothing/disable"),
            api.get("/servers/nothing/pin", tool="x"),
            api.post("/servers/demo/pin/accept", tool="x", digest="0" * 64),
            api.post("/servers/demo/pin/refuse", tool="x" * 600, reason="x"),
        ]
        assert [one["status"] for one in said] == [404, 404, 404, 404, 409, 422]
        assert console.config.read_text() == before
