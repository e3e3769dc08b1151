"""Console types for rooms: list, messages, proposals, decisions, stopping an agent; `ROOMS`, their list with columns and filter."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.console.lists import Column, Paged, Table
from gatewright.console.room_seats import Line, ProposalCard
from gatewright.console.whole_texts import Proof
from gatewright.rooms.participants.rules import Rule

__all__ = [
    "ROOMS",
    "RoomDecision",
    "RoomList",
    "RoomMessage",
    "RoomQuery",
    "RoomRow",
    "RoomStop",
    "RoomsAsked",
    "RoomsPage",
    "Stopped",
    "Talk",
]

Topic = Annotated[str, Meta(min_length=1, max_length=128)]
Reason = Annotated[str, Meta(max_length=500)]


class RoomQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Which room."""

    topic: Annotated[str, Meta(max_length=128)] = ""
    after: Annotated[str, Meta(max_length=2000)] = ""
    """Where the page of proposals before this one ended: its `next`."""


class RoomsAsked(Paged, frozen=True, kw_only=True):
    """Which rooms, in which order."""

    find: Annotated[str, Meta(max_length=128)] = ""
    """A part of the name."""
    access: Literal["", "public", "restricted", "private"] = ""
    sort: Literal["topic", "here", "access"] = "topic"


class RoomsPage(RoomsAsked, frozen=True, kw_only=True):
    """The same, or one room."""

    topic: Annotated[str, Meta(max_length=128)] = ""


class RoomMessage(msgspec.Struct, frozen=True, kw_only=True):
    """What to say."""

    topic: Topic
    text: Annotated[str, Meta(max_length=8_000)] = ""
    about: Annotated[str, Meta(max_length=256)] = ""
    """The message that it is about."""


class RoomDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What becomes of a proposal."""

    topic: Topic
    proposal: Annotated[str, Meta(min_length=1, max_length=256)]
    do: Literal["approve", "reject"]
    reason: Reason = ""
    """A rejection needs one."""
    digest: Annotated[str, Meta(max_length=64)] = ""
    """Of the proposal that was looked at. An approval needs it."""
    whole: Proof = ""
    """Of an approval: the proof that all was shown, where what is asked for is longer than a page."""


class RoomStop(msgspec.Struct, frozen=True, kw_only=True):
    """Whom to stop, and why."""

    agent: Annotated[str, Meta(min_length=1, max_length=256)]
    reason: Reason = ""


class RoomRow(msgspec.Struct, frozen=True, kw_only=True):
    """One room."""

    topic: str
    participants: Sequence[str]
    """The first of those who are there, by name."""
    here: int
    access: str
    """`public`, `restricted` or `private`."""


class RoomList(msgspec.Struct, frozen=True, kw_only=True):
    """Some rooms."""

    rooms: list[RoomRow]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""


ROOMS: Table[RoomRow] = Table(
    "/rooms",
    RoomsAsked,
    (
        Column("Room", "topic", lambda one: one.topic),
        Column("Here", "here", lambda one: one.here, numeric=True),
        Column("Who"),
        Column("Access", "access", lambda one: one.access),
    ),
    lambda one: one.topic,
    lambda one, asked: asked.find in one.topic and asked.access in ("", one.access),
)
"""The list of rooms."""


class Talk(msgspec.Struct, frozen=True, kw_only=True):
    """One room. Nothing of what is said is stored: talk and proposals begin when you came."""

    topic: str
    joined: bool
    """Whether you sit there."""
    here: int
    """How many are there."""
    participants: Mapping[str, Sequence[str]]
    """The first of them by name, and what they may send."""
    messages: Sequence[Line]
    proposals: Sequence[ProposalCard]
    """The newest first, one page of them."""
    next: str
    """`after` of the page with older proposals; empty where there is none."""
    rules: Sequence[Rule]
    """Those by which its orchestrator decides, with their evidence."""
    stopped: Mapping[str, str]
    """Whom it listens to no more, and why."""


class Stopped(msgspec.Struct, frozen=True):
    """What was ended."""

    agent: str
    keys: int
    places: int
