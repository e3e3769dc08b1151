"""`Resources`: matches paths and URIs in arguments and requests against a caller's `allowed_resources`, following symbolic links.

Theory: a pattern is only as good as the reading of what it is compared with. A path is judged in every form
that somebody could make of it (`validators.paths`), climbing resolved, once as it is written and once as
its symbolic links lead; a URI as all clients read it (`validators.uris`). Whatever has no one honest reading is outside.

In a pattern `*` stands for any part of one name and `**` for any number of names; a pattern without either
means a folder or an address with everything below it. A relative path means one below the folder in which
the server runs, where that is known, and is compared with relative patterns as it stands.

Of the arguments of a tool those are judged that name something by their form (an absolute path on one line, one that
climbs, what begins as a URI) or by the name of their member (`path`, `file`, `url` …). A command line and a program name
things in ways that nobody can list, which is why access refuses tools that run them to such a caller.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import ada_url

from gatewright.identifier_words import words_of
from gatewright.patterns import DOTALL, Pattern, escape
from gatewright.schemas.json_pointers import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.validators.network import is_called_url
from gatewright.validators.path_forms import names_path, readings
from gatewright.validators.resource_lists import Nobodys, listed
from gatewright.validators.uris import (
    has_scheme,
    host_text,
    is_copied,
    is_remote,
    is_uri,
    read,
    unbroken,
    unwrapped,
)

__all__ = ["Host", "Resources", "flaw_of_pattern"]

_ABSOLUTE = Pattern(r"(?:/|~|\\|[A-Za-z]:[/\\])[^\n]*")
"""One line that begins like this is taken for a path, blanks and all: a folder may have a blank in its name."""
_ABOUT = Pattern(r"~ ?\d[\d.,:-]*(?: [^/~\\\n]*)?|~ [^/~\\\n]*")
_SIGNS = (["sep"], ["separator"], ["delimiter"], ["delim"])
_EXPRESSIONS = (["regex"], ["regexp"])
_WILD = Pattern(r"\*+")
_FILE = "file:"
_MOST_SHOWN = 256
_BEFORE = "".join(one for one in map(chr, range(0x3001)) if one <= " " or one.isspace()) + "\ufeff"
"""What readers of URLs and of text leave out at the beginning."""


class Host(str):
    """`//host` and what follows: a URL without its scheme, of which any will do, by the name of its member."""

    __slots__ = ()


class _Pattern(NamedTuple):
    """`kind` is what it is compared with; of a path, `real` is the same where links lead."""

    kind: str
    text: Pattern[str]
    real: Pattern[str]


class Resources:
    """The patterns of one caller. All of `groups` hold: in each, one pattern has to fit."""

    def __init__(self, groups: Iterable[Sequence[str]], folder: str | None = None) -> None:
        """`folder` is where the server runs that is called, on this machine; None where that is elsewhere
        or unknown, and links cannot be followed. Raises `ValueError` for what is no pattern."""
        self._groups = [[_pattern(one) for one in group] for group in groups]
        self._folder = folder

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one path or URI. It is told which, cut short: a caller that lists a folder
        has to know what it must leave out."""
        if isinstance(value, str) and self.allows(value):
            return None
        shown = {"requested_path": str(value)[:_MOST_SHOWN]}
        return Objection("", "not_allowed", "is outside of what this caller may touch", shown)

    def cost(self, value: Any) -> int:
        """Microseconds that judging a path takes: the file system is asked about each of its components."""
        text = value if isinstance(value, str) else ""
        if self._folder is None:
            return 10 + len(text) // 4 + text.count("/")
        return 20 + len(text) // 4 + 5 * (text.count("/") + self._folder.count("/"))

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Every text in some arguments that names a resource, names of members included: a map from paths to
        contents is one way to say what is to be written."""
        return (one for found in self._looked_through(arguments) for one in found)

    def in_steps(self, arguments: Any) -> Generator[None, None, list[tuple[Place | None, Any]]]:
        """The same as a list, in steps of microseconds, one for each text."""
        found = []
        for some in self._looked_through(arguments):
            found += some
            yield
        return found

    @staticmethod
    def _looked_through(arguments: Any) -> Iterator[list[tuple[Place | None, Any]]]:
        for place, text, is_name in strings(arguments):
            if is_name:
                # `files` from paths to contents has paths for names, and `file` with `name` and `size` has none.
                above = place.above if place is not None and ("/" in text or "." in text) else None
                key = _key_of(above)
            else:
                key = _key_of(place)
            element = place is not None and not isinstance(place.step, str)
            yield [
                (place, one) for one in _named(key, text.lstrip(_BEFORE).rstrip(), element=element)
            ]

    def allows(self, text: str) -> bool:
        """Whether it may be touched, by everybody's reading: `//x` is a file to Linux, and a host to a browser."""
        if isinstance(text, Nobodys):
            return False
        if isinstance(text, Host) or text.startswith("//"):
            found = any(self._uri(f"{scheme}:{text}") for scheme in ("https", "http"))
            return found and (isinstance(text, Host) or self._path(text))
        if has_scheme(text):
            return self._uri(text)
        # Which is somebody's, as is `ssh://user@host`.
        return not is_copied(text) and self._path(text)

    def _uri(self, text: str) -> bool:
        found = read(text)
        if found is None:
            return False
        return all(map(self._path, found.paths)) and all(
            _any(group, "uri", one) for one in found.uris for group in self._groups
        )

    def _path(self, text: str) -> bool:
        forms = readings(text)
        return forms is not None and all(map(self._form, forms))

    def _form(self, form: str) -> bool:
        """Whether one reading of a path fits, as it is written and where its links lead."""
        path = posixpath.normpath(form)
        if path.startswith("/"):
            # `normpath` keeps two leading slashes, which POSIX leaves to the system; to Linux they are one.
            path = "/" + path.lstrip("/")
        if not all(self._fits(path, group) for group in self._groups):
            return False
        if self._folder is None:
            return True
        # Once for all groups: each component is a question to the file system. The folder each time: it may be a link that a
        # deployment turns elsewhere while the server is restarted there.
        home = os.path.realpath(self._folder)
        # What is behind a link and climbs again does so from where the link leads.
        whole = f"/{form.lstrip('/')}" if path.startswith("/") else form
        for one in {path, whole} if ".." in form else {path}:
            real = os.path.realpath(posixpath.join(home, one))
            if not all(self._leads(real, home, group) for group in self._groups):
                return False
        return True

    def _fits(self, path: str, group: Sequence[_Pattern]) -> bool:
        if not path.startswith("/") and not _any(group, "relative", path):
            if self._folder is None:
                return False
            path = posixpath.normpath(posixpath.join(self._folder, path))
        return not path.startswith("/") or _any(group, "absolute", path)

    @staticmethod
    def _leads(real: str, home: str, group: Sequence[_Pattern]) -> bool:
        """The same where its links lead: a path that fits and leads elsewhere does not fit."""
        # By either kind of pattern: a link may lead from one allowed place to another.
        return _any(group, "relative", posixpath.relpath(real, home)) or any(
            one.kind == "absolute" and one.real.fullmatch(real) for one in group
        )


