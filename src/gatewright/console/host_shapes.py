"""Console types for MCP hosts: requests to connect or import (path or text, digest of the shown diff, takeover); page and table `HOSTS`."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.console.lists import Column, Paged, Table
from gatewright.hosts.offered import HostState

__all__ = [
    "HOSTS",
    "Agreed",
    "AgreedFrom",
    "AgreedSome",
    "AgreedTaking",
    "From",
    "HostPage",
    "Hosts",
    "Some",
    "Taking",
]


class Agreed(msgspec.Struct, frozen=True, kw_only=True):
    """The digest of what was shown: exactly that is done."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class Some(msgspec.Struct, frozen=True, kw_only=True):
    """The one server that is meant; empty: all of them."""

    only: Annotated[str, Meta(max_length=200)] = ""


class Taking(msgspec.Struct, frozen=True, kw_only=True):
    """Whether the host's other servers go behind the gateway, too: imported, and out of its file."""

    take_over: bool = False


class AgreedTaking(Agreed, frozen=True, kw_only=True):
    """The same, with the digest of what was shown."""

    take_over: bool = False


class From(Some, frozen=True, kw_only=True):
    """A file on this machine, or what such a file would have in it: exactly one of the two."""

    path: Annotated[str, Meta(max_length=4096)] = ""
    text: Annotated[str, Meta(max_length=200_000)] = ""


class AgreedFrom(From, frozen=True, kw_only=True):
    """The same, with the digest of what was shown."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class AgreedSome(Some, frozen=True, kw_only=True):
    """The same, with the digest of what was shown."""

    digest: Annotated[str, Meta(min_length=64, max_length=64)]


class Hosts(Paged, frozen=True, kw_only=True):
    """Which hosts, in which order."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """A part of the name."""
    state: Literal["", "connected", "beside", "none"] = ""
    """`beside`: it has servers that do not go through the gateway. `none`: it has no file yet."""
    sort: Literal["state", "name", "beside"] = "state"


class HostPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some hosts."""

    hosts: list[HostState]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


def _fits(one: HostState, asked: Hosts) -> bool:
    states = {"connected": one.connected, "beside": bool(one.others), "none": not one.there}
    wanted = asked.q.casefold()
    return wanted in one.title.casefold() and states.get(asked.state, True)


HOSTS: Table[HostState] = Table(
    "/connect",
    Hosts,
    (
        # Those that are connected first, then those that have a file, then those that may have one.
        Column("State", "state", lambda one: 0 if one.connected else 1 if one.there else 2),
        Column("Host", "name", lambda one: ""),
        Column("Bypassing", "beside", lambda one: len(one.others), falls=True),
    ),
    lambda one: (one.title, one.id),
    _fits,
)
"""The list of hosts."""
