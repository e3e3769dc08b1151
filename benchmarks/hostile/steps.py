"""Inputs of several steps: tasks whose servers say much of them, bodies of APIs, and a changed configuration while lists are large.

`in_steps(hostile, size)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import partial

from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.results import TASKS
from benchmarks.hostile.web import BODIES

__all__ = ["in_steps"]

_METHODS = ("tasks/get", "tasks/result", "tasks/list")
_FOLLOWED_S = 3.0
"""How long the gateway has to notice a changed file, and to follow it."""


def in_steps(hostile: Hostile, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for kind in TASKS:
        for method in _METHODS:
            yield f"{method}.{kind}", partial(_asked_about, hostile, method, kind, size)
        yield f"tasks.made.{kind}", partial(_asked_about, hostile, "", f"made_{kind}", size)
    for kind in BODIES:
        for name, part in ((kind, size), (f"{kind}.passed_on", size // 4)):
            order = json.dumps({"kind": kind, "size": part}).encode()
            yield f"api.{name}", partial(hostile.call_of, "bodies__body", order)
    for tool, kind in (("again", "small"), ("resources", "many")):
        yield f"reload.{kind}", partial(_reloaded, hostile, tool, kind, size)


def _asked_about(hostile: Hostile, method: str, kind: str, size: int) -> str:
    order = {"name": "hostile__tasked", "arguments": {"kind": kind, "size": size}, "task": {}}
    made = hostile.asked("tools/call", order)
    if not method or not isinstance(made, dict) or "task" not in made:
        return f"made: {str(made)[:60]}"
    params = {} if method == "tasks/list" else {"taskId": made["task"]["taskId"]}
    asking = {"jsonrpc": "2.0", "id": 9, "method": method, "params": params}
    return hostile.mcp(json.dumps(asking).encode())


def _reloaded(hostile: Hostile, tool: str, kind: str, size: int) -> str:
    said = hostile.call(tool, json.dumps({"kind": kind, "size": size}).encode())
    time.sleep(1.0)
    hostile.changed()
    time.sleep(_FOLLOWED_S)
    hostile.call(tool, b'{"kind":"","size":0}')
    time.sleep(0.5)
    return said
