"""The generous server runs what any spelling of `tools/call` asks for, so that a test with it can fail."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.mcp.wire.names import spellings
from tests.tool_servers.folding import main

SERVER = Path(__file__).with_name("folding.py")


def test_it_runs_a_tool_however_that_is_asked_for(tmp_path: Path) -> None:
    assert callable(main)
    log, asked = tmp_path / "log", ["tools/call", *spellings("tools/call")]
    lines = [
        json.dumps({"jsonrpc": "2.0", "method": one, "params": {"name": "wipe"}, **ident})
        for n, one in enumerate(asked)
        for ident in ({}, {"id": n})
    ]
    done = subprocess.run(
        [sys.executable, str(SERVER), str(log)],
        input="\n".join(lines).encode(),
        capture_output=True,
        timeout=60,
        check=True,
    )
    assert len(done.stdout.splitlines()) == len(asked)
    ran = [json.loads(line)[1] for line in log.read_text().splitlines()]
    assert ran == [["wipe"]] * (2 * len(asked))
