"""Table of hosts' configuration dialects (placeholder syntax, timeout units, default transport), and detection of an entry map's dialect.

Keys that only one host has need no table: whoever reads an entry asks for all spellings at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from gatewright.hosts.model import Transport
from gatewright.hosts.placeholders import Syntax

__all__ = ["DIALECTS", "TRANSPORTS", "Dialect", "dialect_of"]

TRANSPORTS: Mapping[str, Transport] = {
    "stdio": "stdio",
    "local": "stdio",
    "http": "http",
    "https": "http",
    "streamable-http": "http",
    "streamable_http": "http",
    "streamableHttp": "http",
    "streamablehttp": "http",
    "streamable": "http",
    "remote": "http",
    "sse": "sse",
}
"""How hosts spell a transport → ours."""

Timeout = tuple[Literal["connect_s", "call_s"], float | None]
"""Which of our timeouts a key is, and its unit in seconds; None where hosts of this dialect disagree."""


class Dialect(msgspec.Struct, frozen=True, kw_only=True):
    """The meaning that is not in the text. `bare_url` is what a `url` without a type stands for."""

    format: str
    syntaxes: tuple[Syntax, ...] = ("braces",)
    bare_url: Transport = "http"
    timeouts: Mapping[str, Timeout] = msgspec.field(
        default_factory=lambda: {"timeout": ("call_s", None)}
    )


_ANY = Dialect(format="mcpServers")

DIALECTS: Mapping[str, Dialect] = {
    dialect.format: dialect
    for dialect in (
        _ANY,
        Dialect(format="claude-code"),
        Dialect(format="windsurf"),
        Dialect(format="inspector"),
        Dialect(format="amp"),
        Dialect(format="vscode"),
        Dialect(format="cline", timeouts={"timeout": ("call_s", 1.0)}),
        Dialect(format="roo", timeouts={"timeout": ("call_s", 1.0)}),
        Dialect(format="kiro", timeouts={"timeout": ("call_s", 0.001)}),
        Dialect(
            format="gemini",
            syntaxes=("braces", "dollar"),
            bare_url="sse",
            timeouts={"timeout": ("call_s", 0.001)},
        ),
        Dialect(
            format="codex",
            # It replaces nothing: a `${X}` there is the text `${X}`.
            syntaxes=(),
            timeouts={
                "startup_timeout_sec": ("connect_s", 1.0),
                "startup_timeout_ms": ("connect_s", 0.001),
                "tool_timeout_sec": ("call_s", 1.0),
            },
        ),
        Dialect(
            format="opencode",
            syntaxes=("prefixed",),
            timeouts={"timeout": ("connect_s", 0.001)},
        ),
        Dialect(format="zed", syntaxes=()),
        Dialect(format="goose", timeouts={"timeout": ("call_s", 1.0)}),
        Dialect(
            format="continue",
            syntaxes=("templates", "braces"),
            timeouts={"connectionTimeout": ("connect_s", 0.001)},
        ),
    )
}
"""Format → dialect. `mcpServers` is what many hosts write alike."""

_OF_HOST = {"copilot": "mcpServers", "antigravity": "windsurf"}


def dialect_of(entries: Mapping[str, Any], host: str = "") -> Dialect:
    """The dialect of a map called `mcpServers`: what the host is known to write, else what only one writes."""
    if known := DIALECTS.get(_OF_HOST.get(host, host)):
        return known
    keys: set[str] = set()
    types: set[str] = set()
    for entry in list(entries.values())[:1000]:
        if isinstance(entry, dict):
            keys.update(key for key in entry if isinstance(key, str))
            types.add(str(entry.get("type")) if isinstance(entry.get("type"), str) else "")
    for mark, name in _MARKS.items():
        if mark in keys:
            return DIALECTS[name]
    # Both Cline and Roo Code write these; of the two only Roo Code spells the transport `streamable-http`.
    if keys & {"autoApprove", "alwaysAllow"}:
        return DIALECTS["roo" if "alwaysAllow" in keys and "streamable-http" in types else "cline"]
    return _ANY


_MARKS = {
    "httpUrl": "gemini",
    "trust": "gemini",
    "protocolEra": "inspector",
    "serverUrl": "windsurf",
}
"""A key that only one host writes → its dialect."""
