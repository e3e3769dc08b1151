"""Detects sensitive files (secrets, host configuration) by their paths, and folders that hold some.

A path is split into its components, and components are compared with what a pattern in it could match. Where a path begins does not matter: `/x/../etc/shadow` is found as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.patterns import Pattern
from gatewright.short_cache import cached_if_short
from gatewright.validators.shell_globs import MOST_JOKERS, letters_of, may_name, named_by
from gatewright.word_tables import tables, words

__all__ = ["SHELL_WORDS", "holds_sensitive_files", "is_sensitive"]

SHELL_WORDS: Mapping[str, Any] = words(tables(__file__, "shell_words.toml"))
"""Names of programs and files, by what the file says of them."""
_PLACES: tuple[tuple[str, ...], ...] = tuple(
    tuple(one.casefold().split("/")) for one in SHELL_WORDS["sensitive_places"]
)
_NAMES: tuple[str, ...] = SHELL_WORDS["sensitive_names"]
_ENDINGS = Pattern(
    r"[^/]*(?:\.(?:p12|pfx|ppk|jks|keystore|kdbx?|tfstate(?:\.backup)?|ovpn)|(?:^|[._-])(?:priv(?:ate)?[_-]?key|privkey|server[_-]?key|key)\.pem|"
    r"^id_(?:rsa|dsa|ecdsa|ed25519)(?:_\w+)?)"
)
"""Names of keys and of states that hold them: what is a key by its ending alone (`.key`) is a member of JSON to others."""
_BY_FIRST = {
    first: [place for place in _PLACES if place[0] == first]
    for first in dict.fromkeys(place[0] for place in _PLACES)
}
_FIRST = frozenset(_BY_FIRST)
_WILD = Pattern(r"[*?\[]")


@cached_if_short(1024)
def is_sensitive(text: str, *, glob: bool = False) -> bool:
    """Whether a path means such a file, wherever it begins. On many file systems capitals make no difference."""
    folded = text.casefold()
    # As it stands, too: a pattern such as `[!E]` does not mean in lower case what it means.
    return _means(folded, glob=glob) or (glob and folded != text and _means(text, glob=True))


_HOLDING = Pattern(
    r"/*|~[^/]*|/(?:etc|root|home(?:/[^/]+)?|users(?:/[^/]+)?|proc(?:/[^/]+)?|run|var(?:/lib|/spool|/run)?|dev|etc/(?:ssl|security))"
)


_OF_A_MAC = Pattern(r"(?:~[^/]*|users/[^/]+)/library")
_ABOVE = frozenset(place[:length] for place in _PLACES for length in range(1, len(place)))
"""The folders on the way to a place: `~/.aws`, `/etc`, `/proc/1`."""
_MOST_ABOVE = max(map(len, _ABOVE))


def holds_sensitive_files(folder: str) -> bool:
    """Whether a folder, with all that is below it, holds secrets of the host or of a person: `/etc`, a home, the root, what is on the way
    to a secret, and whatever lies above where the line runs."""
    if not folder.startswith(("/", "~")):
        return _climbs(folder)
    parts = _components(folder.casefold())
    if folder[0] == "~" and (not parts or parts[0][:1] != "~"):
        # It leads out of the home again.
        return True
    # Of what begins with a dot the folder around is somebody's home, wherever that is.
    ends = (tuple(parts[-length:]) for length in range(1, min(_MOST_ABOVE, len(parts)) + 1))
    if any(_is_above(end, whole=len(end) == len(parts)) for end in ends):
        return True
    names = "/".join(parts)
    if _OF_A_MAC.fits(names):
        return True
    return _HOLDING.fits(names if folder[0] == "~" else f"/{names}") or is_sensitive(folder)


def _is_above(end: tuple[str, ...], *, whole: bool) -> bool:
    # Whatever it matches by a joker is looked for in the few that hold one.
    if not whole and end[0][:1] != ".":
        return False
    return end in _ABOVE or any(
        len(end) == len(one) and all(map(_fits_ours, end, one)) for one in _ABOVE_WILD
    )


_ABOVE_WILD = tuple(one for one in _ABOVE if any(_WILD.within(part) for part in one))


def _climbs(folder: str) -> bool:
    depth = 0
    for part in folder.split("/"):
        depth += -1 if part == ".." else part not in {"", "."}
        if depth < 0:
            return True
    return False


def _means(text: str, *, glob: bool) -> bool:
    parts = _components(text)
    # Before anything compares with them: what matches a pattern takes its length for each joker.
    if glob and (
        sum(map(_WILD.within, parts)) > MOST_JOKERS
        or any(len(_WILD.findall(part)) > MOST_JOKERS for part in parts)
    ):
        return True
    names = dict.fromkeys(parts)
    if any(_named(part, glob=glob) for part in names):
        return True
    first = {part: named_by(part, _BY_FIRST) if glob else [part] for part in names}
    return any(
        _same(parts[at : at + len(place)], place, text, glob=glob)
        for at, part in enumerate(parts)
        for begun in first[part]
        for place in _BY_FIRST.get(begun, ())
        if at + len(place) <= len(parts)
    )


def _fits(part: str, wanted: str, *, glob: bool) -> bool:
    """Whether a component is one of a place, or a pattern that could become it."""
    return _fits_ours(part, wanted) or (glob and may_name(part, (wanted,)))


def _fits_ours(part: str, wanted: str) -> bool:
    return part == wanted or ("*" in wanted and may_name(wanted, (part,)))


def _components(text: str) -> list[str]:
    found: list[str] = []
    for part in text.split("/"):
        # As the kernel resolves it, where no link stands in between.
        if part == ".." and found:
            found.pop()
        elif part not in {"", ".", ".."}:
            found.append(part)
    return found


def _same(parts: list[str], place: tuple[str, ...], text: str, *, glob: bool) -> bool:
    """Whether these components are that place, or patterns that could become it.

    A component that is nothing but wildcards says something only where the path is absolute.
    """
    # `*/*` would match each place, and mean most harmless files.
    if glob and not text.startswith(("/", "~")) and not all(_WILD.sub("", part) for part in parts):
        return False
    return all(_fits(part, wanted, glob=glob) for part, wanted in zip(parts, place, strict=True))


def _named(part: str, *, glob: bool) -> bool:
    if part in _NAMES or _ENDINGS.fits(part):
        return True
    return glob and part[0] != "*" and len(letters_of(part)) > 1 and may_name(part, _NAMES)
