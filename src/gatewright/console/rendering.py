"""Jinja environment of the console; filters: mark hidden characters, fold long text, format arguments, times, browsers, calls as curl.

Everything that a server, an agent or a caller wrote is text: templates escape by themselves, and what such a text may hide is shown by
`foreign`, `line` and `arguments`, and by `spelled` in fields of JSON that a person edits, in a form that a reader can see and that the page can never take for its own.
"""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup, escape

from gatewright.command_text import to_type
from gatewright.console.whole_texts import MOST_CHARS
from gatewright.mcp.wire import foreign_json
from gatewright.patterns import Pattern
from gatewright.secret_scanning.escape_invisible import is_seen, is_unseen, spelled

__all__ = [
    "FOLD_CHARS",
    "arguments",
    "browser",
    "curl",
    "duration",
    "element_id",
    "environment",
    "exactly",
    "foreign",
    "is_short",
    "laid_out",
    "line",
    "pieces",
    "shows_all",
    "since",
    "took",
    "when",
    "whole",
]

FOLD_CHARS = 600
"""What is longer is folded where nobody decides on it: its beginning stands there, the whole behind a click."""
_MARKS, _PIECE = 200, 64
"""Marks of one text at most, where it is not shown whole; characters that are looked at together."""
_STACKED = 3
"""Marks that one letter may carry: languages have no more, and a pile of them is painted over the lines above and below."""
_PILE = Pattern(
    rf"(?:\A|[\p{{C}}\p{{Z}}])([\p{{Mn}}\p{{Me}}]+)|([\p{{Mn}}\p{{Me}}]{{{_STACKED + 1},}})"
)
"""First marks that no letter stands before: they would go to what stands before the text, to the line above, or to what names a
character that is not seen."""
_TURNING = "\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe\U00010800-\U00010fff\U0001e800-\U0001efff"
"""Letters of scripts that run from right to left, and their digits: what stands beside them changes places."""
_TURNED = Pattern(rf"[{_TURNING}](?:[{_TURNING}\p{{M}} ]*[{_TURNING}\p{{M}}])?")
"""Words of such letters with nothing but spaces between them, which are read in their own direction."""
_LARGER = 4
"""JSON that takes so many times as much room with a member a line stays in one."""
_ESCAPES = ("\\u", "\\b", "\\f", "\\r")
_SHORT_CHARS = 240
"""The most that stands in one line of a list."""
_AGENT_CHARS = 60
_BROWSERS = {
    "Edg/": "Edge",
    "OPR/": "Opera",
    "Firefox/": "Firefox",
    "HeadlessChrome/": "headless Chrome",
    "Chrome/": "Chrome",
    "Safari/": "Safari",
}
"""The first that fits: most of them call themselves by the names of others as well."""
_SYSTEMS = {
    "Android": "Android",
    "iPhone": "iPhone",
    "iPad": "iPad",
    "Windows": "Windows",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}
_UNITS = (("d", 86_400), ("h", 3600), ("min", 60))


def whole(text: str, *, lines: bool = True) -> Markup:
    """A foreign text that somebody decides on: as `foreign`, but nothing of it is left out or folded, and each hidden character is named. What
    this takes grows with the text, which is a page of one (`MOST_CHARS`) or little more."""
    return _marked(text, lines=lines, most=len(text))


def foreign(text: object, *, lines: bool = True, fold: bool = True) -> Markup:
    """A foreign text, whole, with a mark for each hidden, control or direction character (`U+202E`), line ends kept. Where somebody decides
    on it there is no `fold`: its end stands there as its beginning does."""
    said = str(text)
    cut = len(said) - MOST_CHARS
    if cut > 0:
        said = said[:MOST_CHARS]
    found = _marked(said, lines=lines)
    if cut > 0:
        found += Markup('<span class="ctl">{} more characters are not shown</span>').format(cut)
    if len(said) <= FOLD_CHARS or not (lines and fold):
        return found
    return Markup(
        '<details class="fold"><summary><span>{}…</span> <em>{} characters, show all</em></summary>{}</details>'
    ).format(_marked(said[:FOLD_CHARS], lines=True), f"{len(said) + max(0, cut):,}", found)


def shows_all(text: str) -> bool:
    """Whether `foreign` without a fold shows all of a text, and names each character in it that nobody sees."""
    return len(text) <= MOST_CHARS and sum(hidden for _, hidden in _runs(text, "\n\t")) <= _MARKS


