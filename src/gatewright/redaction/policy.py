"""Builds redaction rules from `[redaction]`, servers and tools, and registers the configuration's own secret values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gatewright.config import RedactionLevel, Server, Settings
from gatewright.patterns import DOTALL, Pattern, escape
from gatewright.redaction.filter import Redact, Rules
from gatewright.redaction.sanitize_gate import Wanted
from gatewright.secret_scanning import HELD, Redactor
from gatewright.secret_scanning.held import passwords_in
from gatewright.secret_scanning.names import is_secret_name
from gatewright.servers.notifications import Clean

__all__ = ["Spoken", "hold_secrets", "own_secrets", "redaction_of", "wanted_of"]


_REFERENCE = Pattern(r"\$\$\{|\$\{([^}]*)\}")
_BETWEEN = Pattern(r"\$\{[^}]*\}")
_PLAIN = "\0"
_MOST = 64
"""How many secrets of one server's configuration are looked for by their value."""


def redaction_of(settings: Settings, key: bytes) -> Rules:
    """Which policy holds for what. `key` (32 bytes) makes the marks of one gateway its own."""
    said, wanted, own = settings.redaction, wanted_of(settings), own_secrets(settings.servers)

    def made(level: RedactionLevel, hidden: bool) -> Redactor | None:
        if level == "off" and not hidden:
            return None
        personal = frozenset(said.personal if level == "personal" else ())
        terms = () if level == "off" else said.terms
        return Redactor(
            key,
            secrets=level != "off",
            personal=personal,
            terms=terms,
            hidden=hidden,
            own=() if level == "off" else own,
        )

    servers: dict[str, Redactor | None] = {}
    tools: dict[tuple[str, str], Redactor | None] = {}
    for one in settings.servers:
        whole = said.level if one.redaction is None else one.redaction
        if one.redaction is not None or one.hidden is not None:
            servers[one.id] = made(whole, wanted.servers.get(one.id, wanted.default))
        for name, rule in one.tools.items():
            if (rule.redaction, rule.hidden) != (None, None):
                level = rule.redaction or whole
                tools[one.id, name] = made(level, wanted.of(one.id, name))
    return Rules(made(said.level, wanted.default), servers, tools)


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
            # Without `Bearer `: the credential is the secret, whatever stands before it.
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
    # The value was written as texts around references; what fills the places of these is what they stood for.
    found = Pattern(pattern, DOTALL).fullmatch(value)
    if found is None:
        return
    for reference, said in zip(references, found.groups(), strict=False):
        if reference.startswith(("secret:", "file:")) or is_secret_name(name):
            yield said


class Spoken:
    """Cleans what servers say outside any call, by the settings of now. `key` as for `redaction_of`."""

    def __init__(self, settings: Settings, key: bytes) -> None:
        self._key = key
        self.adopt(settings)

    def adopt(self, settings: Settings) -> None:
        """Go on with these settings."""
        hold_secrets(settings)
        self._clean: Clean = Redact(redaction_of(settings, self._key)).said

    def clean(self, server: str, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        """The params of one notification as they may be told (`Clean`)."""
        return self._clean(server, method, params)


def wanted_of(settings: Settings) -> Wanted:
    """Where what nobody sees is taken out."""
    servers = settings.servers
    return Wanted(
        settings.redaction.hidden == "remove",
        {one.id: one.hidden == "remove" for one in servers if one.hidden is not None},
        {
            (one.id, name): rule.hidden == "remove"
            for one in servers
            for name, rule in one.tools.items()
            if rule.hidden is not None
        },
    )
