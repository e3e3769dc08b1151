"""Shapes of requests and answers about tool servers in the console's API: lists, tools by name, decisions on held back definitions."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.console.definition_diff import Line
from gatewright.console.server_facts import ServerRow
from gatewright.servers.states import State

__all__ = ["Accepting", "Held", "Listing", "OfTool", "Refusing", "ServerPage"]


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which servers, and in which order."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """A part of the id."""
    state: State | Literal[""] = ""
    sort: Literal["id", "state", "tools", "tokens", "restarts", "held"] = "id"
    desc: bool = False
    after: Annotated[str, Meta(max_length=500)] = ""
    """Where the page before ended: its `next`."""
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class ServerPage(msgspec.Struct, frozen=True, kw_only=True):
    """One page of servers."""

    servers: list[ServerRow]
    total: int
    """Of all servers that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


class OfTool(msgspec.Struct, frozen=True, kw_only=True):
    """A tool by its server's own name for it."""

    tool: Annotated[str, Meta(max_length=512)]


class Accepting(msgspec.Struct, frozen=True, kw_only=True):
    """A tool, and the digest of the definition that was looked at."""

    tool: Annotated[str, Meta(max_length=512)]
    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class Refusing(msgspec.Struct, frozen=True, kw_only=True):
    """A tool that is to be hidden, and why."""

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