def is_short(text: str) -> bool:
    """Whether JSON text has few enough hidden characters to be shown among others, those that it spells as escapes included."""
    escapes = sum(text.count(one) for one in _ESCAPES)
    return escapes <= _MARKS and shows_all(text)


def line(text: object) -> Markup:
    """A foreign text in one line: as `foreign`, and cut where it is long."""
    said = str(text)
    if len(said) > _SHORT_CHARS:
        return _marked(said[:_SHORT_CHARS], lines=False) + "…"
    return _marked(said, lines=False)


def element_id(text: str) -> str:
    """What stands for a foreign text in the id of an element, which has to be the same whatever else is on the page."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _marked(text: str, *, lines: bool, most: int = _MARKS) -> Markup:
    if text.isascii() and text.isprintable():
        return escape(text)
    # One pass over pieces of the text: runs of what can be seen as they are, each run of one other character as a mark.
    pieces: list[str] = []
    left = most
    for part, hidden in _runs(text, "\n\t" if lines else ""):
        if not hidden:
            pieces.append(str(escape(part)))
            continue
        left -= 1
        if left < 0:
            pieces.append("\ufffd")
            continue
        count = f" \u00d7{len(part)}" if len(part) > 1 else ""
        pieces.append(f'<span class="ctl">{_name(part[0])}{count}</span>')
    if left < 0:
        pieces.append(f'<span class="ctl">{-left} of them, \ufffd, are not named</span>')
    found = Markup("".join(pieces))  # noqa: S704 - every piece is escaped above
    if text.isascii() or not _TURNED.within(text):
        return found
    # By itself, from left to right: `SERVER / TOOL` stays in this order. So does `PART/PART` within, of which each is by itself as well: a
    # sign between two that run from right to left would run with them. No mark of ours has such letters.
    parts = _TURNED.sub(lambda one: f"<bdi>{one[0]}</bdi>", str(found))
    return Markup(f'<bdi dir="ltr">{parts}</bdi>')  # noqa: S704 - as above


def _runs(text: str, kept: str) -> Iterator[tuple[str, bool]]:
    """The text in parts: what can be seen, and runs of one character that cannot, or that is one mark too many on a letter."""
    piled = _piled(text)
    begun = at = 0
    while at < len(text):
        if not piled and is_seen(text[at : at + _PIECE]):  # most of most texts, at the speed of C
            at += _PIECE
            continue
        for here in range(at, min(at + _PIECE, len(text))):
            char = text[here]
            hides = here in piled or (char not in kept and is_unseen(char))
            if here < begun or not hides:
                continue
            if begun < here:
                yield text[begun:here], False
            begun = here + 1
            while begun < len(text) and text[begun] == char:
                begun += 1
            yield text[here:begun], True
        at = max(at + _PIECE, begun)
    if begun < len(text):
        yield text[begun:], False


def _piled(text: str) -> frozenset[int]:
    """Where marks stand that are too many for their letter, or have none."""
    if text.isascii():
        return frozenset()
    found: set[int] = set()
    for one in _PILE.finditer(text):
        alone, (begin, end) = one.span(1), one.span(2)
        found.update(range(*alone), range(begin + _STACKED, end))
    return frozenset(found)


def _name(char: str) -> str:
    return {"\n": "\\n", "\r": "\\r", "\t": "\\t"}.get(char, f"U+{ord(char):04X}")


def arguments(text: str) -> Markup:
    """The arguments of a call, JSON text: its members one under the other, names dimmed, numbers as they were written; a text
    that is no object as it is. Somebody decides on them: nothing of them is left out or folded."""
    try:
        said = foreign_json.decode_members(text.encode("utf-8", "surrogatepass"))
    except ValueError:
        said = {}
    if not said:
        return Markup('<pre class="args">{}</pre>').format(whole(text))
    rows = Markup("").join(
        Markup(
            '<div class="arg"><span class="key">{}</span><span class="value">{}</span></div>'
        ).format(whole(name, lines=False), whole(_spelled(value)))
        for name, value in said.items()
    )
    return Markup('<div class="args">{}</div>').format(rows)


def laid_out(raw: bytes) -> str:
    """JSON text with a member a line, unless that is far longer: brackets within brackets are indented by their number. Raises `ValueError`."""
    found: bytes = msgspec.json.format(raw, indent=2)
    return (raw if len(found) > _LARGER * len(raw) + _SHORT_CHARS else found).decode()


def _spelled(value: msgspec.Raw) -> str:
    """A string as it reads, anything else as its JSON, in lines where it has members."""
    raw = bytes(value)
    try:
        if raw.startswith(b'"'):
            return str(foreign_json.decode(raw))
        return laid_out(raw) if raw[:1] in b"[{" else raw.decode()
    except ValueError:  # half a surrogate pair, say
        return raw.decode("utf-8", "backslashreplace")


def when(moment: float | str, now: float) -> Markup:
    """A moment, Unix seconds or ISO 8601, as how long ago or how far ahead it is; the exact one stands beside it on hover."""
    if isinstance(moment, str):
        at = dt.datetime.fromisoformat(moment).timestamp()
    else:
        at = moment
    exact = dt.datetime.fromtimestamp(at, dt.UTC)
    away = at - now
    # What was made a moment after the page began is not ahead of it.
    said = f"in {duration(away)}" if away >= 1 else f"{duration(max(0.0, -away))} ago"
    return Markup('<time datetime="{}" title="{}">{}</time>').format(
        exact.isoformat(timespec="milliseconds"), exact.strftime("%Y-%m-%d %H:%M:%S UTC"), said
    )


def since(moment: float, now: float) -> Markup:
    """How long something has been so, with the exact moment on hover."""
    exact = dt.datetime.fromtimestamp(moment, dt.UTC)
    return Markup('for <time datetime="{}" title="since {}" data-lasts>{}</time>').format(
        exact.isoformat(timespec="milliseconds"),
        exact.strftime("%Y-%m-%d %H:%M:%S UTC"),
        duration(max(0.0, now - moment)),
    )


def duration(seconds: float) -> str:
    """How long that is, in its largest unit: `28 s`, `4 min`, `3 h`, `2 d`."""
    for unit, size in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return f"{int(seconds)} s"


def exactly(seconds: int) -> str:
    """How long that is, nothing of it cut off: `8 min 32 s`, `2 d 1 h`; empty for none."""
    said = list[str]()
    for unit, size in (*_UNITS, ("s", 1)):
        count, seconds = divmod(seconds, size)
        if count:
            said.append(f"{count} {unit}")
    return " ".join(said)


def took(ms: float) -> str:
    """How long calls took, to two digits: `0.4 ms`, `37 ms`, `1.2 s`."""
    if ms >= 9_950:
        return f"{ms / 1000:,.0f} s"
    if ms >= 995:
        return f"{ms / 1000:.1f} s"
    return f"{ms:.0f} ms" if ms >= 9.95 else f"{ms:.1f} ms"


def curl(call: str, base: str) -> str:
    """A call of the API (`POST /api/v1/…`, with its body) as a command to type, by the console's URL; the key stands in a variable."""
    method, _, rest = call.partition(" ")
    path, _, body = rest.partition(" ")
    line = "curl" if method == "GET" else f"curl -X {method}"
    line += ' -H "Authorization: Bearer $GATEWRIGHT_KEY"'
    if body:
        line += f" -H 'Content-Type: application/json' -d {shlex.quote(body)}"
    return f"{line} {shlex.quote(base + path)}"


