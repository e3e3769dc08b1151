"""Check on foreign YAML before its values are built: nesting and alias expansion (billion laughs)."""

from __future__ import annotations

from typing import Any

__all__ = ["MAX_UNFOLDED", "unfolds_too_far"]

MAX_UNFOLDED = 200_000


def unfolds_too_far(node: Any) -> bool:
    """Whether a YAML node stands for too many values once its aliases are written out. Raises `RecursionError`."""
    return _unfolded(node, {}, 0) > MAX_UNFOLDED


def _unfolded(node: Any, known: dict[int, int], depth: int) -> int:
    """How many values a node stands for, aliases written out; each is counted once."""
    if depth > 200:
        raise RecursionError
    # By identity: an alias is the same node again, so each node is walked once, however often it is named.
    here = id(node)
    if here not in known:
        # A node that contains itself stands for no end of values.
        known[here] = MAX_UNFOLDED + 1
        total = 1
        for part in node.value if isinstance(node.value, list) else ():
            inner = part if isinstance(part, tuple) else (part,)
            total += sum(_unfolded(one, known, depth + 1) for one in inner)
        known[here] = min(total, MAX_UNFOLDED + 1)
    return known[here]