def _named(key: str, text: str, *, element: bool) -> list[str]:
    """What a text names, blanks around it taken away, under the name of its member; to some of its readers it may be several."""
    found = _one(key, text)
    if not found and not is_called_url(key):
        return []
    for part in listed(key, unwrapped(text), element=element):
        found += [part] if isinstance(part, Nobodys) else _one(key, part)
    return found


def _one(key: str, text: str) -> list[str]:
    """The same of a text that is no list."""
    if not text or _is_plain(key, text):
        return []
    if "\0" in text and _one(key, text.partition("\0")[0]):
        # C ends there.
        return [text]
    if is_uri(text):
        return _of_uri(key, unwrapped(text))
    # The marks that it has keep most texts from being compared with a pattern.
    if (text[0] in "/~\\" or text[1:2] == ":") and _ABSOLUTE.fullmatch(text):
        return [text]
    if names_path(key, text) or is_copied(text):
        return [text]
    if not is_called_url(key):
        return [Nobodys(text)] if is_remote(key, text) else []
    found = host_text(text)
    return [] if found is None else [Host(found) if found else text]


def _is_plain(key: str, text: str) -> bool:
    """Whether it is no path whatever it begins with: `~5 minutes`, a separator, an expression. Under the name of a path a shell's
    `~5` is a folder, as is `~name`."""
    return (text[0] == "~" and _ABOUT.fits(text) and not names_path(key, "")) or (
        text[0] in "/\\" and _is_called_sign(key, text)
    )


