"""Operations of the console's API about signing in: make a one-time URL, list who is signed in, end a session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.audit.records import Actor
from gatewright.command_text import to_type
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.operations import ApiError, Asking, Operation
from gatewright.console.sessions import ConsoleSession

__all__ = ["TABLE", "SignInPage", "SignInUrl", "SignIns", "SignInsAsked", "SignedIn"]


class SignInUrl(msgspec.Struct, frozen=True):
    """A URL that opens the console once."""

    url: str


class SignInsAsked(Paged, frozen=True, kw_only=True):
    """Whose sessions, in which order: the latest first unless said otherwise."""

    person: Annotated[str, Meta(max_length=500)] = ""
    sort: Literal["person", "role", "via", "began", "used"] = "began"


class SignedIn(msgspec.Struct, frozen=True, kw_only=True):
    """One session of the console. Times are Unix seconds."""

    id: str
    person: str
    role: str
    via: str
    began: float
    used: float
    address: str
    """Empty, as is `user_agent`, of others' sessions for whoever is no operator."""
    user_agent: str


class SignInPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some sessions."""

    signed_in: list[SignedIn]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where this is the last."""


TABLE: Table[SignedIn] = Table(
    "/sessions/signed-in",
    SignInsAsked,
    (
        Column("Person", "person", lambda one: one.person),
        Column("Role", "role", lambda one: one.role),
        Column("By", "via", lambda one: one.via),
        Column("Since", "began", lambda one: one.began, falls=True),
        Column("Last used", "used", lambda one: one.used, falls=True),
        Column("From"),
    ),
    lambda one: one.id,
    lambda one, asked: asked.person in ("", one.person),
)
"""The list of who is signed in."""


class SignIns:
    """What can be done about sessions."""

    def __init__(self, parts: Dependencies, base: str) -> None:
        """`base` is the URL at which people reach the console."""
        self._parts = parts
        self._base = base
        self.operations: Sequence[Operation] = (
            Operation(
                name="sign_in_urls.make",
                method="POST",
                path="/sign-in-urls",
                power="see",
                summary="Make a URL that opens the console once, as whoever asks",
                run=self.make,
                gives=SignInUrl,
            ),
            Operation(
                name="sign_ins.list",
                method="GET",
                path="/sign-ins",
                power="see",
                summary="List who is signed in to the console",
                run=self.all,
                takes=SignInsAsked,
                gives=SignInPage,
            ),
            Operation(
                name="sign_ins.end",
                method="DELETE",
                path="/sign-ins/{id}",
                power="change",
                summary="End a session of the console",
                run=self.end,
                gives=SignedIn,
            ),
        )

    async def make(self, asking: Asking) -> SignInUrl:
        """A URL for whoever shows a key. A session makes none: it would outlast its own end. Raises `ApiError`."""
        if asking.person.via != "api":
            raise ApiError(
                403,
                "key_needed",
                "only whoever shows an operator's key gets such a URL",
                f"run {to_type('console')}",
            )
        person = msgspec.structs.replace(asking.person, via="url")
        return SignInUrl(f"{self._base}/open#{self._parts.sessions.token_for(person)}")

    async def all(self, asking: Asking) -> SignInPage:
        """Where somebody else sits, and with what, an operator may know, who may end it. Raises `ApiError`."""
        me = asking.person
        found = [
            _shown(one, whole=me.may("change") or me.id == one.person.id)
            for one in self._parts.sessions.all()
        ]
        rows, total, more = await TABLE.page(found, asking.given)
        return SignInPage(signed_in=rows, total=total, next=more)

    async def end(self, asking: Asking) -> SignedIn:
        """Raises `ApiError`."""
        ended = self._parts.sessions.end(asking.path["id"])
        if ended is None:
            raise ApiError(404, "not_found", "there is no such session")
        found = _shown(ended, whole=True)
        self._parts.sessions.end_tokens(found.person)
        self._parts.ground.audit.event(
            "dev.gatewright.console.session_ended",
            actor=Actor("operator", asking.person.id),
            details={"of": found.person, "role": found.role},
        )
        self._parts.changes.tell("sessions")
        return found


def _shown(one: ConsoleSession, *, whole: bool) -> SignedIn:
    return SignedIn(
        id=one.id,
        person=one.person.id,
        role=one.person.role,
        via=one.person.via,
        began=one.began,
        used=one.used,
        address=one.address if whole else "",
        user_agent=one.user_agent if whole else "",
    )
