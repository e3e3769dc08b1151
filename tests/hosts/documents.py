"""Random JSON with comments, written by a careless hand, as a strategy for Hypothesis.

One draw of bytes makes every choice: drawing each choice by itself takes ten times as long.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from hypothesis import strategies as st

__all__ = ["documents"]

_SPACE = ("", "", "", " ", "  ", "\t", "\n", "\r\n", "\n\n  ", "\n\t", "\r", " \n")
_COMMENTS = ("// c\n", "//\r\n", "/**/", '/* } ] , " */', "/*\n*/", '// "mcpServers": {\n')
_WORDS = ("a", "b", "", "gatewrigh", "mcpServers2", "é", "😀", "//", "/*", '"', "\\", "\u2028", "}")
_SCALARS = ("null", "true", "0", "-1.5e+9", "123456789012345678901234567890", "WORD", "WORD")


class _Hand:
    """Writes JSON; `choices` say how, and where they end it takes the first of everything."""

    def __init__(self, choices: bytes, *, comments: bool) -> None:
        self._choices = iter(choices)
        self._comments = comments

    def pick(self, from_: Sequence[str]) -> str:
        return from_[self.number(len(from_))]

    def number(self, below: int) -> int:
        return next(self._choices, 0) % below

    def space(self) -> str:
        pieces = _SPACE + _COMMENTS if self._comments else _SPACE
        return self.pick(pieces) + (self.pick(pieces) if self.number(4) == 3 else "")

    def word(self) -> str:
        return json.dumps(self.pick(_WORDS), ensure_ascii=self.number(2) == 1)

    def value(self, depth: int) -> str:
        kind = self.number(6) if depth else 0
        if kind == 4:
            return self.object(depth - 1)
        if kind == 5:
            items = [self.around(self.value(depth - 1)) for _ in range(self.number(4))]
            return "[" + (",".join(items) or self.space()) + "]"
        scalar = self.pick(_SCALARS)
        return self.word() if scalar == "WORD" else scalar

    def around(self, text: str) -> str:
        return self.space() + text + self.space()

    def object(self, depth: int, container: str = "") -> str:
        members = [self.member(self.word(), self.value(depth)) for _ in range(self.number(4))]
        if container:
            servers = self.member(f'"{container}"', self.object(depth))
            members.insert(self.number(len(members) + 1), servers)
        body = ",".join(members)
        if members and self._comments and self.number(2):
            body += "," + self.space()
        return "{" + (body or self.space()) + "}"

    def member(self, key: str, value: str) -> str:
        return f"{self.around(key)}:{self.around(value)}"


def _document(choices: bytes, comments: bool, container: bool, mark: bool) -> str:
    hand = _Hand(choices, comments=comments)
    text = hand.around(hand.object(3, "mcpServers" if container else ""))
    return "\ufeff" + text if mark else text


def documents() -> st.SearchStrategy[str]:
    """Texts of host files: an object, with or without `mcpServers`, with or without comments."""
    return st.builds(
        _document, st.binary(min_size=80, max_size=300), st.booleans(), st.booleans(), st.booleans()
    )