def browser(user_agent: str) -> str:
    """A browser as people call it, and its system, out of what it says of itself; the beginning of that where it is none of those."""
    name = next((one for mark, one in _BROWSERS.items() if mark in user_agent), "")
    system = next((one for mark, one in _SYSTEMS.items() if mark in user_agent), "")
    if not name:
        return user_agent if len(user_agent) <= _AGENT_CHARS else f"{user_agent[:_AGENT_CHARS]}…"
    return f"{name} on {system}" if system else name


def pieces(text: str) -> list[tuple[str, bool]]:
    """A sentence, with whether each piece of it stood between backticks and is to be typed."""
    found = [(piece, number % 2 == 1) for number, piece in enumerate(text.split("`"))]
    return [one for one in found if one[0]]


def environment(clock: Callable[[], float], static: Callable[[str], str]) -> Environment:
    """The templates. `clock` gives Unix seconds, `static` the address of a vendored or own file by its name."""
    made = Environment(
        loader=PackageLoader("gatewright.console", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters.update(
        foreign=foreign,
        whole=whole,
        line=line,
        element_id=element_id,
        arguments=arguments,
        duration=duration,
        took=took,
        curl=curl,
        pieces=pieces,
        browser=browser,
        spelled=spelled,
        when=lambda moment: when(moment, clock()),
        since=lambda moment: since(moment, clock()),
        commas=lambda number: f"{number:,}",
    )
    made.globals.update(static=static, command=to_type)
    return made
