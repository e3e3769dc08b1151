"""Finds and removes invisible characters: control characters, terminal sequences, zero-width and other undrawn ones.

Such text reaches a model or a terminal and no reader. What writing needs is no secret: joiners inside words and emoji, one
variation selector behind a character, the letters of a flag.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import msgspec

from gatewright.patterns import Pattern
from gatewright.secret_scanning.json_string_spans import json_strings

__all__ = ["AHEAD", "hidden", "open_end", "visible", "visible_json", "visible_value"]

_PLAIN = frozenset("\n\r\t")
_CONTROL = Pattern(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_BLANKS = frozenset(
    "\u034f\u180b\u180c\u180d\u180f\u115f\u1160\u17b4\u17b5\u180e\u2800\u3164\uffa0"
)
"""Letters and symbols that draw nothing."""
_MONGOLIAN = frozenset("\u180b\u180c\u180d\u180f")
"""Those of them that choose the form of the Mongolian letter before."""
_JOINER, _NON_JOINER = "\u200d", "\u200c"
_FLAG = "\U0001f3f4"
_TERMINAL = Pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # control sequences, such as colours
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)?"  # strings, such as titles
    r"|\x1b[ -/]*[0-~]"
)
"""Sequences of ECMA-48 whole, so that no half of one stays as text."""
_OPEN = Pattern(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*\Z"
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*\x1b?\Z"
    r"|\x1b[ -/]*\Z"
)
"""The beginning of one."""
_OPEN_MOST = 4096
AHEAD = 12
"""Characters before one that draws nothing, by which it is judged."""
_ESCAPED = Pattern(rb"\\[ubf]|\x7f")


def hidden(text: str) -> str:
    """The first character that a reader would not see, by its number; empty where there is none.

    What writing needs is no secret: joiners inside words and emoji, one variation selector behind a character, the
    letters of a flag.
    """
    if _is_plain(text):
        return ""
    before = ""
    for index, char in enumerate(text):
        if not char.isprintable() or char in _BLANKS or _is_selector(char):
            after = text[index + 1 : index + 2]
            if char not in _PLAIN and not _needed(
                char, before, after, text[max(0, index - AHEAD) : index]
            ):
                return f"U+{ord(char):04X}"
        before = char
    return ""


def _is_plain(text: str) -> bool:
    """Whether a text is ASCII without control characters but those of `_PLAIN`."""
    return text.isascii() and (text.isprintable() or not _CONTROL.within(text))


def _needed(char: str, before: str, after: str, ahead: str) -> bool:
    """Whether writing needs a character here that draws nothing by itself."""
    if char == " " or unicodedata.category(char) == "Zs":
        return True
    if _is_selector(char):
        return (
            char in "\ufe0e\ufe0f"
            and bool(before)
            and before.isprintable()
            and not _is_selector(before)
        )
    if char in _MONGOLIAN:
        return "\u1820" <= before <= "\u18aa"
    if char in (_JOINER, _NON_JOINER):
        return _joins(before) and _joins(after)
    if "\U000e0020" <= char <= "\U000e007f":
        # Tag characters spell a region behind a black flag; anywhere else they are ASCII that nobody sees.
        return _FLAG in ahead and (before == _FLAG or "\U000e0020" <= before <= "\U000e007e")
    return False


def _is_selector(char: str) -> bool:
    return "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _joins(char: str) -> bool:
    """Whether joiners stand beside such a character in honest text: emoji, and scripts that join their letters."""
    if not char:
        return False
    if unicodedata.category(char) in ("So", "Sk", "Mn") or char == "\ufe0f":
        return True
    return "\u0600" <= char <= "\u0fff" or "\u1780" <= char <= "\u17ff"


def open_end(text: str) -> int:
    """Where, at the end of a piece, something begins that can only be judged together with the next piece."""
    if _is_plain(text):
        return len(text)
    tail = text[-_OPEN_MOST:]
    found = _OPEN.search(tail)
    begun = len(tail) if found is None else found.start()
    return len(text) - len(tail) + begun - tail.endswith((_JOINER, _NON_JOINER), 0, begun)


def visible(text: str, ahead: str = "") -> tuple[str, int]:
    """The text without what nobody sees, and how many pieces were taken out; the very text where there are none. `ahead` is how
    what stands before it ends."""
    if _is_plain(text):
        return text, 0
    # Whole sequences first: without its ESC the rest would stay as text.
    cleaned, count = _TERMINAL.subn("", text)
    kept = list(ahead)
    for index, char in enumerate(cleaned):
        if (
            char.isprintable() and char not in _BLANKS and not _is_selector(char)
        ) or char in _PLAIN:
            kept.append(char)
            continue
        after = cleaned[index + 1 : index + 2]
        before = kept[-1] if kept else ""
        if _needed(char, before, after, "".join(kept[-AHEAD:])):
            kept.append(char)
        else:
            count += 1
    return ("".join(kept[len(ahead) :]), count) if count else (text, 0)


def visible_value(value: Any) -> tuple[Any, int]:
    """A decoded JSON value without what nobody sees in any of its texts, names included; the very value where there is
    nothing. Two names that become one stay as they are: nothing is dropped."""
    try:
        raw = msgspec.json.encode(value)
    except (
        TypeError,
        ValueError,
    ):  # holds what is no JSON of this encoder, a number with its own text, say
        return _visible_value(value)
    return (value, 0) if not _may_hide(raw) else _visible_value(value)


def _visible_value(value: Any) -> tuple[Any, int]:
    if isinstance(value, str):
        return visible(value)
    if isinstance(value, list):
        items = [_visible_value(one) for one in value]
        count = sum(number for _, number in items)
        return ([one for one, _ in items], count) if count else (value, 0)
    if isinstance(value, dict):
        return _visible_members(value)
    return value, 0


def _visible_members(value: dict[str, Any]) -> tuple[dict[str, Any], int]:
    found: dict[str, Any] = {}
    count = 0
    for name, one in value.items():
        clean, renamed = visible(name)
        if clean in found or (renamed and clean in value):
            clean, renamed = name, 0
        found[clean], changed = _visible_value(one)
        count += renamed + changed
    return (found, count) if count else (value, 0)


def _may_hide(raw: bytes) -> bool:
    """False for JSON text in none of whose texts anything can be hidden. The quick half."""
    if not raw.isascii():
        return True
    # JSON escapes every control character (RFC 8259, 7), as `\u…`, `\b` or `\f`; DEL may stand as it is.
    return (raw.find(b"\\") >= 0 or raw.find(b"\x7f") >= 0) and _ESCAPED.within(raw)


def visible_json(raw: bytes) -> tuple[bytes, int]:
    """The same for JSON text, of which everything else stays as it came."""
    if not _may_hide(raw):
        return raw, 0
    pieces: list[bytes] = []
    count = done = 0
    for start, end in json_strings(raw):
        token = raw[start:end]
        if not _may_hide(token):
            continue
        try:
            text, found = visible(msgspec.json.decode(token, type=str))
        except (msgspec.DecodeError, UnicodeDecodeError):
            continue  # half a surrogate pair: no text, and nobody reads it as one
        if found:
            pieces += (raw[done:start], msgspec.json.encode(text))
            done, count = end, count + found
    return (b"".join((*pieces, raw[done:])), count) if count else (raw, 0)
