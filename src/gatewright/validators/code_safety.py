"""Validator `code_safety`: judges Python code at one of four levels (MGP §7), with the rejection body of §7.4.

`unrestricted` judges nothing but a size that was declared; `standard` refuses imports, calls and members that are
known for harm; `strict` allows only listed imports, and of some modules only parts; `readonly` is `strict` without
anything that writes. What is refused comes with the body of §7.4, whose hints are enough to write it anew.

This is a filter, not a sandbox: code that an agent wrote still belongs into one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any, Literal

import msgspec

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.schemas.json_pointers import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.validators import code_lists as lists
from gatewright.validators.code_members import Rules
from gatewright.validators.code_rules import violations
from gatewright.validators.code_source import MAX_BYTES, BadSource, blanked, is_disguised, parsed
from gatewright.validators.options import BadOptions, read_options

__all__ = ["CodeSafety", "Level", "Options", "prepare"]

Level = Literal["unrestricted", "standard", "strict", "readonly"]

_DEFAULT_BYTES = 10_000


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool's `code_safety` object (MGP §7.3)."""

    level: Level = "standard"
    language: str = "python"
    max_code_size_bytes: int | None = None
    """Most bytes of UTF-8; None: 10,000, and none at all for `unrestricted`."""
    blocked_imports: tuple[str, ...] = ()
    """Besides those of the level."""
    blocked_patterns: tuple[str, ...] = ()
    """Besides those of the level; matched against code, not against texts and comments."""
    allowed_imports: tuple[str, ...] | None = None
    """For `strict` and `readonly`: the only imports, instead of the default list."""


def prepare(options: Mapping[str, Any], tool: str = "") -> CodeSafety:
    """The validator for one tool; its name does not matter. Raises `BadOptions`."""
    del tool
    found = read_options(Options, options)
    if (
        found.language.casefold() not in {"python", "python3", "py"}
        and found.level != "unrestricted"
    ):
        raise BadOptions(f"code in {found.language!r} cannot be judged, only python")
    return CodeSafety(found)


class CodeSafety:
    """Judges source (text)."""

    at_once = 1024

    def __init__(self, options: Options) -> None:
        self._options = options
        self._closed = closed = options.level in {"strict", "readonly"}
        allowed = options.allowed_imports
        # An empty list allows none; only a missing one means the default.
        self._allowed = lists.ALLOWED_IMPORTS if allowed is None else allowed
        self._size = options.max_code_size_bytes
        if self._size is None and options.level != "unrestricted":
            self._size = _DEFAULT_BYTES
        patterns = (*lists.BLOCKED_PATTERNS, *options.blocked_patterns)
        self._rules = Rules(
            blocked_imports=frozenset((*lists.BLOCKED_IMPORTS, *options.blocked_imports)),
            blocked_patterns=frozenset(patterns),
            allowed_imports=frozenset(self._allowed) if closed else None,
            read_only=options.level == "readonly",
        )
        # Patterns of which the walk over the tree knows nothing are sought in the text.
        self._texts = [
            one
            for one in patterns
            if not _KNOWN_FORM.fits(one) or one not in lists.BLOCKED_PATTERNS
        ]

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one source, with all its violations."""
        found = self._violations(value) if isinstance(value, str) else ["Type: code must be a text"]
        if not found:
            return None
        return Objection(
            "", "code_safety", f"was rejected: {'; '.join(found[:3])}", self._body(found)
        )

    def cost(self, value: Any) -> int:
        """Microseconds that judging a source takes; one that is too large is not parsed."""
        size = len(value) if isinstance(value, str) else 0
        most = MAX_BYTES if self._size is None else min(self._size, MAX_BYTES)
        return 50 + (6 * size if size <= most else size // 4)

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Members that are called like code; where there are none, every text."""
        texts = [(place, text) for place, text, is_name in strings(arguments) if not is_name]
        named = [(place, text) for place, text in texts if place is not None and _is_code(place)]
        return iter(named or texts)

    def _violations(self, code: str) -> list[str]:
        size = len(code.encode(errors="surrogatepass"))
        # Before it is parsed: the parser's work is not to be had for free.
        if self._size is not None and size > min(self._size, MAX_BYTES):
            return [f"Code size: {size} bytes, at most {min(self._size, MAX_BYTES)}"]
        if self._options.level == "unrestricted":
            return []
        try:
            found = dict.fromkeys(violations(parsed(code), self._rules))
            if self._closed and is_disguised(code):
                found["Character: a name in letters that are read as others"] = None
        except BadSource as problem:
            return [str(problem)]
        if self._texts:
            plain = blanked(code)
            found |= {
                f"Blocked pattern: '{one}'": None for one in self._texts if _whole(one, plain)
            }
        return list(found)

    def _body(self, found: list[str]) -> Mapping[str, Any]:
        """The rejection body of MGP §7.4."""
        return {
            "status": "rejected",
            "reason": "Code validation failed",
            "violations": found,
            "hints": self._hints,
        }

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        allowed = self._rules.allowed_imports
        blocked = self._rules.blocked_imports
        # Hints name nothing that would be refused all the same.
        usable = [one for one in self._allowed if one not in blocked]
        parts = {} if allowed is None else lists.SHOWN_MEMBERS
        return {
            "blocked_imports": sorted(blocked) if allowed is None else [],
            "allowed_imports": usable,
            # Of these modules nothing else passes.
            "allowed_members": {one: sorted(parts[one]) for one in usable if one in parts},
            "blocked_patterns": sorted(self._rules.blocked_patterns),
            "max_code_size_bytes": self._size,
        }


_KNOWN_FORM = Pattern(r"[\w.]+\(?")
_CODE = Pattern(
    r"(?:^|[_\-.])(?:code|source|src|script|program|snippet|python|py|body|expression|expr|function|module|main)\n?\Z",
    IGNORECASE,
)


def _is_code(place: Place) -> bool:
    key = next((step for step in reversed(place.path()) if isinstance(step, str)), "")
    return _CODE.within(key) or "code" in key.casefold()


def _whole(sought: str, code: str) -> bool:
    """Whether code has a text as whole tokens: `eval(` is no part of `literal_eval(`, nor of a method or definition."""
    begins, ends = sought[:1].isidentifier(), sought[-1:].isidentifier()
    at = code.find(sought)
    while at >= 0:
        after = at + len(sought)
        part = begins and (_is_word(code[at - 1 : at], ".") or code[max(0, at - 4) : at] == "def ")
        if not part and not (ends and _is_word(code[after : after + 1])):
            return True
        at = code.find(sought, at + 1)
    return False


def _is_word(sign: str, more: str = "") -> bool:
    return sign.isalnum() or (sign != "" and sign in "_" + more)
