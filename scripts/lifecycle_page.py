"""Writes the tables and pictures of docs/lifecycle.md from the state machine in `gatewright.servers.states`; text by hand stays.

The page is text with parts between `<!-- begin NAME … -->` and `<!-- end NAME -->`, which are written here.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import get_args

from gatewright.servers.states import AFTER, STATES, TRANSITIONS, Policy, State, way

__all__ = ["PAGE", "PARTS", "main", "written"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = Path("docs/lifecycle.md")
_PART = re.compile(r"(<!-- begin (\S+)[^\n]*-->\n).*?(<!-- end \2 -->)", re.DOTALL)
_COMES = {
    "stays": "stays down until it is started",
    "call": "comes back with the next call",
    "restart": "is started again at once",
}


def _states() -> Iterator[str]:
    yield "| state | what it means |"
    yield "| --- | --- |"
    for name, said in STATES.items():
        yield f"| `{name}` | {said} |"


def _picture() -> Iterator[str]:
    yield "```mermaid"
    yield "stateDiagram-v2"
    yield "    [*] --> registered"
    for one in TRANSITIONS:
        yield f"    {one.before} --> {one.after}: {one.when}"
    yield "```"


def _transitions() -> Iterator[str]:
    yield "| from | to | when | `reason` unless another is known |"
    yield "| --- | --- | --- | --- |"
    for one in TRANSITIONS:
        yield f"| `{one.before}` | `{one.after}` | {one.when} | `{one.cause}` |"


def _after() -> Iterator[str]:
    policies = get_args(Policy)
    yield f"| `reason` | {' | '.join(f'`{one}`' for one in policies)} |"
    yield f"| --- |{' --- |' * len(policies)}"
    for reason, found in AFTER.items():
        yield f"| `{reason}` | {' | '.join(_COMES[found[one]] for one in policies)} |"


_FLOW: tuple[tuple[State, State], ...] = (
    ("connected", "draining"),
    ("draining", "restarting"),
    ("restarting", "connected"),
)
"""The transitions of the flow that the sequence shows."""


def _sequence() -> Iterator[str]:
    for before, after in _FLOW:
        if len(way(before, after)) != 1:
            raise ValueError(f"the table has no transition from {before} to {after}")

    def told(before: State, after: State) -> str:
        return f"    G--)C: notifications/mgp.lifecycle {before} → {after}"

    yield "```mermaid"
    yield "sequenceDiagram"
    yield "    participant O as operator"
    yield "    participant C as client"
    yield "    participant G as gateway"
    yield "    participant S as server"
    yield "    C->>G: tools/call (slow)"
    yield "    G->>S: tools/call (slow)"
    yield "    O->>G: mgp/lifecycle/shutdown {server_id, configuration_change, timeout_ms}"
    yield told(*_FLOW[0])
    yield "    G->>S: mgp/lifecycle/shutdown, where it negotiated `lifecycle`"
    yield "    G-->>O: {accepted, pending_requests: 1, estimated_drain_ms}"
    yield "    C->>G: tools/call"
    yield "    G-->>C: 2001 SERVER_DRAINING"
    yield "    S-->>G: result of the slow call"
    yield "    G-->>C: result of the slow call"
    yield "    Note over G,S: no call in flight, or timeout_ms is over (then 3003): the connection is closed"
    yield told(*_FLOW[1])
    yield "    G->>S: started again (policy `always`), handshake"
    yield told(*_FLOW[2])
    yield "```"


PARTS: Mapping[str, Callable[[], Iterator[str]]] = {
    "states": _states,
    "picture": _picture,
    "transitions": _transitions,
    "after": _after,
    "sequence": _sequence,
}


def written(text: str) -> str:
    """The page with its parts as the tables have them now. Raises `KeyError` for a part that there is not."""

    def part(found: re.Match[str]) -> str:
        return found[1] + "\n".join(PARTS[found[2]]()) + "\n" + found[3]

    return _PART.sub(part, text)


def main(arguments: list[str] | None = None, root: Path = ROOT) -> int:
    """Write the page where it differs, or with `--check` only name it and return 1."""
    parser = argparse.ArgumentParser(prog="scripts/docs lifecycle", description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing")
    checks = parser.parse_args(arguments).check
    path = root / PAGE
    held = path.read_text(encoding="utf-8")
    fresh = written(held)
    if fresh == held:
        return 0
    print(PAGE)
    if not checks:
        path.write_text(fresh, encoding="utf-8")
    return int(checks)


if __name__ == "__main__":
    sys.exit(main())
