"""`code_safety` rules for imports, module members and attribute names, and the state of one walk over the syntax tree.

Here is what speaks against a module and against a member of one, however the code reached it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

import msgspec

from gatewright.patterns import Pattern
from gatewright.validators import code_lists as lists
from gatewright.validators.code_lists import FRAME_MEMBERS, FRAMES
from gatewright.validators.code_names import Names

__all__ = [
    "ENUMERATIONS",
    "GUARDED",
    "TYPES",
    "Rules",
    "Walk",
    "attribute_violation",
    "is_refused_attribute",
]

GUARDED = frozenset({"getattr", "vars", "delattr"})
"""Builtins that are judged where they are called, and pass nowhere else."""
_CLOSED_GUARDED = GUARDED | {"type", "setattr"}
_LOOKED_AT = GUARDED | lists.BLOCKED_BUILTINS
_CLOSED_LOOKED_AT = _LOOKED_AT | _CLOSED_GUARDED
_WATCHED = (
    lists.WATCHED.union(lists.WATCHED_MEMBERS, lists.CALLED, lists.MAKING, FRAMES, FRAME_MEMBERS)
) - {"pandas.options"}
"""Modules that are no values at the closed levels, besides those that are imported, and what makes classes or loads code."""

_MOST_KEPT, _LONGEST_KEPT = 2000, 64
ENUMERATIONS = frozenset(f"enum.{name}" for name in "Enum IntEnum StrEnum Flag IntFlag".split())
TYPES = ENUMERATIONS | {"numpy.ndarray", "numpy.void"}
"""Classes that, called, make a class with members of any name, or an object of any bytes: beside tables they are named as types only."""


class Rules(msgspec.Struct, frozen=True):
    """What one level refuses, with the lists of one tool."""

    blocked_imports: frozenset[str]
    blocked_patterns: frozenset[str]
    """Patterns that are a name, a call `name(` or a dotted path; other ones are matched elsewhere."""
    allowed_imports: frozenset[str] | None = None
    """None: every import that is not blocked."""
    read_only: bool = False
    kept: dict[str, str | None] = msgspec.field(default_factory=dict)
    """What has been said about members of modules; so many, and no long paths."""


class Walk:
    """What one walk knows and has seen."""

    def __init__(self, rules: Rules, names: Names, rebound: frozenset[str]) -> None:
        self.rules = rules
        self.names = names
        self.rebound = rebound
        self.closed = rules.allowed_imports is not None
        """Whether the level is one at which only what is listed passes: `strict` or `readonly`."""
        self.guarded = _CLOSED_GUARDED if self.closed else GUARDED
        self.interesting = (_CLOSED_LOOKED_AT if self.closed else _LOOKED_AT) | names.known
        """Names that need a look; all others stand for nothing that is known."""
        self.networked = names.reaches(lists.NETWORK)
        self.frames = self.closed and names.reaches(FRAMES)
        """Whether the code uses tables or arrays at a level at which only listed members of them pass."""
        self.watched = _WATCHED | names.modules if self.closed else lists.WATCHED
        """Modules, and beside tables classes, that must not be passed around."""
        if self.frames:
            self.watched |= TYPES
        self.followed: set[int] = set()
        """Nodes whose use of a module or of a guarded builtin has been judged with their parent."""
        self.read: list[ast.AST] = []
        """Trees of annotations: as long as they are kept, no other node has the identity of one of theirs."""
        self.harmless: set[int] = set()
        """Nodes of blocked functions that are called in a way that makes them harmless."""

    def is_refused_name(self, name: str) -> bool:
        """Whether no object's member of that name may be looked up by it; where what passes is listed, no private one."""
        if not self.closed:
            return is_refused_attribute(name) or name == "__dict__"
        private = name[:1] == "_" and name not in lists.PRIVATE
        return private or name in lists.CLOSED_ATTRIBUTES or is_refused_attribute(name)

    # -- modules and their members

    def import_violation(self, module: str) -> str | None:
        """What speaks against importing a module."""
        parent, _, member = module.rpartition(".")
        allowed = self.rules.allowed_imports
        passes = not (
            _covered(module, self.rules.blocked_imports)
            or member in lists.BLOCKED_MEMBERS.get(parent, ())
            # `_io`, `_posixsubprocess`: what standard modules are made of, without what those refuse.
            or (module.startswith("_") and module != "__future__")
        ) and (allowed is None or _covered(module, allowed))
        # A module inside of another one is a member of it, too, and may keep what that does not show.
        named = allowed is None or (module in allowed and parent.partition(".")[0] not in FRAMES)
        if passes and not named:
            passes = not (self._blocked_member(parent, member) or "._" in module)
        return None if passes else f"Blocked import: '{module}'"

    def member_violation(self, path: str) -> str | None:
        """What speaks against a member of a module, by its dotted path."""
        kept = self.rules.kept
        if path in kept:
            return kept[path]
        found = self._member_violation(path)
        if len(kept) < _MOST_KEPT and len(path) <= _LONGEST_KEPT:
            kept[path] = found
        return found

    def _member_violation(self, path: str) -> str | None:
        module, _, member = path.rpartition(".")
        patterns = self.rules.blocked_patterns
        if path in patterns or f"{path}(" in patterns:
            return f"Blocked pattern: '{path}'"
        if _covered(path, self.rules.blocked_imports) or self._blocked_member(module, member):
            return f"Blocked call: '{path}'"
        if _is_private(module, member) or (self.closed and _is_kept(module, member)):
            return f"Blocked private member: '{path}'"
        if _is_foreign_module(module, member, path):
            return f"Blocked import: '{path}'"
        return None

    def _blocked_member(self, module: str, member: str) -> bool:
        if member in lists.BLOCKED_MEMBERS.get(module, ()):
            return True
        if self.rules.read_only and member in lists.WRITING_MEMBERS.get(module, ()):
            return True
        if not self.closed:
            return False
        only = self._only(module)
        return only is not None and member not in only and not member.startswith("__")

    def _only(self, module: str) -> frozenset[str] | None:
        if module.partition(".")[0] not in FRAMES:
            return lists.ONLY_MEMBERS.get(module)
        # What an operator allowed by name is allowed as a whole.
        allowed = self.rules.allowed_imports or frozenset()
        if module in FRAME_MEMBERS:
            return FRAME_MEMBERS[module]
        parent, _, name = module.rpartition(".")
        known = name in FRAME_MEMBERS.get(parent, ()) and name[:1].isupper()
        return None if known or name in _VALUES or module in allowed - FRAMES else _NOTHING


