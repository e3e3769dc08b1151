"""Flattens settings to dotted keys with origin, defaults included and secrets masked, for the `config` commands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.cli.log_lines import clean
from gatewright.config import Settings
from gatewright.patterns import Pattern
from gatewright.secret_scanning.names import is_secret_name

__all__ = ["origin_of", "text_of", "values_of"]

_SECRET = ("env", "headers", "credentials")
_ADDRESSES = ("url", "openapi", "base_url")
_SECRET_AUTH = ("client_secret", "bearer")
_REFERENCE = Pattern(r"(?:Bearer )?\$\{(?:(?:env|secret|file):)?[^:{}]+\}")
_HIDDEN = {"origin", "problem", "written"}
_NO_TABLES = {"servers", "accepted", "grants", "files", "warnings", "origins", "form", "rooms"}
_NO_TABLES |= {"own"}


def values_of(settings: Settings) -> dict[str, Any]:
    """Dotted key → value."""
    return dict(_flat(_document_of(settings)))


def _document_of(settings: Settings) -> dict[str, Any]:
    """The settings as plain values, servers under their ids."""
    found: dict[str, Any] = {
        name: msgspec.to_builtins(getattr(settings, name), enc_hook=str)
        for name in settings.__struct_fields__
        if name not in _NO_TABLES
    }
    found["servers"] = {
        server.id: _server(msgspec.to_builtins(server, enc_hook=str)) for server in settings.servers
    }
    embedder = found["discovery"]["embedder"]
    embedder["key"] = _masked(embedder["key"]) if embedder["key"] else ""
    embedder["url"] = clean(embedder["url"])
    found["approvals"]["webhook"] = clean(found["approvals"]["webhook"])
    found["audit"]["sinks"] = [{**one, **_sink(one)} for one in found["audit"]["sinks"]]
    if settings.protocol is not None:
        found["protocol"]["audit"] = _protocol_audit(found["protocol"]["audit"])
    if settings.rooms is not None:
        found["rooms"] = msgspec.to_builtins(settings.rooms.table, enc_hook=str)
    found["grants"] = [msgspec.to_builtins(grant, enc_hook=str) for grant in settings.grants]
    return found


def _server(values: dict[str, Any]) -> dict[str, Any]:
    """Without what may be secret: what is substituted is shown as the file writes it."""
    masked = {key: dict.fromkeys(values[key], "***") for key in _SECRET}
    secrets = {key: "***" for key in _SECRET_AUTH if values["auth"][key]}
    masked["auth"] = {**values["auth"], **secrets}
    problem = values.get("problem")
    shown = {key: value for key, value in values.items() if key not in _HIDDEN} | masked
    shown["args"] = _arguments(shown["args"])
    shown |= {key: clean(shown[key]) for key in _ADDRESSES if shown[key]}
    for key, text in values["written"].items():
        name, _, inner = key.partition(".")
        if not inner:
            shown[name] = text
        elif name == "args":
            # As the file writes it; `_arguments` has cleaned the value that stood here.
            shown[name][int(inner) : int(inner) + 1] = [text]
        elif _REFERENCE.fullmatch(text):  # anything else may have a secret beside it
            shown[name][inner] = text
    return shown if problem is None else shown | {"stays_down": problem["what"]}


def _sink(values: dict[str, Any]) -> dict[str, Any]:
    """What of a sink may be secret: a reference is shown as it is written, a value is not."""
    headers = {name: _masked(value) for name, value in values["headers"].items()}
    dsn = _masked(values["dsn"]) if values["dsn"] else ""
    return {"headers": headers, "dsn": dsn, "url": clean(values["url"])}


def _protocol_audit(values: dict[str, Any]) -> dict[str, Any]:
    """The same of the sinks that `[mcp.protocol.audit]` names."""
    sinks = values["sinks"]
    url = _masked(sinks["database_url"]) if sinks["database_url"] else ""
    shown = {**sinks, "database_url": url, "remote_endpoint": clean(sinks["remote_endpoint"])}
    return {**values, "alert_webhook": clean(values["alert_webhook"]), "sinks": shown}


def _masked(text: str) -> str:
    return text if _REFERENCE.fullmatch(text) else "***"


def _arguments(written: Sequence[str]) -> list[str]:
    """Arguments without what looks like a secret in them, or stands behind an option that takes one."""
    before = ("", *written)
    return [
        "***" if option.startswith("-") and is_secret_name(option) else clean(one)
        for option, one in zip(before, written, strict=False)
    ]


def _flat(value: Any, key: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted key, value) of every leaf; lists of plain values are leaves."""
    if isinstance(value, Mapping) and value:
        for name, inner in value.items():
            if name not in _HIDDEN:
                yield from _flat(inner, f"{key}.{name}" if key else str(name))
    elif isinstance(value, list | tuple) and any(isinstance(one, Mapping) for one in value):
        for number, inner in enumerate(value):
            yield from _flat(inner, f"{key}.{number}")
    else:
        yield key, value


def origin_of(settings: Settings, key: str) -> str | None:
    """File and line where a key was written, None for a default."""
    found = settings.origins.get(key)
    return None if found is None else str(found)


def text_of(value: Any) -> str:
    """A value for a cell of a table."""
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value))
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value in (None, {}) else str(value)
