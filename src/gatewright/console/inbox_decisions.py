"""Operations of the console's API about requests for approval: list, show, compare edited arguments, approve, deny, decide on several."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval, CannotDecideError, Voter
from gatewright.approvals.shown_arguments import canonical
from gatewright.console.approval_details import ApprovalDetails, Detail, Waiting, waiting
from gatewright.console.definition_diff import Line, difference
from gatewright.console.dependencies import Dependencies
from gatewright.console.inbox_list import PAGE, Where, requests_of
from gatewright.console.operations import ApiError, Asking, Operation, decide, see
from gatewright.console.people import Person

__all__ = [
    "ApprovalDecisions",
    "Batch",
    "Decided",
    "Decision",
    "Difference",
    "Edited",
    "LookedAt",
    "WaitingPage",
    "said_of",
]

_STATES = {"unknown": 404, "own": 403, "voted": 409, "keyless": 403, "edited": 409, "over": 409}


class Decision(msgspec.Struct, frozen=True, kw_only=True):
    """An approval, or a denial with its reason."""

    digest: str = ""
    """That of the arguments which were looked at. An approval needs it."""
    scope: Literal["once", "arguments"] = "once"
    """`arguments`: these arguments again and again, for `minutes`."""
    minutes: Annotated[int, Meta(ge=1, le=10_080)] = 60
    edited: Annotated[str, Meta(max_length=65_536)] = ""
    """Other arguments, a JSON object: they run instead, and are judged like any others."""
    comment: Annotated[str, Meta(max_length=500)] = ""
    """For the record; of a denial, for the caller too."""


class Edited(msgspec.Struct, frozen=True, kw_only=True):
    """Other arguments."""

    edited: Annotated[str, Meta(max_length=65_536)]
    """A JSON object."""


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """How other arguments differ from those that were asked with."""

    edited: str
    """In the one form of JSON in which they would run."""
    digest: str
    """Of the arguments that were compared with; the approval names it."""
    lines: list[Line]
    """Empty where they are the same."""


class LookedAt(msgspec.Struct, frozen=True):
    """A request of which the arguments with this digest were looked at."""

    id: str
    digest: str = ""


class Batch(msgspec.Struct, frozen=True, kw_only=True):
    """One decision on several requests."""

    of: Annotated[list[LookedAt], Meta(min_length=1, max_length=PAGE)]
    approve: bool
    comment: Annotated[str, Meta(max_length=500)] = ""


class Decided(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one request of several."""

    id: str
    state: str = ""
    problem: str = ""
    """Why it could not be decided."""


class WaitingPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of what waits."""

    approvals: list[Waiting]
    next: str
    """`after` of the next page; empty where this is the last."""


class ApprovalDecisions:
    """What can be done about them."""

    def __init__(self, parts: Dependencies, queue: ApprovalQueue, details: ApprovalDetails) -> None:
        self._queue = queue
        self._changes = parts.changes
        self._details = details
        self.operations: Sequence[Operation] = (
            see(
                "inbox.list",
                "/approvals",
                "List what waits for a person",
                self.all,
                takes=Where,
                gives=WaitingPage,
            ),
            see(
                "inbox.show",
                "/approvals/{id}",
                "Show what is known of one request",
                self.show,
                gives=Detail,
            ),
            decide(
                "inbox.compare",
                "/approvals/{id}/difference",
                "Compare other arguments with those that were asked with",
                self.compare,
                takes=Edited,
                gives=Difference,
                reads=True,
            ),
            decide(
                "inbox.approve",
                "/approvals/{id}/approve",
                "Approve one request",
                self.approve,
                takes=Decision,
                gives=Waiting,
            ),
            decide(
                "inbox.deny",
                "/approvals/{id}/deny",
                "Deny one request",
                self.deny,
                takes=Decision,
                gives=Waiting,
            ),
            decide(
                "inbox.decide",
                "/approvals/decisions",
                "Approve or deny several requests",
                self.decide,
                takes=Batch,
                gives=list[Decided],
            ),
        )

    async def all(self, asking: Asking) -> WaitingPage:
        """Oldest first, unless another order is asked for. Raises `ApiError`."""
        found, next_page = requests_of(self._details.lists, asking.given)
        return WaitingPage(approvals=[waiting(one) for one in found], next=next_page)

    async def show(self, asking: Asking) -> Detail:
        """Raises `ApiError`."""
        one = self._queue.get(asking.path["id"])
        if one is None:
            raise _unknown()
        return self._details.of(one)

    async def compare(self, asking: Asking) -> Difference:
        """Raises `ApiError`."""
        one = self._pending(asking.path["id"])
        edited = asking.given.edited
        if one.unseen:
            raise ApiError(409, "not_shown", f"nothing can be compared: {one.unseen}")
        try:
            said, lines = await asyncio.to_thread(_differ, one.arguments, edited)
        except ValueError as problem:
            raise ApiError(422, "invalid", str(problem), "write a JSON object") from None
        changed = any(line.kind != "same" for line in lines)
        return Difference(edited=said, digest=one.runs, lines=lines if changed else [])

    async def approve(self, asking: Asking) -> Waiting:
        """Raises `ApiError`."""
        return waiting(self._approve(asking.person, asking.path["id"], asking.given))

    async def deny(self, asking: Asking) -> Waiting:
        """Raises `ApiError`."""
        return waiting(self._deny(asking.person, asking.path["id"], asking.given.comment))

    async def decide(self, asking: Asking) -> list[Decided]:
        """Each by itself: one that cannot be decided on keeps none of the others from it."""
        given: Batch = asking.given
        found = []
        for one in given.of:
            try:
                if given.approve:
                    decision = Decision(digest=one.digest, comment=given.comment)
                    state = self._approve(asking.person, one.id, decision).state
                else:
                    state = self._deny(asking.person, one.id, given.comment).state
                found.append(Decided(id=one.id, state=state))
            except ApiError as problem:
                found.append(Decided(id=one.id, problem=problem.message))
            await asyncio.sleep(0)  # each waits for the disk
        return found

    def _approve(self, by: Person, id: str, given: Decision) -> Approval:
        one = self._pending(id)
        if one.unseen and not given.edited:
            said = f"it is not approved here: {one.unseen}"
            raise ApiError(409, "not_shown", said, "deny it, or have it asked for in smaller parts")
        if given.digest != one.runs:
            raise ApiError(
                409,
                "not_shown",
                "the arguments are not those that were looked at",
                "look at them again",
            )
        return self._decided(
            lambda: self._queue.decide(
                id,
                True,
                by=Voter(by.id, by.key),
                seen=one.arguments,
                comment=given.comment,
                edited=given.edited,
                scope=given.scope,
                lasts_s=None if given.scope == "once" else given.minutes * 60.0,
            )
        )

    def _deny(self, by: Person, id: str, why: str) -> Approval:
        self._pending(id)
        if not why.strip():
            raise ApiError(422, "no_reason", "a denial needs a reason", "say why, in a sentence")
        voter = Voter(by.id, by.key)
        return self._decided(lambda: self._queue.decide(id, False, by=voter, seen="", comment=why))

    def _pending(self, id: str) -> Approval:
        one = self._queue.get(id)
        if one is None:
            raise _unknown()
        if one.state != "pending":
            by = f" by {one.by}" if one.by else ""
            raise ApiError(409, "over", f"it is {said_of(one)} already{by}")
        return one

    def _decided(self, decide: Callable[[], Approval]) -> Approval:
        try:
            found = decide()
        except CannotDecideError as problem:
            raise ApiError(_STATES[problem.why], problem.why, str(problem)) from None
        except ValueError as problem:
            raise ApiError(422, "invalid", str(problem)) from None
        self._changes.tell("inbox", "audit")
        return found


def _differ(arguments: str, edited: str) -> tuple[str, list[Line]]:
    """Other arguments in their one form, and how they differ. Raises `ValueError`."""
    said = canonical(edited)
    return said, difference(canonical(arguments), said)


def said_of(one: Approval) -> str:
    """What became of a request, in a word."""
    return "approved" if one.state == "used" else one.state


def _unknown() -> ApiError:
    return ApiError(404, "not_found", "there is no such request")
