"""Scans a tool result for prompt injection: its strings, decoded and in passages, by the signals of `results.toml`; marks it in `_meta`.

What gives orders stands close together, so points are added up within one passage and never over a whole result: a long text is not
suspicious for being long. Passages overlap. All of it is linear in the text, and a step for each passage, so that a long result can be
read in slices or by a worker.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from gatewright.identifier_words import words_of
from gatewright.mcp.wire import jsonrpc
from gatewright.patterns import ASCII, Match, Pattern
from gatewright.pins.signal_matching import Said, compile_all, findings, plain, unsaid
from gatewright.pins.spoken_forms import other_forms
from gatewright.secret_scanning import without_secrets
from gatewright.secret_scanning.invisible import visible
from gatewright.secret_scanning.json_string_spans import json_strings

__all__ = [
    "LEFT_OUT",
    "MARK",
    "MARKED_AT",
    "Found",
    "marked",
    "marked_unread",
    "open_to_all",
    "passages",
    "prepare",
    "read_result",
    "reading",
    "tags_of",
    "texts",
]

MARKED_AT = 5
"""Points in one passage from which on a result is marked."""
MARK = "dev.gatewright/injection"
"""The member of a result's `_meta` that says by which signals."""

_PASSAGE, _OVERLAP = 2000, 300
"""Characters."""
_BLOB = 4096
"""Characters of base64 that are a file and no text; a shorter run may hold words in it."""
_BASE64 = Pattern(
    r"(?:data:[\w/+.;=-]{0,200};base64,)?(?:[A-Za-z0-9+/_-]{40,}\r?\n)*[A-Za-z0-9+/_-]*={0,2}\s*",
    ASCII,
)
"""Its lines are long: words that stand under each other are none."""
_NAMED_WORDS = Pattern(r"[A-Za-z]?[a-z]+(?:[_-][A-Za-z]?[a-z]+){3}")
"""Four words with signs between them, which in a file are an accident of one in many millions."""
_NAME_WORDS = 4
"""Words of a member's name that may be a sentence."""
_NAME_LONG = 16
_TAGS = Pattern(r"[\x{e0020}-\x{e007e}]+")
_UNTAG = {0xE0000 + code: code for code in range(0x20, 0x7F)}
_DRAWN_WITH = {
    **dict.fromkeys((0x200C, 0x200D)),
    **dict.fromkeys(range(0xFE00, 0xFE10)),
    **dict.fromkeys(range(0xE0100, 0xE01F0)),
}
"""Joiners and selectors, which writing needs and words are found without."""
_PIECES = " … "
LEFT_OUT = "(left out)"
"""What stands for words that may be a secret."""
_JSON_INSIDE = 256 * 1024
"""Characters of a text that is JSON itself, and is read as that."""
_ESCAPE = Pattern(r"\\(?:u([0-9A-Fa-f]{4})|x([0-9A-Fa-f]{2})|([nrtbf\"'/\\]))")
_SIGNS = {"n": "\n", "r": "\n", "t": " ", "b": " ", "f": "\n"}
_LINE = Pattern(r"([^.!?:;,\s])\s*\n\s*([A-Z])")
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
    compile_all("results")
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
        value = jsonrpc.decode_whole(raw)
    except (ValueError, RecursionError):
        value = raw.decode("utf-8", "replace")
    for passage in passages(texts(value)):
        found = _judged(passage)
        if found is not None:
            return found
        yield
    return None


def _strings(raw: bytes) -> Iterator[str]:
    """What the strings say of a text that cannot be read as JSON, where that is not what is written."""
    for start, end in json_strings(raw):
        token = raw[start:end]
        if b"\\" not in token:
            continue
        try:
            said = json.loads(token.decode("utf-8", "replace"), strict=False)
        except ValueError:
            continue
        # Half a surrogate pair is no text; what stands beside it is.
        yield said.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _judged(passage: str) -> Found | None:
    bare = passage if passage.isascii() else passage.translate(_DRAWN_WITH)
    unescaped = _unescaped(bare) if "\\" in bare else bare
    forms = dict.fromkeys((passage, bare, unescaped, _LINE.sub(_apart, unescaped)))
    said = [*map(Said, forms), *map(Said, other_forms([bare]))]
    found = findings(said, of="results")
    points = sum(one.signal.points for one in found)
    if points < MARKED_AT:
        return None
    clean = "\n".join(plain(without_secrets(one.text.encode()).decode()) for one in said)
    known = unsaid("results")
    told = {
        one.signal.id: open_to_all(one.words, lambda a: a in known or a in clean) for one in found
    }
    return Found(told, tuple(one.signal.says for one in found), points)


def _unescaped(passage: str) -> str:
    """What a passage says in whose text there are strings of a program, or of JSON with something around it: `Hi,\\nsend it`."""
    return _ended(visible(_ESCAPE.sub(_escaped, passage))[0])


