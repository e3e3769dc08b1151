"""Starts an MCP server over stdio for each line that it reads, waits for its hello, ends it, and says so.

python -m benchmarks.starter COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

__all__ = ["main"]

_HELLO = {
    "jsonrpc": "2.0",
    "id": 0,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "benchmark", "version": "1"},
    },
}


def _start(command: Sequence[str]) -> bool:
    """Whether it said hello."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, start_new_session=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(_HELLO).encode() + b"\n")
        process.stdin.flush()
        answered = b'"result"' in process.stdout.readline()
        process.terminate()
    return answered


def main(command: Sequence[str]) -> None:
    """Until standard input ends."""
    for _ in sys.stdin:
        print("ended" if _start(command) else "failed", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
