"""Reads a tool's result for text that speaks to the model: strings of the JSON, passages of them, and the signals of `results.toml`.

What gives orders stands close together, so points are added up within one passage and never over a whole result: a long text is not
suspicious for being long. Passages overlap. All of it is linear in the text, and a step for each passage, so that a long result can be
read in slices or by a worker.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from gatewright.pins.speech import Said, findings
from gatewright.pins.spoken_forms import other_forms

__all__ = [
    "MARK",
    "MARKED_AT",
    "Found",
    "marked",
    "passages",
    "prepare",
    "read_result",
    "reading",
    "texts",
]

MARKED_AT = 5
"""Points in one passage from which on a result is marked."""
MARK = "dev.gatewright/injection"
"""The member of a result's `_meta` that says by which signals."""

_PASSAGE, _OVERLAP = 2000, 300
"""Characters."""
_BLOB = 4096
"""Characters of ASCII without a space that are a file and no text; a shorter run may hold words in base64."""
_JSON_INSIDE = 256 * 1024
"""Characters of a text that is JSON itself, and is read as that."""
_ENDS = (("\n\n", ".\n"), ("\n- ", ".\n- "), ("\n* ", ".\n* "), ("\n#", ".\n#"), ("\n|", ".\n|"))
"""Where a sentence ends without a full stop."""


class Found(msgspec.Struct, frozen=True, array_like=True):
    """Why a result is marked: signal → the words by which it was found, and its points together."""

    signals: Mapping[str, str]
    says: tuple[str, ...]
    """What each of the signals is, in a few words of ours."""
    points: int


def prepare() -> None:
    """Compile what results are read with: a tenth of a second, before anybody waits."""
    read_result(b'"The user must send it."')


def read_result(raw: bytes) -> Found | None:
    """What is found in the JSON text of a result; None for nothing."""
    steps = reading(raw)
    while True:
        try:
            next(steps)
        except StopIteration as done:
            found: Found | None = done.value
            return found


def reading(raw: bytes) -> Generator[None, None, Found | None]:
    """The same, a passage a step."""
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, RecursionError):
        value = raw.decode("utf-8", "replace")
    for passage in passages(texts(value)):
        found = _judged(passage)
        if found is not None:
            return found
        yield
    return None


def _judged(passage: str) -> Found | None:
    said = [Said(passage), *map(Said, other_forms([passage]))]
    found = findings(said, of="results")
    points = sum(one.signal.points for one in found)
    if points < MARKED_AT:
        return None
    told = {one.signal.id: one.words for one in found}
    return Found(told, tuple(one.signal.says for one in found), points)


def passages(said: Iterable[str]) -> Iterator[str]:
    """Texts in pieces of some thousand characters: short ones together, long ones cut where a sentence ends, with an overlap."""
    open_ = ""
    for text in said:
        open_ = f"{open_}.\n{text}" if open_ else text
        at = 0
        while len(open_) - at > _PASSAGE:
            end = _cut(open_, at)
            yield open_[at:end]
            at = max(end - _OVERLAP, at + 1)
        open_ = open_[at:]
    if open_:
        yield open_


def _cut(text: str, at: int) -> int:
    """Where a passage ends that begins at a place."""
    least, most = at + _PASSAGE // 2, at + _PASSAGE
    return max(text.rfind(". ", least, most), text.rfind("\n", least, most)) + 1 or most


def texts(value: Any) -> Iterator[str]:
    """Every string of a value that may be words, at any depth; names of members too where they are sentences."""
    open_: list[Any] = [value]
    while open_:
        one = open_.pop()
        if type(one) is str:
            yield from _words(one, open_)
        elif type(one) is dict:
            open_.extend(reversed(one.values()))
            open_.extend(name for name in one if " " in name)
        elif type(one) is list:
            open_.extend(reversed(one))


def _words(text: str, open_: list[Any]) -> Iterator[str]:
    """A text, or what it says where it is JSON; nothing where it is a file in base64."""
    if text[:1] in ("{", "[") and len(text) <= _JSON_INSIDE:
        try:
            inner = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            inner = None
        if isinstance(inner, dict | list):
            open_.append(inner)
            return
    if len(text) > _BLOB and text.isascii() and " " not in text and "\n" not in text:
        return
    for sign, end in _ENDS:
        if sign in text:
            text = text.replace(sign, end)
    yield text


def marked(raw: bytes, found: Found) -> bytes:
    """The result with the signals in its `_meta`, without the words; as it was where it is no object that can have one."""
    try:
        result = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
        meta = msgspec.json.decode(result.get("_meta", b"{}"), type=dict[str, msgspec.Raw])
    except msgspec.DecodeError:
        return raw
    said = {"signals": sorted(found.signals), "points": found.points}
    meta[MARK] = msgspec.Raw(msgspec.json.encode(said))
    result["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(result)
