"""Checks and completes `[servers.auth]`: how the gateway authenticates at a protected HTTP server (OAuth client or bearer token).

The rules keep one promise: what the operator wrote down for one place goes to that place only. A
secret without the issuer it belongs to could be asked for by whoever the server names.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal
from urllib.parse import urlsplit

from gatewright.command_text import to_type
from gatewright.config.check import Report
from gatewright.config.file_tables import TRANSPORTS, AuthTable, ServerTable
from gatewright.config.model import Auth, Server
from gatewright.config.substitute import Undefined
from gatewright.config.toml_positions import KeyPath
from gatewright.patterns import Pattern
from gatewright.web.urls import flaw_of, is_loopback

__all__ = ["check_auth", "complete_auth", "shared_redirects"]

# scope-token of RFC 6749 §3.3.
_SCOPE = Pattern(r"[\x21\x23-\x5b\x5d-\x7e]+")
_HEADER_TEXT = Pattern(r"[\x21-\x7e]+")
_OAUTH_ONLY = (
    "client_id",
    "client_secret",
    "issuer",
    "client_metadata_url",
    "redirect_uri",
    "scopes",
)


def check_auth(table: ServerTable, path: KeyPath, report: Report) -> None:
    """Report what cannot be meant."""
    auth = table.auth
    if auth is None:
        return
    at: KeyPath = (*path, "auth")
    if TRANSPORTS.get(table.transport or "") == "stdio" or not (table.url or table.openapi):
        report.warn(at, "a stdio server does not use it", "remove this table; env is for secrets")
    if _has_authorization(table) and _type(table) != "none":
        report.error(
            at,
            "headers has an Authorization as well",
            "remove one of the two: a request carries one",
        )
    _check_bearer(auth, at, report)
    _check_client(auth, at, report)
    for scope in auth.scopes:
        if not _SCOPE.fullmatch(scope):
            report.error(
                (*at, "scopes"),
                f"{scope!r} is no scope",
                'write each one by itself, for example scopes = ["read", "write"]',
            )


def _check_bearer(auth: AuthTable, at: KeyPath, report: Report) -> None:
    if auth.type == "bearer" and auth.bearer is None:
        report.error(at, "a bearer is missing", 'write bearer = "${TOKEN}"')
    if auth.bearer is None:
        return
    if auth.type not in (None, "bearer"):
        report.error(
            (*at, "bearer"),
            f'it has no effect with type = "{auth.type}"',
            'remove it, or write type = "bearer"',
        )
    for key in _OAUTH_ONLY:
        if getattr(auth, key):
            report.error((*at, key), "it has no effect beside a bearer", "remove one of the two")


def _check_client(auth: AuthTable, at: KeyPath, report: Report) -> None:
    if auth.client_secret is not None and auth.client_id is None:
        report.error(
            (*at, "client_secret"), "it belongs to a client_id", 'write client_id = "…" as well'
        )
    # Else the server chooses, by its metadata (RFC 9728), who is shown the client and its secret.
    if auth.client_id is not None and auth.issuer is None:
        report.error(
            (*at, "client_id"),
            "it belongs to an authorization server",
            'write issuer = "https://…" exactly as that server spells itself; it is shown to no other',
        )

    _check_redirect(auth, at, report)


def _check_redirect(auth: AuthTable, at: KeyPath, report: Report) -> None:
    if auth.redirect_uri is None:
        return
    if auth.issuer is None or not (auth.client_id or auth.client_metadata_url):
        report.error(
            (*at, "redirect_uri"),
            "it is registered for a client at an authorization server",
            "write issuer and client_id (or client_metadata_url) as well, or remove it",
        )


def complete_auth(table: ServerTable, text: Callable[[str, str], str]) -> Auth:
    """The values with every variable replaced by `text`, which takes a key and what stands there.
    Raises `Undefined`."""
    auth = table.auth
    if auth is None:
        return Auth(type=_type(table))
    bearer = text("bearer", auth.bearer or "")
    if bearer and not _HEADER_TEXT.fullmatch(bearer):
        raise Undefined("the bearer has characters that a header cannot carry", "check its value")
    issuer = text("issuer", auth.issuer or "")
    _check_url(issuer)
    document = text("client_metadata_url", auth.client_metadata_url or "")
    _check_url(document)
    if document and urlsplit(document).path in ("", "/"):
        raise Undefined("the document needs a path", 'write "https://host/client.json"')
    back = text("redirect_uri", auth.redirect_uri or "")
    if back and not _lands_here(back):
        raise Undefined(
            "no browser would come back from this redirect URI",
            'write "http://127.0.0.1:PORT/PATH", as it is registered',
        )
    return Auth(
        type=_type(table),
        client_id=text("client_id", auth.client_id or ""),
        client_secret=text("client_secret", auth.client_secret or ""),
        issuer=issuer,
        client_metadata_url=document,
        redirect_uri=back,
        scopes=auth.scopes,
        bearer=bearer,
    )


def _lands_here(url: str) -> bool:
    """Whether `server login` can wait at it."""
    if flaw_of(url, loopback=True) or not is_loopback(url):
        return False
    parts = urlsplit(url)
    # RFC 8252 §7.3: a loopback redirect is plain HTTP; `server login` listens at its port.
    return parts.scheme == "http" and bool(parts.port) and len(parts.path) > 1 and not parts.query


def _check_url(url: str) -> None:
    flaw = flaw_of(url, loopback=True) if url else ""
    if flaw:
        raise Undefined(f"this URL cannot be used: {flaw}", 'write "https://…"')


def shared_redirects(servers: Iterable[Server]) -> Iterator[tuple[Server, str, str]]:
    """(server, what is wrong, what to write instead) where one redirect URI is written for two issuers."""
    issuers: dict[str, str] = {}
    for server in servers:
        auth = server.auth
        # A code comes to the redirect URI whichever issuer made it: the mix-up attack (RFC 9207, decision 0049).
        other = issuers.setdefault(auth.redirect_uri, auth.issuer) if auth.redirect_uri else ""
        if auth.redirect_uri and other != auth.issuer:
            yield (
                server,
                f"the redirect URI {auth.redirect_uri} is that of {other} as well, so a code of one issuer could reach the other",
                f"remove redirect_uri, and register the one that `{to_type('server login {}', server.id)}` prints",
            )


def _type(table: ServerTable) -> Literal["oauth", "bearer", "none"]:
    """What was said, else what follows from the rest: a server that gets an Authorization from
    `headers` is let in or refused by that alone."""
    auth = table.auth
    if auth is not None and auth.type is not None:
        return auth.type
    if auth is not None and auth.bearer is not None:
        return "bearer"
    return "none" if auth is None and _has_authorization(table) else "oauth"


def _has_authorization(table: ServerTable) -> bool:
    return any(name.lower() == "authorization" for name in table.headers)
