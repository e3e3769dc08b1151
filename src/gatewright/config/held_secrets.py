"""Secrets in servers' configuration: puts them into `HELD`; returns those from `${secret:}`, `${file:}`, secret variables for `Redactor`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gatewright.config.model import Server, Settings
from gatewright.patterns import DOTALL, Pattern, escape
from gatewright.secret_scanning import HELD
from gatewright.secret_scanning.held import passwords_in
from gatewright.secret_scanning.names import is_secret_name

__all__ = ["hold_secrets", "own_secrets"]

_REFERENCE = Pattern(r"\$\$\{|\$\{([^}]*)\}")
_BETWEEN = Pattern(r"\$\{[^}]*\}")
_PLAIN = "\0"
_MOST = 64
"""How many secrets of one server's configuration are looked for by their value."""


def own_secrets(servers: Iterable[Server]) -> tuple[str, ...]:
    """The values that came into the configuration in place of `${secret:…}`, `${file:…}`, and of a variable under a secret's
    name. The same for any order of the servers."""
    found = {
        value
        for server in servers
        for key, written in server.written.items()
        for value in _substituted(written, _resolved(server, key), key.partition(".")[2])
    }
    return tuple(sorted(found))


def hold_secrets(settings: Settings) -> None:
    """Have what the configuration gives servers known as secrets, also where it stands there in plain text. Sinks and issuers
    tell of theirs when they are made."""
    for server in settings.servers:
        auth = server.auth
        named = {**server.env, **server.headers}
        values = [
            *own_secrets([server]),
            auth.bearer,
            auth.client_secret,
            *server.credentials.values(),
            *(value.rpartition(" ")[2] for name, value in named.items() if is_secret_name(name)),
            *passwords_in(server.url),
        ]
        HELD.hold(f"server {server.id}", values, _MOST)


def _resolved(server: Server, key: str) -> str:
    """What stands in the configuration at a key of `Server.written`; empty where that is not known."""
    of, _, name = key.partition(".")
    place: Any = getattr(server, of, None)
    if isinstance(place, Mapping):
        place = place.get(name)
    elif isinstance(place, tuple):
        place = place[int(name)] if name.isdecimal() and int(name) < len(place) else None
    elif name:
        place = getattr(place, name, None)
    return place if isinstance(place, str) else ""


def _substituted(written: str, value: str, name: str) -> Iterator[str]:
    """What stands in `value` where `written` has a reference to a secret."""
    references = [one[1] for one in _REFERENCE.finditer(written) if one[1] is not None]
    plain = [one.replace(_PLAIN, "${") for one in _BETWEEN.split(written.replace("$${", _PLAIN))]
    pattern = "(.+?)".join(map(escape, plain))
    found = Pattern(pattern, DOTALL).fullmatch(value)
    if found is None:
        return
    for reference, said in zip(references, found.groups(), strict=False):
        if reference.startswith(("secret:", "file:")) or is_secret_name(name):
            yield said