_NOTHING: frozenset[str] = frozenset()
_VALUES = frozenset(
    "add multiply maximum minimum logical_and logical_or subtract r_ c_ s_ display mode NaT NA nan pi e default_rng".split()
)
"""Members whose own members are methods of values."""


def _is_foreign_module(module: str, member: str, path: str) -> bool:
    """Whether a standard module is reached through another one that happens to import it."""
    if module.partition(".")[0] not in lists.MODULES | {"typing_extensions"}:
        # Of packages nobody here knows which modules they expose; `requests.os` is `os`.
        return member in lists.HIDDEN_MODULES
    if member not in lists.MODULES or (member not in lists.HIDDEN_MODULES and _is_object(module)):
        return False
    return path not in lists.SUBMODULES and module.rpartition(".")[2] != member


def _is_object(path: str) -> bool:
    """Whether a member of a module is certainly none itself: a class by its name, or a known object."""
    top, _, last = path.rpartition(".")
    return _covered(path, lists.OBJECTS) or (last[:1].isupper() and not top.startswith("xml."))


def _is_private(module: str, member: str) -> bool:
    """Whether a member of a standard module is one that it keeps for itself; classes for annotations are not."""
    top = module.partition(".")[0]
    if not member.startswith("_") or member.startswith("__") or top not in lists.MODULES:
        return False
    return not member[1:2].isupper() or top in {"os", "sys"}


def _is_kept(module: str, member: str) -> bool:
    """Whether a member of a foreign package is a module that it keeps for itself; `httpx._multipart` has `Path`."""
    own = member[:1] == "_" and member[:2] != "__"
    return own and module.partition(".")[0] not in lists.MODULES


def _covered(module: str, listed: frozenset[str]) -> bool:
    """Whether a dotted name or one of its parents is on a list."""
    while module:
        if module in listed:
            return True
        module = module.rpartition(".")[0]
    return False


_MANGLED = Pattern(r"_[A-Za-z]\w*__\w*[A-Za-z]")
"""What a class keeps for itself (`self.__x`), spelled from outside."""


def attribute_violation(name: str) -> Iterator[str]:
    """What speaks against a member of that name, of whatever object."""
    if is_refused_attribute(name):
        yield f"Blocked attribute: '{name}'"


def is_refused_attribute(name: str) -> bool:
    """Whether no object's member of that name may be used."""
    if name[:2] == "__":
        return name.endswith("__") and name not in lists.HARMLESS_DUNDERS
    return name in lists.BLOCKED_ATTRIBUTES or (
        name[:1] == "_" and _MANGLED.fullmatch(name) is not None
    )
