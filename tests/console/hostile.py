"""Hostile texts, made and recognized: each has a mark; what of it became markup, or stays unseen in a page, is found by a parser."""

from __future__ import annotations

import random
import re
from html.parser import HTMLParser
from urllib.parse import urlsplit

from gatewright.secret_scanning.escape_invisible import is_unseen

__all__ = ["EVERY_SHAPE", "Looked", "hostile_texts", "look_at"]

MARK = "zq"
_SHAPES = (
    "<img src=x {m} onerror=alert(1)>",
    "<script {m}>alert(1)</script>",
    "</script><script {m}>alert(1)</script>",
    '"><b {m} onclick=alert(1)>',
    "'><b {m}>",
    '" {m}=1 autofocus onfocus=alert(1) x="',
    "' {m}=1 x='",
    "` {m}=1 x=`",
    " {m}=1 ",
    "</title><b {m}>",
    "</textarea><b {m}>",
    "</pre></div></main><b {m}>",
    "<!--{m}",
    "--><b {m}>",
    "<![CDATA[<b {m}>]]>",
    "<{m}>",
    "<svg {m} onload=alert(1)>",
    "<a {m} href=javascript:alert(1)>x</a>",
    "<iframe {m} srcdoc='<b>'>",
    "<base {m} href=//elsewhere.example>",
    "<meta {m} http-equiv=refresh content='0;url=//elsewhere.example'>",
    "<link {m} rel=stylesheet href=//elsewhere.example>",
    "<style {m}>*{{display:none}}</style>",
    "<form {m} action=//elsewhere.example><button>",
    "<div {m} hx-get=/sign-out hx-trigger=load>",
    "<div {m} hx-on:click=alert(1)>",
    "<hx-partial {m} hx-target=body>",
    "<template {m}>",
    "{{{{ 7*7 }}}} {m}",
    "{{% include '/etc/passwd' %}} {m}",
    "${{{m}}} #{{{m}}} <%= {m} %>",
    "javascript:{m}()",
    "data:text/html,<b {m}>",
    "//elsewhere.example/{m}",
    "expression({m}); background:url(//elsewhere.example)",
    "}}</style><b {m}>{{",
    "\\u003cb {m}\\u003e",
    "&lt;b {m}&gt;&#60;b&#62;&#x202e;",
    "%3Cb%20{m}%3E%0d%0a",
    "\x1b[2J\x1b]0;{m}\x07\x1b[31m",
    "\x1b]8;;http://elsewhere.example\x07{m}\x1b]8;;\x07",
    "{m}\x00\x01\x08\x7f\x9b",
    "{m}\r\nset-cookie: a=b",
    "\u202e{m}\u202c txt.exe",
    "\u2066{m}\u2069\u200f\u200e",
    "{m}\u200b\u200c\u200d\u2060\ufeff",
    "{m}\U000e0041\U000e0042\U000e007f",
    "{m}\u3164\u115f\u2800\u00ad\u034f",
    "{m}\ufe0f\U000e0100\u180e",
    "{m}\u2028\u2029\u0085",
    "\u0430ppr\u043eve {m}",
    "\uff41\uff50\uff50\uff52\uff4f\uff56\uff45 {m}",
    "{m} Z\u0351\u036b\u0343\u0334\u0319\u0324A\u0334\u0335\u031cL\u0320\u0368",
    "\ufffd{m}\ufffe\uffff",
    "\ud800{m}\udfff",
    "../../{m}?a=b#c",
    "{m}' OR 1=1; --",
    "=cmd|' /C calc'!A0 {m}",
    "<b {m}\n>\n</b\t>",
    "<b/{m}/>",
    "<B\x0c{m}>",
    "{m} H" + "\u0307\u0323" * 40 + "\u20dd" * 9 + "a",
    "\u0338\u0489{m}",
    "\u05d0\u05d1\u05d2 {m} / 1 (2) \u0661\u0662",
    "\ufdfd\ufdfd\U000102a0\U0001242b {m}",
    "\N{GRINNING FACE}" * 30 + "{m}\U0001f468\u200d\U0001f469\u200d\U0001f467",
)
_LONG_ONES = 3
EVERY_SHAPE = len(_SHAPES) + _LONG_ONES
"""So many texts, the first ones, have every shape there is; the others are made of two each."""
_LONG = 1_000_000
_PILE = re.compile("[\u0300-\u036f]{4}")
_TURNING = re.compile("[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefe]")
_PARTS = {
    "onclick",
    "onerror",
    "onload",
    "onfocus",
    "style",
    "srcdoc",
    "formaction",
    "http-equiv",
    "xlink:href",
    "ping",
}
_KNOWN = frozenset(
    "html head meta title link body a nav ul li span div form input button main h1 h2 h3 p footer dialog dl dt dd kbd script "
    "section header aside label select option optgroup textarea table thead tbody tfoot tr th td caption colgroup col time details summary em b strong code pre "
    "svg g rect path line circle polyline polygon text tspan title ins del br hr small article ol datalist meter progress output fieldset legend figure figcaption "
    "i q s u sub sup template canvas abbr samp var mark bdi".split()
)
_VOID = frozenset("meta link input br hr col rect path line circle polyline polygon".split())
_WAYS = ("href", "src", "action", "hx-get", "hx-post", "hx-put", "hx-delete")
_PLAIN = ("option", "textarea", "title")
"""Elements that stand by themselves and have text alone."""
_BETWEEN_KEYS = " \xa0 "
"""What templates write between two keys; no hostile text has it."""
_SEEN = ("title", "aria-label", "placeholder", "alt", "label", "data-copy", "content")
"""Attributes that a person is shown or hands on."""


