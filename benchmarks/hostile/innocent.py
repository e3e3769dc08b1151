"""The caller whom nobody may stop: calls `echo` every few milliseconds and writes down when and how long each call took.

    python -m benchmarks.hostile.innocent URL TOOL PACE_MS

A line on standard input asks for what was measured since the last one: `p50 p99 longest calls`, in milliseconds.
"""

from __future__ import annotations

import math
import sys
import threading
import time

from benchmarks.mcp_client import Session

__all__ = ["figures", "main"]


def figures(took: list[float]) -> tuple[float, float, float, int]:
    """p50, p99 (nearest rank) and longest, in milliseconds, and how many."""
    found = sorted(took)
    if not found:
        return 0.0, 0.0, 0.0, 0
    ranks = [found[max(1, math.ceil(part * len(found))) - 1] * 1000 for part in (0.5, 0.99, 1.0)]
    return ranks[0], ranks[1], ranks[2], len(found)


def main(arguments: list[str]) -> int:
    """Call until the other side hangs up."""
    url, tool, pace = arguments[0], arguments[1], float(arguments[2]) / 1000
    session = Session(url)
    session.open()
    took: list[float] = []
    lock = threading.Lock()

    def asked() -> None:
        for _ in sys.stdin:
            with lock:
                p50, p99, longest, calls = figures(took)
                took.clear()
            print(f"{p50:.2f} {p99:.2f} {longest:.2f} {calls}", flush=True)

    thread = threading.Thread(target=asked, daemon=True)
    thread.start()
    due = time.monotonic()
    while thread.is_alive():
        due = max(due + pace, time.monotonic() - pace)  # what was missed is not made up for
        time.sleep(max(0.0, due - time.monotonic()))
        began = time.monotonic()
        session.ask("tools/call", {"name": tool, "arguments": {"text": "hello"}})
        spent = time.monotonic() - began
        with lock:
            took.append(spent)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
