"""Validator `paths`: refuses path arguments that leave a root folder in any decoded form or through a symbolic link (`path_rule`).

Theory: the path that is judged must be the path that is opened, but nobody knows what the server will do
with the text before it opens it. So every form that somebody could make of it is judged: percent and other
escapes decoded until nothing changes, compatibility characters folded, look-alike separators replaced, path
parameters and blanks around names stripped, `../` taken out once. If one of them climbs out, or is absolute where the text was not, the
text is refused. What has no honest use in a path is refused outright: control characters, backslashes, overlong
UTF-8, drive letters, `~`, NUL.

Last the path is walked component by component and symbolic links are followed, as the server will find
them; a link that leads out of the root is refused. A component that does not exist is taken for a plain name.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

import msgspec

from gatewright.patterns import Pattern
from gatewright.schemas.json_pointers import Place, strings
from gatewright.schemas.objection import Objection
from gatewright.validators.options import BadOptions, read_options
from gatewright.validators.path_forms import climbs, form_rule, forms, names_path
from gatewright.word_tables import tables

__all__ = ["Options", "Paths", "ReadLink", "path_rule", "prepare"]

ReadLink = Callable[[str], str | None]
"""Absolute path → where the symbolic link there leads, None where there is none, empty where there is nothing at all.
Raises `OSError` or `ValueError` where that cannot be said."""

_MAX_LINKS = 40
_MAX_LOOKS = 256
"""Components of one path that the file system is asked about."""

_SAY: Mapping[str, str] = tables(__file__, "sentences.toml")["paths"]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an operator may set for one tool."""

    root: str = ""
    """The folder that must not be left. Without it only relative paths pass, wherever they begin."""


def prepare(options: Mapping[str, Any], tool: str = "", readlink: ReadLink | None = None) -> Paths:
    """The validator for one tool; its name does not matter. Raises `BadOptions`."""
    del tool
    root = read_options(Options, options).root
    if root and not Path(root).is_absolute():
        raise BadOptions("root must be an absolute path")
    return Paths(root, readlink or _readlink)


def _readlink(path: str) -> str | None:
    try:
        return str(Path(path).readlink())
    except (FileNotFoundError, NotADirectoryError):
        return ""
    except OSError as problem:
        # Whoever may look where the gateway may not follows the link that is there.
        if problem.errno != errno.EINVAL:
            raise
        return None


class Paths:
    """Judges paths (text), and for a dry run `{path, symlinks}` with links below the root."""

    def __init__(self, root: str, readlink: ReadLink) -> None:
        # The root itself may stand behind links; what is inside is compared with where it really is.
        self._root = os.path.realpath(root) if root else ""
        self._given = os.path.normpath(root) if root else ""
        self._readlink = readlink

    def judge(self, value: Any) -> Objection | None:
        """What speaks against one value."""
        readlink, root = self._readlink, self._root
        if isinstance(value, dict):
            root = root or "/played"
            readlink = _played(root, value.get("symlinks"))
            value = value.get("path")
        rule = (
            path_rule(value, root, readlink, self._given) if isinstance(value, str) else "no_path"
        )
        return None if rule is None else Objection("", rule, _SAY[rule])

    def parts(self, arguments: Any) -> Iterator[tuple[Place | None, Any]]:
        """Every text whose member is called like a path, and every other one that looks like one."""
        for place, text, is_name in strings(arguments):
            key = (
                next((s for s in reversed(place.path()) if isinstance(s, str)), "") if place else ""
            )
            if not is_name and names_path(key, text):
                yield place, text


def path_rule(path: str, root: str, readlink: ReadLink = _readlink, given: str = "") -> str | None:
    """What speaks against a path: a rule's name, or None.

    `root` is an absolute path without links, or empty; `given` is the same folder as the operator wrote it.
    """
    rule = form_rule(path)
    if rule is not None:
        return rule
    inside = _relative(path, root, given)
    if inside is None:
        return "absolute"
    for form in forms(inside):
        if form is None:
            return "encoding"
        rule = None if form == inside else form_rule(form)
        if rule is not None:
            return rule
        if form.startswith("/") or climbs(form):
            return "outside"
    return None if not root else _links_rule(inside, root, readlink)


_NOTHING = Pattern(r"([^/])/(?:\.?/)+")


def _relative(path: str, root: str, given: str) -> str | None:
    """The path as seen from the root; None where it is absolute and elsewhere."""
    if not path.startswith("/"):
        return path
    path = _NOTHING.sub(lambda found: f"{found[1]}/", path)
    # The folder as it really is, and as the operator wrote it, with links in it.
    for one in {root, given} - {""}:
        if path == one or path.startswith(one.rstrip("/") + "/"):
            return path[len(one) :].lstrip("/") or "."
    return None


def _links_rule(path: str, root: str, readlink: ReadLink) -> str | None:
    """Walk the path from the root, following links, and never leave."""
    here, links, looks, missing = root, 0, 0, ""
    rest = _names(path)[::-1]
    while rest:
        name = rest.pop()
        here = str(PurePosixPath(here).parent) if name == ".." else f"{here.rstrip('/')}/{name}"
        target = None
        # Below what is not there nothing is: only the names count.
        if name != ".." and not (missing and _within(here, missing)):
            looks += 1
            if looks > _MAX_LOOKS:
                return "too_long"
            try:
                target = readlink(here)
            except (OSError, ValueError):
                return "unseen"
            missing = here if target == "" else missing
        if target:
            # As `ELOOP`: links may lead to each other for ever.
            links += 1
            if links > _MAX_LINKS:
                return "link"
            here = "/" if target.startswith("/") else str(PurePosixPath(here).parent)
            rest += _names(target)[::-1]
        # Above the root it may pass on its way down again (`/srv` to `/srv/data`), but not end.
        if not _within(here, root) and not (rest and _within(root, here)):
            return "link"
    return None


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name not in {"", "."}]


def _within(path: str, root: str) -> bool:
    return path == root or path.startswith(root.rstrip("/") + "/")


def _played(root: str, symlinks: Any) -> ReadLink:
    """Links of a dry run: paths from the root → targets."""
    links = symlinks if isinstance(symlinks, dict) else {}
    table = {f"{root.rstrip('/')}/{name.strip('/')}": str(target) for name, target in links.items()}
    return table.get
