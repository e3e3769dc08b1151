"""`Resources`: matches paths and URIs in arguments and requests against a caller's `allowed_resources`, following symbolic links.

Theory: a pattern is only as good as the reading of what it is compared with. A path is judged in every form
that somebody could make of it (`validators.paths`), climbing resolved, once as it is written and once as
its symbolic links lead; a URI as browsers write it. Whatever has no one honest reading is outside.

In a pattern `*` stands for any part of one name and `**` for any number of names; a pattern without either
means a folder or an address with everything below it. A relative path means one below the folder in which
the server runs, where that is known, and is compared with relative patterns as it stands.

Of the arguments of a tool those are judged that name something by their form (an absolute path, one that
climbs, a URI) or by the name of their member (`path`, `file`, `url` …). A command line and a program name
things in ways that nobody can list, which is why access refuses tools that run them to such a caller.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote

import ada_url

from gatewright.patterns import DOTALL, Pattern, escape
from gatewright.schemas.json_strings import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.validators.network import names_url
from gatewright.validators.paths import names_path, readings

__all__ = ["Resources", "flaw_of_pattern"]

_URI = Pattern(r"[A-Za-z][A-Za-z0-9+.-]+:")
_URL = Pattern(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_ABSOLUTE = Pattern(r"(?:/|~|\\|[A-Za-z]:[/\\])[^\n]*")
"""One line that begins like this is taken for a path, blanks and all: a folder may have a blank in its name."""
_WILD = Pattern(r"\*+")
_FILE = "file:"
_MOST_SHOWN = 256


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
        return (one for one in self._looked_through(arguments) if one is not None)

    def in_steps(self, arguments: Any) -> Generator[None, None, list[tuple[Place | None, Any]]]:
        """The same as a list, in steps of microseconds, one for each text."""
        found = []
        for one in self._looked_through(arguments):
            if one is not None:
                found.append(one)
            yield
        return found

    @staticmethod
    def _looked_through(arguments: Any) -> Iterator[tuple[Place | None, Any] | None]:
        for place, text, is_name in strings(arguments):
            key = "" if is_name else _key_of(place)
            found = text.strip()
            if not found:
                yield None
            # The marks that either has keep most texts from being compared with a pattern.
            elif (
                ("://" in found and _URL.fullmatch(found))
                or ((found[0] in "/~\\" or found[1:2] == ":") and _ABSOLUTE.fullmatch(found))
                or names_path(key, found)
            ):
                yield place, found
            elif not is_name and names_url(key, found):
                yield place, f"//{found}"
            else:
                yield None

    def allows(self, text: str) -> bool:
        """Whether it may be touched. `//host` is a URL without its scheme, of which any will do."""
        if text.startswith("//"):
            return any(self._uri(f"{scheme}:{text}") for scheme in ("https", "http"))
        return self._uri(text) if _URI.match(text) else self._path(text)

    def _uri(self, text: str) -> bool:
        try:
            found = ada_url.URL(text)
        except ValueError:
            return False
        # `https://allowed.example@elsewhere/` is read differently by people and programs.
        if found.username or found.password or not text.isprintable():
            return False
        if found.protocol == _FILE:
            local = found.hostname in ("", "localhost")
            return local and self._path(unquote(found.pathname))
        plain = _without_query(found.href)
        return all(_any(group, "uri", plain) for group in self._groups)

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
        real = os.path.realpath(posixpath.join(home, path))
        return all(self._leads(real, home, group) for group in self._groups)

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
    return _uri_pattern(pattern) if _URI.match(pattern) else _path_pattern(pattern)


def _uri_pattern(pattern: str) -> _Pattern:
    try:
        spelled = ada_url.URL(pattern).href
    except ValueError:
        raise ValueError(f"{pattern!r} is no URI") from None
    if spelled != _without_query(spelled):
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


def _compiled(pattern: str) -> Pattern[str]:
    if "*" not in pattern:
        if pattern == ".":
            return Pattern(".*", DOTALL)
        return Pattern(escape(pattern.rstrip("/")) + r"(?:/.*)?", DOTALL)
    below = pattern.endswith("/**")
    body = pattern[:-3] if below else pattern
    found, at = "", 0
    for wild in _WILD.finditer(body):
        found += escape(body[at : wild.start()]) + (".*" if len(wild[0]) > 1 else "[^/]*")
        at = wild.end()
    found += escape(body[at:])
    return Pattern(found + ("(?:/.*)?" if below else ""), DOTALL)


def _without_query(url: str) -> str:
    return url.partition("?")[0].partition("#")[0]
