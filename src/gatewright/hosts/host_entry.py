"""Parses one server entry of a host's file, in any host's spelling, into a `Server`, and its auto-approved tools into suggestions."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal
from urllib.parse import urlsplit

from gatewright.hosts.dialects import TRANSPORTS, Dialect
from gatewright.hosts.entry import Entry, literal, plain_text
from gatewright.hosts.model import (
    Auth,
    Isolation,
    Refused,
    Server,
    Suggestion,
    Timeouts,
    Tools,
    Transport,
)
from gatewright.patterns import Pattern

__all__ = ["check_url", "number_text", "read_entry"]

_UNPRINTABLE = Pattern(r"[\x00-\x20\x7f]")
_REFERENCE = Pattern(r"\$\{[^}]*\}")
_VARIABLE = Pattern(r"[A-Za-z_][A-Za-z0-9_]*")
_SCOPE = Pattern(r"[\x21\x23-\x5b\x5d-\x7e]+")
_PROVIDED = {"builtin", "platform", "frontend", "inline_python", "extension", "plugin"}
_IGNORED = (
    "dev",
    "gallery",
    "version",
    "bundled",
    "metadata",
    "icon",
    "iconUrl",
    "faviconUrl",
    "watchPaths",
    "modernLogLevel",
    "roots",
    "required",
    "settings",
)
"""Said for the host alone: its own look, log and debugger."""


def read_entry(entry: Entry, dialect: Dialect) -> tuple[Server, list[Suggestion]]:
    """The server (its id is for the caller to choose) and what was confirmed beforehand. Raises `Refused`."""
    kind = entry.word("type", "transport", "transportType")
    if kind in _PROVIDED or entry.word("source") == "extension":
        raise Refused("the host provides this server itself", "nothing to do", harmless=True)
    entry.raw(*_IGNORED)
    if entry.has("headersHelper"):
        entry.raw("headersHelper")
        raise Refused("headersHelper runs a program", "put the header into a secret")
    command, args = _command(entry)
    url, transport = _url(entry, dialect, kind)
    if not command and not url:
        raise Refused("there is neither a command nor a url", "say how to reach the server")
    transport = _transport(entry, kind, transport, bool(command))
    local = transport == "stdio"
    server = Server(
        id="",
        transport=transport,
        title=literal(entry.word("title", "display_name", "displayName", "description"), "title"),
        command=command if local else "",
        args=args if local else (),
        cwd=entry.text("cwd", "workingDirectory") if local else "",
        env=_env(entry, used=local),
        env_file=entry.text("envFile", "env_file") if local else "",
        url="" if local else url,
        headers={} if local else _headers(entry),
        auth=None if local else _auth(entry),
        timeouts=_timeouts(entry, dialect),
        enabled=_enabled(entry),
        tools=_tools(entry),
        isolation=_isolation(entry),
        era=_era(entry),
    )
    _check(server)
    return server, list(_suggestions(entry))


def number_text(value: float) -> str:
    """A number of seconds as people write it."""
    return f"{value:g}"


def check_url(url: str) -> None:
    """Raises `Refused` for a URL that our file could not hold either. Variables are not looked into."""
    if _UNPRINTABLE.within(url):
        raise Refused("the url has a space or a control character", "correct it")
    if url.startswith("${"):
        return
    try:
        parts = urlsplit(_REFERENCE.sub("x", url))
        usable = parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:
        # A port that is a variable is no number yet.
        usable = url.startswith(("http://", "https://")) and "${" in url
    if not usable:
        raise Refused("the url is none of HTTP", "only http and https can be reached")


def _command(entry: Entry) -> tuple[str, tuple[str, ...]]:
    value = entry.raw("command", "cmd")
    args = entry.texts("args")
    if isinstance(value, dict):
        # What Zed wrote before 2025: {"path": …, "args": […], "env": {…}}.
        inner = Entry(value, syntaxes=entry.syntaxes, meaning=entry.meaning)
        # As if it stood beside the command, where it is read later.
        entry.data = {**entry.data, "env": entry.data.get("env") or value.get("env")}
        return inner.text("path"), inner.texts("args")
    if isinstance(value, list):
        words = entry.texts("command", "cmd")
        return (words[0], (*words[1:], *args)) if words else ("", args)
    return ("" if value is None else entry.said(value, "command")), args


def _url(entry: Entry, dialect: Dialect, kind: str) -> tuple[str, Transport]:
    """The URL and what its key alone says about the transport."""
    if entry.has("httpUrl"):
        # Gemini CLI: beside `httpUrl`, `url` is the older SSE transport of the same server.
        entry.used.add("url")
        return entry.text("httpUrl"), "http"
    if entry.has("url"):
        url = entry.text("url")
        bare = dialect.bare_url
        # Nothing names the transport. Servers of HTTP+SSE (MCP 2024-11-05) are by custom at `/sse`.
        if bare == "http" and not kind and url.partition("?")[0].rstrip("/").endswith("/sse"):
            bare = "sse"
        return url, bare
    return entry.text("serverUrl", "uri", "endpoint"), "http"


def _transport(entry: Entry, kind: str, by_key: Transport, has_command: bool) -> Transport:
    found = TRANSPORTS.get(kind)
    if kind and found is None:
        raise Refused("the type is none of stdio, http and sse", "correct it")
    transport = found or ("stdio" if has_command else by_key)
    if kind == "http" and by_key == "sse":
        transport = "http"
    if transport == "sse":
        entry.note("type", "sse is deprecated since 2025", "ask whether the server speaks http")
    return transport


def _env(entry: Entry, *, used: bool) -> dict[str, str]:
    found = entry.variables("env", "environment", "envs")
    for one in entry.items("env_vars", "env_keys", "envVars"):
        name = one.get("name") if isinstance(one, dict) else one
        if not isinstance(name, str) or not _VARIABLE.fullmatch(name):
            raise Refused("env_vars has something that is no variable's name", "correct it")
        # Only their names are listed: the host hands the values of its own environment on.
        found.setdefault(name, f"${{{name}}}")
    return found if used else {}


def _headers(entry: Entry) -> dict[str, str]:
    found = entry.headers("headers", "http_headers", "httpHeaders")
    options = entry.table("requestOptions")
    if options:
        inner = Entry(options, syntaxes=entry.syntaxes, meaning=entry.meaning)
        found |= inner.headers("headers")
    for name, value in entry.headers("env_http_headers", "envHeaders").items():
        found[name] = f"${{{_named(value, 'env_http_headers')}}}"
    return found


def _named(value: str, key: str) -> str:
    if not _VARIABLE.fullmatch(value):
        raise Refused(f"{key} has something that is no variable's name", "correct it")
    return value


def _auth(entry: Entry) -> Auth | None:
    bearer = entry.text("apiKey", "bearerToken", "bearer_token")
    if variable := entry.word("bearer_token_env_var", "bearerTokenEnvVar"):
        bearer = f"${{{_named(variable, 'bearer_token_env_var')}}}"
    # Cursor calls it auth, with capitals.
    table = entry.table("oauth") or entry.table("auth")
    inner = Entry(table, syntaxes=entry.syntaxes, meaning=entry.meaning)
    scopes = [*inner.words("scopes", "scope"), *entry.words("scopes")]
    auth = Auth(
        bearer=bearer,
        client_id=inner.text("clientId", "client_id", "CLIENT_ID"),
        client_secret=inner.text("clientSecret", "client_secret", "CLIENT_SECRET"),
        scopes=tuple(one for text in scopes for one in text.split() if _SCOPE.fullmatch(one)),
    )
    return auth if auth != Auth() else None


def _timeouts(entry: Entry, dialect: Dialect) -> Timeouts:
    found: dict[str, float] = {}
    for key, (ours, unit) in dialect.timeouts.items():
        value = entry.number(key)
        if value is None:
            continue
        # Nobody waits a quarter of an hour, and nobody less than a second.
        scale = unit or (1.0 if value < 1000 else 0.001)
        found[ours] = min(max(value * scale, 0.001), 86400.0)
        if scale != 1.0 or unit is None:
            was = "ms" if scale != 1.0 else "s"
            what = f"{number_text(value)} {was} is {number_text(found[ours])} s"
            entry.note(key, what, level="converted")
    return Timeouts(**found)


def _enabled(entry: Entry) -> bool:
    """Whether it is on. What is neither true nor false was not meant to start something."""
    for key, on in (("enabled", True), ("disabled", False)):
        value = entry.raw(key)
        if value is None or value is on:
            continue
        if not isinstance(value, bool):
            entry.note(key, "this is neither true nor false", "it stays off: write enabled = true")
        return False
    return True


def _tools(entry: Entry) -> Tools:
    value = entry.data.get("tools")
    listed: tuple[str, ...] | None = None
    for key in ("includeTools", "enabled_tools", "available_tools", "allowedTools"):
        if entry.has(key):
            listed = entry.words(key)
            if not listed and key == "available_tools":  # Goose writes it so where all are meant
                listed = None
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        named = entry.words("tools")
        listed = listed if "*" in named else named
    return Tools(
        include=listed,
        exclude=tuple(
            dict.fromkeys(
                name
                for key in ("excludeTools", "disabled_tools", "disabledTools")
                for name in entry.words(key)
            )
        ),
    )


def _isolation(entry: Entry) -> Isolation:
    if entry.flag("sandboxEnabled") is False:
        # Read, so that it is not reported as unread: the host has it switched off.
        entry.raw("sandbox")
        return Isolation()
    sandbox = entry.table("sandbox")
    if not sandbox:
        return Isolation()
    files, network = Entry(sandbox).table("filesystem"), Entry(sandbox).table("network")
    hosts = Entry(network).words("allowedDomains")
    return Isolation(
        network="hosts" if hosts else None,
        hosts=hosts,
        write=Entry(files, syntaxes=entry.syntaxes, meaning=entry.meaning).texts("allowWrite"),
    )


def _era(entry: Entry) -> Literal["auto", "legacy", "modern"]:
    word = entry.word("protocolEra", "era")
    if word == "legacy":
        return "legacy"
    return "modern" if word == "modern" else "auto"


def _suggestions(entry: Entry) -> Iterator[Suggestion]:
    """What needed no confirmation there."""
    for key in ("autoApprove", "alwaysAllow", "trust"):
        value: Any = entry.raw(key)
        if value is True or value == "*" or (isinstance(value, list) and "*" in value):
            yield Suggestion(server="", tools=("*",), key=key)
        elif isinstance(value, list) and value:
            yield Suggestion(server="", tools=entry.words(key), key=key)
    if entry.word("default_tools_approval_mode") == "approve":
        yield Suggestion(server="", tools=("*",), key="default_tools_approval_mode")
    approved = tuple(
        plain_text(name, "tools")
        for name, rule in (entry.table("tools")).items()
        if isinstance(rule, dict) and rule.get("approval_mode") == "approve"
    )
    if approved:
        yield Suggestion(server="", tools=approved, key="tools")


def _check(server: Server) -> None:
    if server.transport == "stdio":
        if not server.command:
            raise Refused("there is no command", "say what starts the server")
    elif not server.url:
        raise Refused("there is no url", "say how to reach the server")
    elif server.url.startswith(("unix:", "pipe:")):
        raise Refused("the server listens on a socket file or a pipe", "give it an http address")
    else:
        check_url(server.url)
