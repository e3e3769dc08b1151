"""Removes harmless advice clauses ("do not include passwords …") from a tool's description before a second prompt-injection score.

A clause ends with its sentence, and before any word that turns it round (`but`, `unless`, `instead` …), so that nothing can be
ordered inside of a warning. Whatever names a path, an address or another tool or server is kept: that is no advice about this one.
"""

from __future__ import annotations

import re2  # type: ignore[import-untyped]

__all__ = ["without_advice"]

_CHARS = 300

_options = re2.Options()
_options.case_sensitive = False

_KEEPS_OUT = re2.compile(
    r"\b(?:do not|don'?t|never|must not|should not|avoid) (?:ever )?"
    r"(?:includ|put|pass|send|shar|provid|hard-?cod|stor|log|enter|past|expos|upload|commit)(?:e|es|ing|ting|s)?\b[^.!?;:\n]*",
    options=_options,
)
_PREFERS = re2.compile(
    r"\balways (?:prefer|use) (?:this|this tool|it) (?:over|instead of) "
    r"(?:multiple|several|many|repeated|individual|separate|single)(?: \w+)? calls\b[^.!?;:\n]*",
    options=_options,
)
_TURNS = re2.compile(
    r"\b(?:but|instead|unless|except|until|only|rather|other than|then|also|read|fetch|look|append|forward|because|and (?:always|you)"
    r"|(?:and|or) (?:send|pass|put|include|upload|provide|share))\b",
    options=_options,
)
_ELSEWHERE = re2.compile(
    r"[~/\\@]|\b(?:forget|fail|hesitat|other|another|any|every|server|https?)\w*\b|\btools\b|_",
    options=_options,
)
_ANY_OF = re2.compile(
    r"\bany (?:sensitive|personal|private|confidential|secrets?|credentials?)\b", options=_options
)


def without_advice(text: str) -> str:
    """The text without such clauses."""
    for pattern in (_KEEPS_OUT, _PREFERS):
        parts, at = [], 0
        for found in pattern.finditer(text):
            begin, end = found.span()
            clause = text[begin : min(end, begin + _CHARS)]
            turn = _TURNS.search(clause)
            clause = clause if turn is None else clause[: turn.start()]
            # `any sensitive data` is advice; `any other tool` is not.
            if _ELSEWHERE.search(_ANY_OF.sub("", clause)):
                continue
            parts.append(text[at:begin])
            at = begin + len(clause)
        text = " ".join([*parts, text[at:]])
    return text
