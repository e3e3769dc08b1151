"""Screen `inbox`: approvals that wait for a person: list, one opened, approve once or for a time, edit arguments, deny with a reason."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval, CannotDecideError
from gatewright.command_text import to_type
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, Operation
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View

__all__ = ["Decision", "Inbox", "Waiting"]

_STATES = {"unknown": 404, "own": 403, "voted": 409, "keyless": 403, "edited": 409, "over": 409}


class Waiting(msgspec.Struct, frozen=True, kw_only=True):
    """One request that waits. Times are Unix seconds."""

    id: str
    agent: str
    wish: str
    server: str
    tool: str
    risk: str
    reason: str
    arguments: str
    """JSON text, secrets redacted, as they would be sent."""
    digest: str
    """SHA-256 of the arguments; a decision names it, so that nobody agrees to others than were shown."""
    unseen: str
    """What of the arguments nobody can look at; empty where they are whole."""
    requested: float
    expires: float
    quorum: int
    kind: str


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


class Inbox(Screen):
    """What waits, oldest first."""

    name = "inbox"
    title = "Inbox"
    key = "i"

    def __init__(self, parts: Dependencies) -> None:
        queue = parts.ground.of(ApprovalQueue)
        if queue is None:
            raise RuntimeError(
                "the console shows approvals, and the feature approvals is not part of this gateway"
            )
        self._queue = queue
        self._changes = parts.changes
        self.pages = (
            Page(path="/inbox", run=self._page),
            Page(path="/inbox/list", run=self._list_part),
            Page(path="/inbox/{id}", run=self._page),
            Page(
                path="/inbox/{id}/approve",
                run=self._on_form(self.approve),
                method="POST",
                power="decide",
                takes=Decision,
            ),
            Page(
                path="/inbox/{id}/deny",
                run=self._on_form(self.deny),
                method="POST",
                power="decide",
                takes=Decision,
            ),
        )
        self.operations = (
            Operation(
                name="inbox.list",
                method="GET",
                path="/approvals",
                power="see",
                summary="List what waits for a person",
                run=self.waiting,
                gives=list[Waiting],
            ),
            Operation(
                name="inbox.approve",
                method="POST",
                path="/approvals/{id}/approve",
                power="decide",
                summary="Approve one request",
                run=self.approve,
                takes=Decision,
                gives=Waiting,
            ),
            Operation(
                name="inbox.deny",
                method="POST",
                path="/approvals/{id}/deny",
                power="decide",
                summary="Deny one request",
                run=self.deny,
                takes=Decision,
                gives=Waiting,
            ),
        )

    def badge(self, person: Person) -> Badge | None:
        """How many wait."""
        count = self._queue.waiting
        return Badge(str(count), "warn", f"{count} waiting") if count else None

    # -- operations

    async def waiting(self, asking: Asking) -> list[Waiting]:
        """Oldest first."""
        return [_waiting(one) for one in self._queue.pending()]

    async def approve(self, asking: Asking) -> Waiting:
        """Raises `ApiError`."""
        given: Decision = asking.given
        one = self._found(asking)
        if given.digest != one.runs:
            raise ApiError(
                409,
                "not_shown",
                "the arguments are not those that were looked at",
                "look at them again",
            )
        lasts_s = None if given.scope == "once" else given.minutes * 60.0
        return self._decided(
            lambda: self._queue.decide(
                one.id,
                True,
                by=asking.person.id,
                seen=one.arguments,
                comment=given.comment,
                edited=given.edited,
                scope=given.scope,
                lasts_s=lasts_s,
            )
        )

    async def deny(self, asking: Asking) -> Waiting:
        """Raises `ApiError`."""
        given: Decision = asking.given
        one = self._found(asking)
        if not given.comment.strip():
            raise ApiError(422, "no_reason", "a denial needs a reason", "say why, in a sentence")
        return self._decided(
            lambda: self._queue.decide(
                one.id, False, by=asking.person.id, seen="", comment=given.comment
            )
        )

    def _found(self, asking: Asking) -> Approval:
        one = self._queue.get(asking.path["id"])
        if one is None:
            raise ApiError(404, "not_found", "there is no such request")
        if one.state != "pending":
            by = f" by {one.by}" if one.by else ""
            raise ApiError(409, "over", f"it is {one.state} already{by}")
        return one

    def _decided(self, decide: Callable[[], Approval]) -> Waiting:
        try:
            found = decide()
        except CannotDecideError as problem:
            raise ApiError(_STATES[problem.why], problem.why, str(problem)) from None
        except ValueError as problem:
            raise ApiError(422, "invalid", str(problem)) from None
        self._changes.tell("inbox", "audit")
        return _waiting(found)

    # -- pages

    async def _page(self, asking: Asking) -> View:
        waiting = self._queue.pending()
        wanted = asking.path.get("id", "")
        opened = wanted or (waiting[0].id if waiting else "")
        if wanted and not any(one.id == wanted for one in waiting):
            return View(
                "inbox/over.html", {"one": self._queue.get(wanted), "title": "Inbox"}, status=404
            )
        return View("inbox/page.html", self._values(waiting, opened), _copies(opened))

    async def _list_part(self, asking: Asking) -> View:
        waiting = self._queue.pending()
        return View("inbox/list.html", self._values(waiting, waiting[0].id if waiting else ""))

    def _values(self, waiting: list[Approval], opened: str) -> dict[str, Any]:
        return {"title": "Inbox", "waiting": waiting, "opened": opened, "topics": "inbox"}

    def _on_form(self, operation: Callable[[Asking], Any]) -> Callable[[Asking], Any]:
        async def run(asking: Asking) -> View:
            await operation(asking)
            waiting = self._queue.pending()
            return View("inbox/list.html", self._values(waiting, waiting[0].id if waiting else ""))

        return run


def _copies(id: str) -> Copies:
    if not id:
        return Copies(to_type("approve"), "GET /api/v1/approvals")
    return Copies(to_type("approve {}", id), f"POST /api/v1/approvals/{id}/approve")


def _waiting(one: Approval) -> Waiting:
    return Waiting(
        id=one.id,
        agent=one.who,
        wish=one.wish,
        server=one.server,
        tool=one.tool,
        risk=one.risk,
        reason=one.reason,
        arguments=one.arguments,
        digest=one.runs,
        unseen=one.unseen,
        requested=one.requested,
        expires=one.expires,
        quorum=one.quorum,
        kind=one.kind,
    )
