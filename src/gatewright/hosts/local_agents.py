"""Bearer credentials by which MCP hosts of this machine count as agents: makes `TOKEN~cursor` (local token, host id), maps them to callers.

A host that reaches the gateway without a key shows the gateway's local token, or rather `gatewright bridge` does for it.
Behind the token may stand which host that is, `TOKEN~cursor`: then it is the agent `cursor` in grants, limits, approvals and
the record. Only names of the table of hosts count, so that nobody becomes `build-bot`, which has a key, by saying so.
This tells hosts apart that are told apart by whoever wrote their entries; a program of the same user can read the token and
say any of these names (decision 0047).
"""

from __future__ import annotations

from collections.abc import Mapping

from gatewright.call import Caller
from gatewright.hosts.host_table import HOSTS

__all__ = ["AGENTS", "check", "credential", "credentials"]

AGENTS: Mapping[str, Caller] = {id: Caller(id, "owner") for id in HOSTS}
"""Id of a host → the agent that it is without a key."""

_MARK = "~"  # of the characters of a bearer token (RFC 6750 §2.1) one that no token of ours has


def check(host: str) -> str:
    """The id of a host as it was said. Raises `ValueError` where the table has none of that id."""
    if host not in AGENTS:
        raise ValueError(f"{host!r} is no host; these are: {', '.join(AGENTS)}")
    return host


def credential(token: str, host: str) -> str:
    """What a program shows that serves this host. Raises `ValueError`."""
    return f"{token}{_MARK}{check(host)}"


def credentials(token: str) -> dict[str, Caller]:
    """All that may be shown with this local token and a name, and whom it makes of the caller."""
    return {f"{token}{_MARK}{id}": caller for id, caller in AGENTS.items()}
