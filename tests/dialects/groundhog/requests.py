"""The registration of Groundhog's specification, with real schemas, and small changes of it."""

from __future__ import annotations

import copy
from typing import Any

__all__ = ["REGISTER", "changed"]

REGISTER: dict[str, Any] = {
    "tool_metadata": {
        "name": "directory_list",
        "version": "1.0.0",
        "description": "Secure directory listing tool",
        "author": "Groundhog Team",
        "categories": ["filesystem", "utility"],
    },
    "security_profile": {
        "permissions": ["read:filesystem"],
        "sandbox_level": "container",
        "resource_limits": {"max_execution_time": 30, "max_memory": 268435456},
    },
    "schema": {
        "input": {
            "type": "object",
            "properties": {"path": {"type": "string"}},
            "required": ["path"],
        },
        "output": {"type": "object", "required": ["path", "entries", "metadata"]},
    },
}


def changed(path: str, value: Any, *, gone: bool = False) -> dict[str, Any]:
    """The registration with another value at a dotted path, or without it."""
    found = copy.deepcopy(REGISTER)
    *above, last = path.split(".")
    inner = found
    for name in above:
        inner = inner[name]
    if gone:
        del inner[last]
    else:
        inner[last] = value
    return found