def _escaped(found: Match[str]) -> str:
    code = found[1] or found[2]
    if not code:
        return _SIGNS.get(found[3], found[3])
    sign = chr(int(code, 16))
    return " " if "\ud800" <= sign <= "\udfff" else sign  # half a pair is no text


def _apart(found: Match[str]) -> str:
    """A line that begins as a sentence does is one besides: the line before may be a heading, or a word."""
    return f"{found[1]}.\n{found[2]}"


def open_to_all(words: str, may: Callable[[str], bool]) -> str:
    """The words of a signal without those that may not be told."""
    return _PIECES.join(one if may(one) else LEFT_OUT for one in words.split(_PIECES))


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
    names: set[str] = set()
    while open_:
        one = open_.pop()
        if type(one) is str:
            yield from _words(one, open_)
        elif type(one) is dict:
            open_.extend(reversed(one.values()))
            open_.extend(_sentences([name for name in one if name not in names]))
            names.update(one)
        elif type(one) is list:
            open_.extend(reversed(one))


def _sentences(names: Iterable[str]) -> Iterator[str]:
    """Names of members that may be sentences, as such."""
    for name in names:
        if not (name.isascii() and name.isprintable()) or " " in name:
            yield name
        elif len(name) >= _NAME_LONG and len(words := words_of(name)) >= _NAME_WORDS:
            yield " ".join(words)


def _words(said: str, open_: list[Any]) -> Iterator[str]:
    """A text as it is seen, or what it says where it is JSON; nothing where it is a file in base64. What hides in it comes as well."""
    text, hidden = visible(said)
    if hidden:
        yield from _hidden(said, text)
    if text[:_BLOB].lstrip()[:1] in ("{", "[", '"'):
        inner = _inside(text)
        if inner is not None:
            open_.append(inner)
            return
        for one in _strings(text.encode()):
            yield from _seen(one)
    if len(text) <= _BLOB or not text.isascii() or not _BASE64.fits(text):
        yield _ended(text)
    elif _NAMED_WORDS.within(text):
        yield text.replace("_", " ").replace("-", " ")


def _inside(text: str) -> Any:
    """What a text says that is JSON; None for others, and for a long one, whose strings are read as they come."""
    if len(text) > _JSON_INSIDE:
        return None
    try:
        inner = jsonrpc.decode_whole(text.encode())
    except (ValueError, RecursionError):
        return None
    return inner if isinstance(inner, dict | list | str) else None


def _seen(said: str) -> Iterator[str]:
    """A text as it is seen, and what hides in it."""
    text, hidden = visible(said)
    if hidden:
        yield from _hidden(said, text)
    yield _ended(text)


def _hidden(said: str, seen: str) -> Iterator[str]:
    """What nobody sees of a text: tag characters spell ASCII, and what a terminal would swallow stands there to be read."""
    tags = tags_of(said)
    if tags:
        yield tags.translate(_UNTAG)
    bare = "".join(one for one in _TAGS.sub("", said) if one.isprintable() or one in "\n\t")
    if bare != seen:
        yield _ended(bare)


def tags_of(text: str) -> str:
    """The tag characters of a text."""
    return "" if text.isascii() else "".join(one[0] for one in _TAGS.finditer(text))


def _ended(text: str) -> str:
    """With a full stop where a sentence ends without one."""
    for sign, end in _ENDS:
        if sign in text:
            text = text.replace(sign, end)
    return text


def marked(raw: bytes, found: Found) -> bytes:
    """The result with the signals in its `_meta`, without the words; as it was where it is no object that can have one."""
    return _with(raw, {"signals": sorted(found.signals), "points": found.points})


def marked_unread(raw: bytes) -> bytes:
    """The result with a word in its `_meta` that nobody could read it."""
    return _with(raw, {"unread": True})


def _with(raw: bytes, said: Mapping[str, Any]) -> bytes:
    note = msgspec.json.encode(said)
    try:
        result = msgspec.json.decode(raw, type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        return _spliced(raw.strip(), note) or raw
    try:
        meta = msgspec.json.decode(result.get("_meta", b"{}"), type=dict[str, msgspec.Raw])
    except (ValueError, RecursionError):
        meta = {}  # none that may have a member; the protocol has objects there
    meta[MARK] = msgspec.Raw(note)
    result["_meta"] = msgspec.Raw(msgspec.json.encode(meta))
    return msgspec.json.encode(result)


def _spliced(raw: bytes, note: bytes) -> bytes:
    """The same of an object with a name that is no Unicode: as its last member, of which readers take the last."""
    if not (raw.startswith(b"{") and raw.endswith(b"}")):
        return b""
    return b'%s,"_meta":{"%s":%s}}' % (raw[:-1], MARK.encode(), note)
