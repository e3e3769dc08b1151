"""Generates the JSON Schema of `mgp.toml` (`mgp.schema.json`) from the settings types and their docstrings.

It ships as `mgp.schema.json` beside this module. Its descriptions are the docstrings of the shapes (`reference`), which
docs/configuration repeats too; after a change of one: `scripts/docs configuration`.
"""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import msgspec

from gatewright.config.agents import Agent
from gatewright.config.builtin import Builtin, DirectoryList
from gatewright.config.console import Console, ConsoleOidc
from gatewright.config.embedder import Embedder
from gatewright.config.file_tables import (
    AuthTable,
    FileTable,
    GrantTable,
    MgpTable,
    RestartTable,
    SecretsTable,
    ServerTable,
    StorageTable,
)
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
from gatewright.config.isolation import SandboxTable
from gatewright.config.limits import Calls, Discovery, Limits, Rates
from gatewright.config.model import Gateway, Profile, Redaction, ToolRule
from gatewright.config.oauth import Issuer, OAuth
from gatewright.config.oversight import (
    Approvals,
    Audit,
    AuditSink,
    Flow,
    Permissions,
    Registration,
    Results,
    Telemetry,
)
from gatewright.config.reference import paragraphs, sentences
from gatewright.config.rooms import (
    JwtTable,
    RoomKernelTable,
    RoomOrchestratorTable,
    RoomParticipantTable,
    RoomsTable,
    RoomTopicTable,
)

__all__ = ["FILE", "TABLES", "comment", "rendered", "schema"]

FILE = Path(__file__).with_name("mgp.schema.json")

TABLES: dict[str, type[msgspec.Struct]] = {
    "gateway": Gateway,
    "servers": ServerTable,
    "servers.auth": AuthTable,
    "servers.sandbox": SandboxTable,
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
    "results": Results,
    "discovery": Discovery,
    "discovery.embedder": Embedder,
    "rooms": RoomsTable,
    "rooms.participants": RoomParticipantTable,
    "rooms.topics.NAME": RoomTopicTable,
    "rooms.jwt": JwtTable,
    "permissions": Permissions,
    "registration": Registration,
    "telemetry": Telemetry,
    "console": Console,
    "console.oidc": ConsoleOidc,
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
"""Table as the reference calls it → its shape."""


def comment() -> str:
    """The first line of a file, by which editors find the schema on this machine."""
    return f"#:schema {FILE.as_uri()}\n"


def schema() -> dict[str, Any]:
    """The schema. Raises `KeyError` for a key without a docstring."""
    _, parts = msgspec.json.schema_components([FileTable], ref_template="#/$defs/{name}")
    shapes = {shape.__name__: shape for shape in TABLES.values()}
    for name, part in parts.items():
        part.pop("title", None)
        part["additionalProperties"] = False
        said = _tables() if name == FileTable.__name__ else sentences(shapes[name])
        if name in shapes:
            part["description"] = _plain(paragraphs(shapes[name])[0])
        for key, value in part["properties"].items():
            part["properties"][key] = _tidy(value) | {"description": _plain(said[key])}
    root = parts.pop(FileTable.__name__)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "mgp.toml",
        **root,
        "description": "The configuration of Gatewright: a superset of MGP §15.2.",
        "$defs": parts,
    }


def _tables() -> dict[str, str]:
    """Table of the file → what it is."""
    return {
        name.removesuffix(".NAME"): paragraphs(shape)[0]
        for name, shape in TABLES.items()
        if "." not in name.removesuffix(".NAME")
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
    return text.replace("`", "")


def rendered() -> bytes:
    """What `FILE` has to be."""
    return msgspec.json.format(msgspec.json.encode(schema()), indent=2) + b"\n"
