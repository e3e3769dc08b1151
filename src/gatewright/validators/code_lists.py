"""Tables of `code_safety`, read from `code_lists.toml` and `code_frames.toml` beside this file: imports, builtins, members, patterns."""

from __future__ import annotations

import sys
from typing import Any

from gatewright.word_tables import tables

__all__ = [
    "ALLOWED_IMPORTS",
    "BLOCKED_ATTRIBUTES",
    "BLOCKED_BUILTINS",
    "BLOCKED_IMPORTS",
    "BLOCKED_MEMBERS",
    "BLOCKED_PATTERNS",
    "CALLED",
    "CLOSED_ATTRIBUTES",
    "CLOSED_BUILTINS",
    "CLOSED_STARS",
    "DEFINABLE",
    "FRAMES",
    "FRAME_LISTS",
    "FRAME_MEMBERS",
    "HARMLESS_DUNDERS",
    "HIDDEN_MODULES",
    "MAKING",
    "MODULES",
    "NETWORK",
    "OBJECTS",
    "ONLY_MEMBERS",
    "PRIVATE",
    "PRIVATE_MODULES",
    "READABLE_DUNDERS",
    "SENDING_ATTRIBUTES",
    "SHOWN_MEMBERS",
    "STARS",
    "SUBMODULES",
    "WATCHED",
    "WATCHED_MEMBERS",
    "WRITING_ATTRIBUTES",
    "WRITING_MEMBERS",
]


def _sets(value: Any) -> Any:
    """Texts of words as sets of them."""
    if isinstance(value, dict):
        return {key: _sets(one) for key, one in value.items()}
    return frozenset(value.split())


def _dunders(names: frozenset[str]) -> frozenset[str]:
    return frozenset(f"__{name}__" for name in names)


_LISTS = _sets(tables(__file__, "code_lists.toml"))
_CLOSED = _LISTS["closed"]
FRAME_LISTS = _sets(tables(__file__, "code_frames.toml"))
"""Everything about numpy and pandas, by the names in the file."""
FRAMES: frozenset[str] = FRAME_LISTS["frames"]
FRAME_MEMBERS: dict[str, frozenset[str]] = FRAME_LISTS["members"]

BLOCKED_IMPORTS: frozenset[str] = _LISTS["blocked_imports"]
BLOCKED_PATTERNS: frozenset[str] = _LISTS["blocked_patterns"]
BLOCKED_BUILTINS: frozenset[str] = _LISTS["blocked_builtins"]
BLOCKED_MEMBERS: dict[str, frozenset[str]] = _LISTS["blocked_members"]
BLOCKED_ATTRIBUTES: frozenset[str] = _LISTS["blocked_attributes"]
HARMLESS_DUNDERS = _dunders(_LISTS["harmless_dunders"])
ALLOWED_IMPORTS: tuple[str, ...] = tuple(sorted(_LISTS["allowed_imports"]))
WATCHED: frozenset[str] = _LISTS["watched"] | _LISTS["called"]
CALLED: frozenset[str] = _LISTS["called"] | _CLOSED["called"]
MAKING: frozenset[str] = _CLOSED["making"]
WATCHED_MEMBERS: frozenset[str] = _LISTS["watched_members"]
STARS: frozenset[str] = _LISTS["stars"]
NETWORK: frozenset[str] = _LISTS["network"]
HIDDEN_MODULES: frozenset[str] = _LISTS["hidden_modules"]
SUBMODULES: frozenset[str] = _LISTS["submodules"]
OBJECTS: frozenset[str] = _LISTS["objects"]
SENDING_ATTRIBUTES: frozenset[str] = _LISTS["sending_attributes"]
WRITING_ATTRIBUTES: frozenset[str] = _LISTS["writing_attributes"]
WRITING_MEMBERS: dict[str, frozenset[str]] = _LISTS["writing_members"]
MODULES = frozenset(sys.stdlib_module_names)

# At `strict` and above.
SHOWN_MEMBERS: dict[str, frozenset[str]] = _CLOSED["only_members"]
ONLY_MEMBERS: dict[str, frozenset[str]] = SHOWN_MEMBERS | _CLOSED["documented"]
CLOSED_STARS: frozenset[str] = _CLOSED["stars"]
CLOSED_BUILTINS: frozenset[str] = _CLOSED["builtins"]
CLOSED_ATTRIBUTES: frozenset[str] = _CLOSED["attributes"]
READABLE_DUNDERS = _dunders(_CLOSED["dunder_names"])
DEFINABLE = _dunders(_CLOSED["definable"])
PRIVATE: frozenset[str] = _CLOSED["private"]
PRIVATE_MODULES: frozenset[str] = _CLOSED["private_modules"]
