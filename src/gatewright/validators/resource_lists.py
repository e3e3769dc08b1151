"""Splits an argument string into the paths or URIs that it may list (at `,:;|`, blanks, quotes), to check each by `allowed_resources`.

A text is one name to one tool and several to another, so the parts are judged as well as the whole. What stands between them is
taken for a separator where a root, a way up or a scheme follows; under a name in the plural, wherever it is one to somebody.
"""

from __future__ import annotations

from collections.abc import Iterator

from gatewright.patterns import IGNORECASE, Pattern
from gatewright.validators.network import is_called_url
from gatewright.validators.path_forms import names_path
from gatewright.validators.uris import is_uri

__all__ = ["PARTS_MOST", "Nobodys", "listed"]

PARTS_MOST = 1000
"""Of more parts than that nobody says that they are all allowed."""


class Nobodys(str):
    """What no pattern allows."""

    __slots__ = ()


_SCHEME = r"[a-z][\w+.-]*:[/\\]"
_PATH_BEGINS = Pattern(rf"[\s,:;|\"'`\[({{<=]((?:[/~\\]|\.\.|{_SCHEME}))", IGNORECASE)
# Without the colon and what a query is made of, which URLs have in them.
_URI_BEGINS = Pattern(rf"[\s,;|\"'`]((?:[/~\\]|\.\./|{_SCHEME}))", IGNORECASE)
_AROUND = " \t\r\n,:;|\"'`[](){}<>="
_CUT = str.maketrans(dict.fromkeys(";|\n\r\"'`", ","))


def listed(key: str, text: str, *, element: bool = False) -> list[str]:
    """The parts of a text that names something, under the name of its member; empty where it is no list.

    `element` says that it is one of a JSON list: a URL there may have a comma in it, as none has that is a list by its member's name.
    """
    uri = is_uri(text)
    starts = (found.start(1) for found in (_URI_BEGINS if uri else _PATH_BEGINS).finditer(text))
    parts = _between(text, starts)
    if uri and not _is_called(key) and any(len(one.split(maxsplit=1)) > 1 for one in parts):
        return []  # a text that begins with a URL
    if _is_plural(key) and not (uri and element):
        # To one reader the names begin where a root or a scheme does, to another wherever there is a comma.
        begun = set(parts)
        cut = _cut(text, "/.:" if is_called_url(key) else "/")
        parts += [one for one in cut if one not in begun]
    return (
        [*parts[:PARTS_MOST], Nobodys(f"more than {PARTS_MOST} names")]
        if len(parts) > PARTS_MOST
        else parts
    )


def _between(text: str, starts: Iterator[int]) -> list[str]:
    begun, found = 0, []
    for at in starts:
        found.append(text[begun:at])
        begun = at
        if len(found) > PARTS_MOST:
            break
    if not found:
        return []
    return [one for part in (*found, text[begun:]) if (one := part.strip(_AROUND))]


def _cut(text: str, signs_of_one: str) -> list[str]:
    """The parts where nothing says so but the name of the member. Words between blanks are some where each has a sign of one."""
    signs = text.translate(_CUT)
    found = [one for part in signs.split(",", PARTS_MOST + 1) if (one := part.strip())]
    words = [one for part in found for one in part.split(maxsplit=PARTS_MOST + 1)]
    words = [one for word in words for one in _at_colons(word)]
    # `src/my file.py` has a blank in it. A URL has none.
    if any(map(is_uri, words)) or all(any(sign in one for sign in signs_of_one) for one in words):
        found = words
    return found if len(found) > 1 else []


def _at_colons(word: str) -> list[str]:
    return [word] if is_uri(word) else [one for one in word.split(":", PARTS_MOST + 1) if one]


def _is_called(key: str) -> bool:
    return is_called_url(key) or names_path(key, "")


def _is_plural(key: str) -> bool:
    return key[-1:] in {"s", "S"} and _is_called(key)
