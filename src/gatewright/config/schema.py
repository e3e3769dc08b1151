"""Generates the JSON Schema of `mgp.toml` (`mgp.schema.json`) from the settings types and docs/configuration.md.

It ships as `mgp.schema.json` beside this module. The words come from docs/configuration.md, so that
an editor shows what the page says; after a change of either:
`python -m gatewright.config.schema docs/configuration.md`.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any

import msgspec

from gatewright.config.agents import Agent
from gatewright.config.builtin import Builtin, DirectoryList
from gatewright.config.groundhog import (
    McpTable,
    Performance,
    Protocol,
    ProtocolAudit,
    ProtocolSinks,
    RateLimits,
    Security,
    Tls,
    Transport,
)
from gatewright.config.model import Calls, Gateway, Limits, Profile, Rates, Redaction, ToolRule
from gatewright.config.oauth import Issuer, OAuth
from gatewright.config.oversight import Approvals, Audit, AuditSink, Flow, Permissions, Telemetry
from gatewright.config.rooms import (
    JwtTable,
    RoomKernelTable,
    RoomOrchestratorTable,
    RoomParticipantTable,
    RoomsTable,
    RoomTopicTable,
)
from gatewright.config.shapes import (
    AuthTable,
    FileTable,
    GrantTable,
    MgpTable,
    RestartTable,
    SecretsTable,
    ServerTable,
    StorageTable,
)
from gatewright.patterns import Pattern

__all__ = ["FILE", "TABLES", "comment", "documented", "main", "schema"]

FILE = Path(__file__).with_name("mgp.schema.json")

TABLES: dict[str, type[msgspec.Struct]] = {
    "gateway": Gateway,
    "servers": ServerTable,
    "servers.auth": AuthTable,
    "servers.tools.NAME": ToolRule,
    "servers.mgp": MgpTable,
    "servers.mgp.restart_policy": RestartTable,
    "grants": GrantTable,
    "profiles.NAME": Profile,
    "agents.NAME": Agent,
    "oauth": OAuth,
    "oauth.issuers": Issuer,
    "limits": Limits,
    "limits.calls": Calls,
    "limits.calls.caller": Rates,
    "audit": Audit,
    "audit.sinks": AuditSink,
    "redaction": Redaction,
    "approvals": Approvals,
    "flow": Flow,
    "rooms": RoomsTable,
    "rooms.participants": RoomParticipantTable,
    "rooms.topics.NAME": RoomTopicTable,
    "rooms.jwt": JwtTable,
    "permissions": Permissions,
    "telemetry": Telemetry,
    "rooms.kernel": RoomKernelTable,
    "rooms.orchestrator": RoomOrchestratorTable,
    "storage": StorageTable,
    "secrets": SecretsTable,
    "builtin": Builtin,
    "builtin.directory_list": DirectoryList,
    "mcp": McpTable,
    "mcp.protocol": Protocol,
    "mcp.protocol.transport": Transport,
    "mcp.protocol.transport.tls": Tls,
    "mcp.protocol.security": Security,
    "mcp.protocol.rate_limits": RateLimits,
    "mcp.protocol.audit": ProtocolAudit,
    "mcp.protocol.audit.sinks": ProtocolSinks,
    "mcp.protocol.performance": Performance,
}
"""Table as the page calls it → its shape."""

_HEADING = Pattern(r"#+ .*?`\[{1,2}([a-z_.A-Z]+)\]{1,2}`")
_ROW = Pattern(r"\| `([a-z_]+)` \|(.*?)\| (.*) \|")
_Words = Mapping[tuple[str, str], tuple[str, str]]


def comment() -> str:
    """The first line of a file, by which editors find the schema on this machine."""
    return f"#:schema {FILE.as_uri()}\n"


def documented(page: str) -> dict[tuple[str, str], tuple[str, str]]:
    """(table, key) → (default, meaning) of every row of a page's tables of keys."""
    found: dict[tuple[str, str], tuple[str, str]] = {}
    table = ""
    for line in page.splitlines():
        if line.startswith("#"):
            heading = _HEADING.match(line)
            table = heading[1] if heading else ""
        elif table and (row := _ROW.fullmatch(line)):
            found[table, row[1]] = (row[2].strip(), row[3])
    return found


def schema(words: _Words) -> dict[str, Any]:
    """The schema, with the meaning of every key from `words`. Raises `KeyError` for a key without."""
    _, parts = msgspec.json.schema_components([FileTable], ref_template="#/$defs/{name}")
    shapes = {shape.__name__: name for name, shape in TABLES.items()}
    for name, part in parts.items():
        part.pop("title", None)
        if "description" in part:  # from Python 3.13 on a docstring is not indented
            part["description"] = cleandoc(part["description"])
        part["additionalProperties"] = False
        for key, value in part["properties"].items():
            tidied = _tidy(value)
            if name in shapes:
                tidied["description"] = _plain(words[shapes[name], key][1])
            part["properties"][key] = tidied
    root = parts.pop(FileTable.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mgp.toml",
        **root,
        "description": "The configuration of Gatewright: a superset of MGP §15.2.",
        "$defs": parts,
    }


def _tidy(value: dict[str, Any]) -> dict[str, Any]:
    """As TOML has it: there is no null, and patterns are those of JSON Schema."""
    found = {key: _inner(one) for key, one in value.items()}
    if isinstance(found.get("default"), dict | list | tuple | None):
        found.pop("default", None)  # says nothing that the shape does not
    if "pattern" in found:
        found["pattern"] = found["pattern"].replace("\\A", "^").replace("\\Z", "$")
    if "examples" in found:
        found["examples"] = [_read(one) for one in found["examples"]]
    options = [one for one in found.pop("anyOf", []) if one != {"type": "null"}]
    if len(options) == 1:
        found = {**options[0], **found}
    elif options:
        found["anyOf"] = options
    return found


def _inner(value: Any) -> Any:
    if isinstance(value, dict):
        return _tidy(value)
    return [_inner(one) for one in value] if isinstance(value, list) else value


def _read(example: Any) -> Any:
    """An example as the file spells it."""
    return tomllib.loads(f"v = {example}")["v"]


def _plain(text: str) -> str:
    return text.replace("`", "").replace("\\|", "|")


def _lines(document: Mapping[str, Any]) -> Iterator[bytes]:
    yield msgspec.json.format(msgspec.json.encode(document), indent=2)
    yield b"\n"


def main(page: str) -> None:
    """Write the schema with the words of a page."""
    words = documented(Path(page).read_text())
    FILE.write_bytes(b"".join(_lines(schema(words))))


if __name__ == "__main__":
    main(sys.argv[1])