def _is_called_sign(key: str, text: str) -> bool:
    last = words_of(key.lower())[-1:]
    return (len(text) == 1 and last in _SIGNS) or (text[0] == "\\" and last in _EXPRESSIONS)


def _of_uri(key: str, text: str) -> list[str]:
    first = text.splitlines()[0].partition("\t")[0]
    if first == text or is_called_url(key) or names_path(key, "") or not is_uri(first):
        return [text]
    # A text that begins with a URL: browsers leave out the ends of its lines, others read the first.
    return [unbroken(text), first]


def _key_of(place: Place | None) -> str:
    """The name of the nearest member that a value is in."""
    while place is not None:
        if isinstance(place.step, str):
            return place.step
        place = place.above
    return ""


def _any(group: Sequence[_Pattern], kind: str, text: str) -> bool:
    """Whether a pattern of this kind fits. None fits what climbs, whatever `**` may stand for."""
    # `.*` of a wild pattern would match it.
    if text == ".." or text.startswith("../"):
        return False
    return any(one.kind == kind and one.text.fullmatch(text) for one in group)


def flaw_of_pattern(pattern: str) -> str:
    """Why this is no pattern; empty where it is one."""
    try:
        _pattern(pattern)
    except ValueError as problem:
        return str(problem)
    return ""


def _pattern(pattern: str) -> _Pattern:
    if not pattern.strip() or not pattern.isprintable():
        raise ValueError("a pattern is a path or a URI in plain characters")
    if pattern.startswith(_FILE):
        return _path_pattern(unquote(pattern.removeprefix(_FILE).removeprefix("//")))
    return _uri_pattern(pattern) if has_scheme(pattern) else _path_pattern(pattern)


def _uri_pattern(pattern: str) -> _Pattern:
    try:
        spelled = ada_url.URL(pattern).href
    except ValueError:
        raise ValueError(f"{pattern!r} is no URI") from None
    if spelled != spelled.partition("?")[0].partition("#")[0]:
        raise ValueError(f"{pattern!r} has a query or a fragment, neither of which is looked at")
    text = _compiled(spelled)
    return _Pattern("uri", text, text)


def _path_pattern(pattern: str) -> _Pattern:
    if "\\" in pattern or pattern.startswith("~"):
        raise ValueError(f"{pattern!r} is no whole path: write it out, with /")
    path = posixpath.normpath(pattern)
    if path.startswith("/"):
        return _Pattern("absolute", _compiled(path), _compiled(_real_pattern(path)))
    if path.startswith(".."):
        raise ValueError(f"{pattern!r} leads out of the server's folder: write the whole path")
    return _Pattern("relative", _compiled(path), _compiled(path))


def _real_pattern(path: str) -> str:
    """A pattern with the links before its first wild name resolved."""
    names = path.split("/")
    wild = next((at for at, name in enumerate(names) if "*" in name), len(names))
    plain = os.path.realpath("/".join(names[:wild]) or "/")
    return posixpath.join(plain, *names[wild:])


def _stands_for_names(pattern: str, start: int, end: int) -> bool:
    """Whether `**` is whole names of a path, which may be none. In the place of a host it is one."""
    before, behind = pattern[max(0, start - 2) : start], pattern[end : end + 1]
    return end - start > 1 and behind == "/" and before[-1:] in {"", "/"} and before != "//"


def _compiled(pattern: str) -> Pattern[str]:
    if "*" not in pattern:
        if pattern == ".":
            return Pattern(".*", DOTALL)
        return Pattern(escape(pattern.rstrip("/")) + r"(?:/.*)?", DOTALL)
    below = pattern.endswith("/**")
    body = pattern[:-3] if below else pattern
    found, at = "", 0
    for wild in _WILD.finditer(body):
        found += escape(body[at : wild.start()])
        at = wild.end()
        if _stands_for_names(body, *wild.span()):
            found += "(?:.*/)?"
            at += 1
        else:
            found += ".*" if len(wild[0]) > 1 else "[^/]*"
    found += escape(body[at:])
    return Pattern(found + ("(?:/.*)?" if below else ""), DOTALL)
