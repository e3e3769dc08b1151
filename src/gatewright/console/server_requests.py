"""Console types for tool servers: list query, page, `TABLE` columns; requests to accept, refuse, hide a tool; a held definition's diff."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.console.definition_diff import Line
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.server_facts import ServerRow
from gatewright.console.whole_texts import Proof
from gatewright.servers.states import State

__all__ = ["TABLE", "Accepting", "Held", "Hiding", "Listing", "OfTool", "Refusing", "ServerPage"]


class Listing(Paged, frozen=True, kw_only=True):
    """Which servers, and in which order."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """A part of the id."""
    state: State | Literal[""] = ""
    sort: Literal[
        "id", "state", "running", "p95", "errors", "tools", "tokens", "restarts", "held"
    ] = "id"


class ServerPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of servers."""

    servers: list[ServerRow]
    total: int
    """Of all servers that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


TABLE: Table[ServerRow] = Table(
    "/servers",
    Listing,
    (
        Column("Server", "id", lambda one: ""),
        Column("State", "state", lambda one: one.state),
        Column("Protocol"),
        Column("Running", "running", lambda one: one.running, numeric=True),
        Column("p95", "p95", lambda one: one.load.p95_ms or 0.0, numeric=True),
        Column("Errors", "errors", lambda one: one.load.error_rate, numeric=True),
        Column("Tools", "tools", lambda one: one.tools, numeric=True),
        Column("Tokens", "tokens", lambda one: one.tokens, numeric=True),
        Column("Own restarts", "restarts", lambda one: one.restarts, numeric=True),
        Column("Held back", "held", lambda one: one.held, numeric=True),
    ),
    lambda one: one.id,
    lambda one, asked: asked.q.casefold() in one.id.casefold() and asked.state in ("", one.state),
)
"""The list of servers."""


class OfTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by its server's own name for it."""

    tool: Annotated[str, Meta(max_length=512)]


class Accepting(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, and the digest of the definition that was looked at."""

    tool: Annotated[str, Meta(max_length=512)]
    digest: Annotated[str, Meta(min_length=64, max_length=64)]
    whole: Proof = ""
    """That all of it was shown: the proof of its last page, where it is longer than one."""


class Refusing(Accepting, frozen=True, kw_only=True):
    """The same, and why it stays held back."""

    reason: Annotated[str, Meta(min_length=1, max_length=500)]


class Hiding(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is to be hidden from everybody, and why."""

    tool: Annotated[str, Meta(max_length=512)]
    reason: Annotated[str, Meta(min_length=1, max_length=500)]


class Held(msgspec.Struct, frozen=True, kw_only=True):
    """A tool's definition as it was accepted and as it is now, line by line."""

    server: str
    tool: str
    standing: str
    why: str
    digest: str
    lines: list[Line]
    whole: bool
    """Whether one page shows all of that; if not, it is accepted where its last page was shown."""
    by: str = ""
    """Who accepted it, or left it held back."""
