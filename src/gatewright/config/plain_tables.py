"""`PlainTables`: base struct of `FileTable` and `Settings` with those tables of `mgp.toml` that need no conversion (`[limits]`, `[audit]`, …)."""

from __future__ import annotations

import msgspec

from gatewright.config.console import Console
from gatewright.config.limits import Discovery, Limits
from gatewright.config.oauth import OAuth
from gatewright.config.oversight import (
    Approvals,
    Audit,
    Flow,
    Permissions,
    Registration,
    Results,
    Telemetry,
)

__all__ = ["PlainTables"]


class PlainTables(msgspec.Struct, frozen=True, kw_only=True):
    """A new table stands here, unless what is written has to be made into something else first."""

    limits: Limits = Limits()
    audit: Audit = Audit()
    approvals: Approvals = Approvals()
    permissions: Permissions = Permissions()
    registration: Registration = Registration()
    telemetry: Telemetry = Telemetry()
    console: Console = Console()
    flow: Flow = Flow()
    results: Results = Results()
    discovery: Discovery = Discovery()
    oauth: OAuth = OAuth()