def hostile_texts(count: int = 500, seed: int = 11) -> list[str]:
    """Each is marked by its number."""
    choose, found = random.Random(seed), []
    for number in range(count):
        mark = f"{MARK}{number}{MARK}"
        shape = _SHAPES[number % len(_SHAPES)].format(m=mark)
        if number >= len(_SHAPES):  # two of them, in one
            other = choose.choice(_SHAPES).format(m=mark)
            shape = choose.choice((shape + other, other + shape, shape[: len(shape) // 2] + other))
        found.append(shape if mark in shape else mark + shape)
    longs = ("W" * _LONG, "<b>" * (_LONG // 3), "\u202e" * 5_000)
    for number, long in enumerate(longs, len(_SHAPES)):
        found[number] = f"{MARK}{number}{MARK}{long}"
    return found


class Looked(HTMLParser):
    """What a parser finds in a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.wrong: list[str] = []
        self.ways: set[str] = set()
        self.marks = 0
        self._open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Only elements, attributes and addresses that the console's own templates write."""
        if tag not in _KNOWN:
            self._complain(f"element {tag!r}")
        if tag not in _VOID:
            self._open.append(tag)
        said = dict(attrs)
        if len(said) != len(attrs):
            self._complain(f"an attribute twice in {tag}: {attrs}")
        for name, value in attrs:
            self._attribute(tag, name, value or "")
        if tag == "script" and not str(said.get("src", "")).startswith("/static/"):
            self._complain("a script of its own")

    def _attribute(self, tag: str, name: str, value: str) -> None:
        if MARK in name or name in _PARTS or name.startswith(("on", "hx-on")):
            self._complain(f"attribute {name!r} of {tag}")
        if name in _WAYS:
            where = urlsplit(value)
            if (
                where.scheme
                or where.netloc
                or not value.startswith(("/", "?", "#"))
                or "\\" in value[:3]
            ):
                self._complain(f"{name} leads to {value[:80]!r}")
            elif name in ("href", "hx-get"):
                self.ways.add(value.partition("#")[0])
                self.ways.discard("")
        if (
            name
            in ("id", "class", "name", "type", "role", "for", "hx-target", "hx-swap", "hx-trigger")
            and MARK in value
        ):
            self._complain(f"a foreign text is {name} of {tag}")
        if name in _SEEN:
            self._unseen(value, f"{name} of {tag}")
            self.marks += value.count(MARK)

    def handle_endtag(self, tag: str) -> None:
        """Elements end in the order in which they began."""
        if tag in _VOID:
            return
        if not self._open or self._open.pop() != tag:
            self._complain(f"</{tag}> ends what it did not begin")

    def handle_data(self, data: str) -> None:
        """Text that a person sees."""
        self.marks += data.count(MARK)
        if self._open and self._open[-1] in ("script", "style"):
            if data.strip():
                self._complain("text in a script")
            return
        self._unseen(data, f"text of {self._open[-1:] or 'nothing'}")
        if _PILE.search(data) and not {*_PLAIN}.intersection(self._open):
            self._complain(f"a pile of marks: {data[:60]!r}")
        if _TURNING.search(data) and not {"bdi", *_PLAIN}.intersection(self._open):
            self._complain(f"turns what stands beside it: {data[:60]!r}")

    def handle_comment(self, data: str) -> None:
        """Nothing of ours writes comments."""
        self._complain(f"comment {data[:60]!r}")

    def handle_pi(self, data: str) -> None:
        """Nor processing instructions."""
        self._complain(f"instruction {data[:60]!r}")

    def unknown_decl(self, data: str) -> None:
        """Nor other declarations."""
        self._complain(f"declaration {data[:60]!r}")

    def end(self) -> None:
        """The page is over."""
        self.close()
        if self._open:
            self._complain(f"never ended: {self._open}")

    def _unseen(self, text: str, where: str) -> None:
        text = text.replace(_BETWEEN_KEYS, "")
        unseen = {char for char in text if is_unseen(char) and char not in "\n\t"}
        if unseen:
            self._complain(f"unmarked {sorted(unseen)!r} in {where}: {text[:60]!r}")

    def _complain(self, what: str) -> None:
        if len(self.wrong) < 10:
            self.wrong.append(f"line {self.getpos()[0]}: {what}")


def look_at(page: str) -> Looked:
    """Parse a page, or a part of one."""
    found = Looked()
    found.feed(page)
    found.end()
    return found
