"""Replaces literal secrets in a server's normal form by `${secret:NAME}`, with a callback that stores each value and chooses its name.

`Keep` chooses the name. With the references filled in again, the server gets the same text to the letter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from gatewright.hosts.entry_places import secret_name
from gatewright.hosts.model import Server
from gatewright.hosts.placeholders import Piece, pieces, shown
from gatewright.patterns import IGNORECASE, Pattern
from gatewright.secret_scanning.credentials import is_secret_name, secret_spans

__all__ = ["MAX_SECRET_BYTES", "moved", "secure"]

MAX_SECRET_BYTES = 64 * 1024

_FLAG = Pattern(r"--?([A-Za-z][\w.-]*)")
_SCHEMES = Pattern(r"\s*(?:Bearer|Basic|Token|ApiKey|Digest)?\s*", IGNORECASE)

Keep = Callable[[str, str], str]
"""(wished name, value) → the name under which it is kept."""


def secure(server: Server, keep: Keep) -> Server:
    """The server without literal secrets. `keep` is called for each of them."""

    def clean(key: str, text: str, name: str = "") -> str:
        return moved(text, name, lambda value: keep(secret_name(f"{server.id}.{key}"), value))

    auth = server.auth
    if auth is not None:
        auth = msgspec.structs.replace(
            auth,
            bearer=clean("bearer", auth.bearer, "bearer"),
            client_secret=clean("client_secret", auth.client_secret, "client_secret"),
        )
    return msgspec.structs.replace(
        server,
        command=clean("command", server.command),
        args=tuple(
            clean(f"args.{number}", text, _flag_before(server.args, number))
            for number, text in enumerate(server.args)
        ),
        cwd=clean("cwd", server.cwd),
        env=_cleaned(server.env, clean),
        url=clean("url", server.url),
        headers=_cleaned(server.headers, clean),
        auth=auth,
    )


def moved(text: str, name: str, keep: Callable[[str], str]) -> str:
    """A text in our syntax with every literal secret in it replaced. `name` is its key, variable, header or flag."""
    done: list[Piece] = []
    named = bool(name) and is_secret_name(name)
    for piece in pieces(text):
        if piece.reference is None:
            done += _split(piece.text, name, keep)
        elif piece.default and (named or secret_spans(piece.default)):
            # A default that is a secret would stand in the file; what the variable says is lost by this.
            done.append(Piece(reference=f"secret:{keep(piece.default)}"))
        else:
            done.append(piece)
    return shown(done)


def _split(text: str, name: str, keep: Callable[[str], str]) -> list[Piece]:
    found: list[Piece] = []
    at = 0
    # `Bearer ` in front of a reference is no secret, though it stands under `Authorization`.
    spans = [] if name and _SCHEMES.fullmatch(text) else secret_spans(text, name)
    for start, end in spans:
        if start > at:
            found.append(Piece(text[at:start]))
        found.append(Piece(reference=f"secret:{keep(text[start:end])}"))
        at = end
    if text[at:]:
        found.append(Piece(text[at:]))
    return found


def _cleaned(values: Mapping[str, str], clean: Callable[[str, str, str], str]) -> dict[str, str]:
    return {name: clean(name, text, name) for name, text in values.items()}


def _flag_before(args: tuple[str, ...], number: int) -> str:
    """The name under which an argument stands: that of a flag without `=` before it."""
    found = _FLAG.fullmatch(args[number - 1]) if number else None
    # Two flags in a row: the first one has no value.
    return found[1] if found and not args[number].startswith("--") else ""
