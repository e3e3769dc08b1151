"""Judges curl, wget and httpie under the preset `develop`: nothing is sent but to this machine, and what is fetched lies inside.

Their options are those of the closed tables of `shell_targets`: what takes settings, addresses or names of files from elsewhere is in none.
"""

from __future__ import annotations

from collections.abc import Sequence

from gatewright.patterns import DOTALL, IGNORECASE, Pattern
from gatewright.validators.shell_made import note_made
from gatewright.validators.shell_targets import Given, given
from gatewright.validators.shell_workspace import is_harmless_url, is_written_inside

__all__ = ["CLIENTS", "client_rule", "sends_input"]

_ITEMS = frozenset({"http", "https", "xh", "httpie", "curlie"})
CLIENTS = frozenset({"curl", "wget", *_ITEMS})
"""Programs that ask a server."""
_WORDS = Pattern(r"-n[vcdpH]")
"""Options of wget that are two letters."""
_SCHEME = Pattern(
    r"(?:https?|ftps?)://.*|[^:/]*(?::\d+)?(?:[/?#].*)?|\[[\da-f:.]+\].*|:\d*(?:/.*)?",
    DOTALL | IGNORECASE,
)
_METHOD = Pattern(r"[A-Z]+")
_ITEM = Pattern(r"[\w.-]+(?:==?|:=|@|:=@|=@|:[^\d/]).*", DOTALL)
_FROM_FILE = Pattern(r"@.*|.*(?::|=)@.*|.*%output\{.*", DOTALL)
_REROUTING = frozenset({"resolve", "connect-to"})
_COOKIES = frozenset({"b", "cookie", "load-cookies"})


def client_rule(name: str, texts: Sequence[str], made: set[str]) -> str | None:
    """What speaks against one of them: a rule's name, or None. `made` gets the files that it writes."""
    found = given(name, [one for one in texts if not (name == "wget" and _WORDS.fits(one))])
    if found is None:
        return "option"
    urls = [
        one
        for one in found.operands
        if name not in _ITEMS or not (_METHOD.fits(one) or _ITEM.fits(one))
    ]
    if not all(map(_SCHEME.fits, urls)):
        return "sends_away"
    if _sends(name, found) and not _is_local(urls, found):
        return "sends_away"
    files = [one for one in found.placed if one not in {"-", "/dev/null"}]
    if not all(map(is_written_inside, files)):
        return "outside"
    _note(name, texts, urls, files, found, made)
    return None


def _is_local(urls: Sequence[str], found: Given) -> bool:
    """Whether all goes to this machine, by names that mean no other."""
    return (
        bool(urls)
        and all(map(is_harmless_url, urls))
        and _REROUTING.isdisjoint(one for one, _ in found.said)
    )


def _sends(name: str, found: Given) -> bool:
    """Whether more than a request for something is sent."""
    if found.sent or any(_FROM_FILE.fits(value) for _, value in found.said):
        return True
    # What has no `=` is a file of cookies.
    if any(option in _COOKIES and "=" not in value for option, value in found.said):
        return True
    return name in _ITEMS and any("@" in one or "=" in one for one in found.operands)


_BY_NAME = Pattern(r"-[a-zA-Z#]*O[a-zA-Z]*|--remote-name")


def _note(
    name: str,
    texts: Sequence[str],
    urls: Sequence[str],
    files: Sequence[str],
    found: Given,
    made: set[str],
) -> None:
    for one in files:
        note_made(made, one)
    by_name = (
        any(map(_BY_NAME.fits, texts)) if name == "curl" else not found.placed and name == "wget"
    )
    if by_name or any(one in {"-d", "--download"} for one in texts):
        for url in urls:
            note_made(made, url.rpartition("/")[2] or "index.html")


def sends_input(name: str, texts: Sequence[str]) -> bool:
    """Whether a client sends what it is fed, unasked, to another machine."""
    return name in _ITEMS and not any(map(is_harmless_url, texts))
