"""Settings of `[agents.NAME]`: role, trust, resources, permissions that limit a caller besides its key; its pinned tools; validates them.

Both hold. So an operator can bound everybody (`[agents."*"]`), the host of whoever starts the gateway
(`local`), callers without a key (`anonymous`) or the user of a token, whatever their credentials say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import Meta

from gatewright.call import Trust, UserContext
from gatewright.config.bounds import Name
from gatewright.config.check import Report, read_table
from gatewright.config.toml_positions import KeyPath
from gatewright.mcp.wire.permissions import held_permission
from gatewright.validators.resources import flaw_of_pattern

__all__ = ["Agent", "build_agents", "read_permissions"]

_PERMISSIONS = (
    'write one of MGP\'s ("filesystem.read"), "ToolInvoke(server/tool)", "ToolRead(server/*)", '
    '"ToolsListAll", "AdminRead" or "AdminWrite"'
)


class Agent(msgspec.Struct, frozen=True, kw_only=True):
    """What holds for one caller besides the attributes of its key or token; both hold.

    `NAME` is the name in the agent's key, `local` (the user at the command line, and hosts without a name), the name of a
    host (`cursor`), `anonymous`, or `"*"` for all callers. It does not apply to operators.
    """

    role: Name | None = None
    """A word for people and for the record; it gives no rights."""
    trust_level: Trust | None = None
    """How far the caller is trusted: `untrusted` calls only tools that the operator, or a server that the operator trusts,
    calls `safe`, `community` none that is dangerous, `verified` and `system` any. `verified` unless set."""
    allowed_resources: tuple[Name, ...] = ()
    """Patterns of the only paths and URIs that its calls may name; any unless set."""
    permissions: tuple[Name, ...] = ()
    """All that it may hold: `ToolInvoke(NAME)`, `ToolRead(NAME)`, `ToolsListAll`, `AdminRead` and `AdminWrite` decide which
    tools there are for it, `filesystem.read` and the others of MGP §3.2 which permissions."""
    pinned: Annotated[tuple[Name, ...], Meta(max_length=100)] = ()
    """The tools that are always in its context (MGP §16.7), as `server/tool`; lists have them whatever `expose` says. Those of
    `"*"` come after them."""

    @property
    def context(self) -> UserContext:
        """The same in the words of everybody else."""
        return UserContext(
            self.role or "", self.trust_level, self.allowed_resources, self.permissions
        )


def build_agents(reports: Sequence[Report]) -> dict[str, Agent]:
    """Name → what is said, with canonical permissions. The first document that names a caller decides."""
    found: dict[str, Agent] = {}
    for report in reports:
        tables = report.document.data.get("agents", {})
        if not isinstance(tables, dict):
            report.error(("agents",), "agents are tables", "write [agents.NAME]")
            continue
        for name, value in tables.items():
            path = ("agents", name)
            table = Agent(**(read_table(value, Agent, path, report) or {}))
            for pattern in table.allowed_resources:
                if flaw := flaw_of_pattern(pattern):
                    at = (*path, "allowed_resources")
                    report.error(at, flaw, 'write whole paths and URIs, for example "/srv/data/**"')
            held = read_permissions(table.permissions, (*path, "permissions"), report)
            # Whole entries, as of servers: half of one file and half of another would be a rule that nobody wrote.
            found.setdefault(name, msgspec.structs.replace(table, permissions=held))
    return found


def read_permissions(names: Sequence[str], path: KeyPath, report: Report) -> tuple[str, ...]:
    """What a caller may hold, in canonical spelling, each once."""
    found: dict[str, None] = {}
    for name in names:
        held = held_permission(name)
        if held is None:
            report.error(path, f'"{name}" is not a permission', _PERMISSIONS)
        else:
            found[held] = None
    return tuple(found)
