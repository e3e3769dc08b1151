"""Refuses servers' requests to clients whose texts hold a URL of the gateway, because people approve calls at such URLs.

Clients make links of addresses, and people type them, so one in a message counts like a URL that a server asks to open. What is
read as an address is more than what any client makes a link of: the words in front of it and behind it do not matter.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Generator, Iterable, Iterator
from html import unescape
from string import ascii_letters, digits

from gatewright.call import CannotAsk
from gatewright.mcp.wire.jsonrpc import INVALID_PARAMS
from gatewright.patterns import Pattern
from gatewright.schemas.lookalikes import LETTERS
from gatewright.secret_scanning.escape_invisible import Spelling
from gatewright.secret_scanning.unicode_forms import normal

__all__ = ["Ours", "Steps", "cannot", "judge_addresses"]

Steps = Generator[None, None, None]
"""What is judged in steps, as there are many texts."""
Ours = Callable[[str], bool]
"""Whether a URL leads to the gateway itself."""

_MOST = 1000
"""Addresses in the texts of one question: each takes some ten microseconds."""
_SOME = 50
_IN_HOSTS = ascii_letters + digits + ".-_%"
_DOTS = "\u3002\uff61"
_APART = {
    **{code: " " for code in range(128) if chr(code) not in f"{ascii_letters}{digits}.-_~%:/\\[]"},
    **{ord(dot): "." for dot in _DOTS},
    ord("\\"): "/",
}


def _in_urls(char: str) -> str:
    if char.isascii() or char in _DOTS:
        return char
    return "" if unicodedata.category(char) in ("Cf", "Mn") else " "


_IN_URLS = Spelling(_in_urls, LETTERS)
_ESCAPED = Pattern(r"\\([!-/:-@\[-`{-~])")
"""Signs that Markdown has escaped (CommonMark 2.4)."""
_BRACKETED = Pattern(r"(\[[0-9A-Fa-f:.%]+\])(?::([0-9]+))?")


def cannot(why: str) -> CannotAsk:
    """What a server is told whose question is refused for what it says."""
    return CannotAsk(why, INVALID_PARAMS)


def judge_addresses(texts: Iterable[str], ours: Ours) -> Steps:
    """Raise `CannotAsk` where one of the texts has an address of the gateway. A step for a form of each text, and for some addresses."""
    count = 0
    for form in (form for text in texts for form in _forms(text)):
        yield
        for url in _urls(form):
            if count >= _MOST:
                raise cannot(f"the texts of the question have more than {_MOST} addresses")
            if ours(url):
                raise cannot("a text of the question has an address that leads to the gateway")
            count += 1
            if not count % _SOME:
                yield


def _forms(text: str) -> Iterator[str]:
    """A text as it is written, and as a client reads it that shows Markdown or HTML: `&#58;` and `\\:` are a colon there."""
    yield text
    if "&" in text:
        shown = unescape(text)
        yield shown
        text = shown
    if "\\" in text:
        yield _ESCAPED.sub(lambda found: found[1], text)


def _urls(text: str) -> Iterator[str]:
    """What may be an address in a text, each as a URL. A bare name, without scheme, port and path, leads to no page of ours."""
    for word in _words(text):
        pieces = word.split("/")
        path = f"/{'/'.join(pieces[1:])}"
        for found in _BRACKETED.finditer(word) if "[" in word else ():
            yield f"http://{found[1]}:{found[2] or ''}{path}"
        for at, piece in enumerate(pieces):
            behind, before = at > 0 and not pieces[at - 1], at < len(pieces) - 1
            for name, port in _hosts(piece):
                # With a port the scheme makes no difference to whose address it is.
                if port:
                    yield f"http://{name}:{port}{path}"
                elif behind or (before and _is_telling(name)):
                    yield from (f"http://{name}{path}", f"https://{name}{path}")


def _words(text: str) -> list[str]:
    """The text in the characters of URLs, as browsers read them, cut where others stand."""
    if not text.isascii():
        shown = normal("NFKC", text)
        text = shown.translate(_IN_URLS)
    return text.translate(_APART).split()


def _hosts(piece: str) -> Iterator[tuple[str, str]]:
    """Hosts in what stands between two slashes, each with what may be its port."""
    fields = piece.split(":")
    for host, after in zip(fields, [*fields[1:], ""], strict=True):
        name = _end(host)
        if name:
            yield name, _digits(after)


def _is_telling(name: str) -> bool:
    """Whether a word reads as a host where no port and no scheme says so."""
    return "." in name.strip(".") or "%" in name or "local" in name.casefold()


def _end(host: str) -> str:
    return host[len(host.rstrip(_IN_HOSTS)) :]


def _digits(text: str) -> str:
    return text[: len(text) - len(text.lstrip(digits))]
