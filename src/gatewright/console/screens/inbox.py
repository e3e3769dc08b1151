"""Screen `inbox`: pending approvals and held back definitions: list, one opened, arguments edited and compared, decided one by one or several."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from gatewright.approvals.lists import place_of
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval
from gatewright.approvals.vote_rules import is_own
from gatewright.command_text import to_type
from gatewright.console.approval_details import ApprovalDetails, Detail
from gatewright.console.definition_pages import pages_of
from gatewright.console.dependencies import Dependencies
from gatewright.console.held_definitions import HeldDefinitions, HeldDetail, Looked
from gatewright.console.inbox_decisions import (
    ApprovalDecisions,
    Batch,
    Decision,
    Edited,
    LookedAt,
    said_of,
)
from gatewright.console.inbox_list import (
    InboxList,
    ListAsked,
    asked_at,
    list_of,
    where_of,
)
from gatewright.console.lists import placed
from gatewright.console.operations import ApiError, Asking
from gatewright.console.paging import url_of
from gatewright.console.people import Person
from gatewright.console.rendering import is_short
from gatewright.console.screen import Badge, Copies, Page, Screen, View, posted
from gatewright.storage.errors import StoreError

__all__ = ["Inbox", "Several"]

MINUTES = ((10, "10 min"), (60, "1 h"), (480, "8 h"), (1440, "1 d"))
"""For how long a person may agree to the same arguments again and again."""

SORTS = (
    ("oldest", "waiting longest"),
    ("left", "time left"),
    ("agent", "agent"),
    ("server", "server"),
)

Run = Callable[[Asking], Awaitable[Any]]


class Several(msgspec.Struct, frozen=True, kw_only=True):
    """The form of a decision on several requests."""

    of: Annotated[str, Meta(min_length=1, max_length=8_000)]
    """`ID:DIGEST` of each, with spaces between them."""
    decision: Literal["approve", "deny", ""] = ""
    comment: Annotated[str, Meta(max_length=500)] = ""

    @property
    def looked(self) -> list[LookedAt]:
        """The requests that are meant."""
        return [LookedAt(*one.partition(":")[::2]) for one in self.of.split()]


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
        self._clock = parts.clock
        self._details = ApprovalDetails(parts)
        self._held = HeldDefinitions(parts)
        self._decisions = decisions = ApprovalDecisions(parts, queue, self._details)
        self.operations = (*decisions.operations, *self._held.operations)
        form = self._on_form
        self.pages = (
            Page(path="/inbox", power="see", run=self._page, takes=ListAsked),
            Page(path="/inbox/list", power="see", run=self._list_part, takes=ListAsked),
            Page(path="/inbox/batch", run=self._batch_part, takes=Several, power="decide"),
            posted("/inbox/batch", self._batch, placed(Several), "decide"),
            Page(path="/inbox/{id}", power="see", run=self._page, takes=ListAsked),
            posted("/inbox/{id}/approve", form(decisions.approve), placed(Decision), "decide"),
            posted("/inbox/{id}/deny", form(decisions.deny), placed(Decision), "decide"),
            posted("/inbox/{id}/difference", self._difference, Edited, "decide", reads=True),
            posted("/inbox/{id}/accept", form(self._held.accept), placed(Looked)),
            posted("/inbox/{id}/refuse", form(self._held.refuse), placed(Looked)),
        )

    def badge(self, person: Person) -> Badge | None:
        """How many wait."""
        try:
            count = self._queue.waiting + self._held.waiting
        except StoreError:
            return None
        return Badge(str(count), "warn", f"{count} waiting") if count else None

    # -- pages

    async def _page(self, asking: Asking) -> View:
        asked, wanted = asking.given, asking.path.get("id", "")
        await self._held.seek(wanted or asked.open)
        found = list_of(self._details, self._held, replace(asked, open=wanted or asked.open))
        if wanted and not any(one.id == wanted and one.waits for one in found.rows):
            over = {"one": self._queue.get(wanted), "title": "Inbox", "said_of": said_of}
            return View("inbox/over.html", over, status=404)
        asked = replace(asked, since=self._clock())
        return await self._view("inbox/page.html", found, asked, part=False)

    async def _list_part(self, asking: Asking) -> View:
        await self._held.seek(asking.given.open)
        found = list_of(self._details, self._held, asking.given)
        return await self._view("inbox/list.html", found, asking.given)

    async def _view(
        self,
        template: str,
        found: InboxList,
        asked: ListAsked,
        said: str | None = None,
        *,
        part: bool = True,
    ) -> View:
        opened = next((one for one in found.rows if one.id == found.opened), None)
        detail = held = None
        looked = ""
        if opened is not None and opened.waits and opened.request is not None:
            detail = self._details.of(opened.request)
        elif opened is not None and opened.waits:
            held = await self._held.detail(opened.id)
            looked = f"{opened.id}:{held.definition.digest}"
        before = asked.looked if asked.looked.startswith(f"{found.opened}:") else looked
        again = bool(looked) and before != looked
        values = {
            "title": "Inbox",
            "topics": "inbox",
            "found": found,
            "asked": asked,
            "sorts": SORTS,
            "url": lambda **other: url_of("/inbox", where_of(asked, **{"after": "", **other})),
            "query": url_of("", where_of(asked)),
            "detail": detail,
            "held": held,
            "looked": before,
            "again": again,
            "minutes": MINUTES,
            "said_of": said_of,
            "pages_of": pages_of,
            "is_own": is_own,
            "said": said,
            "part": part,
        }
        return View(template, values, _copies(detail, held, asked, again=again))

    async def _difference(self, asking: Asking) -> View:
        """In the dialog of the arguments; so is why there is none."""
        values: dict[str, Any] = {"id": asking.path["id"], "found": None, "problem": None}
        try:
            values["found"] = await self._decisions.compare(asking)
        except ApiError as problem:
            values["problem"] = problem
        return View("inbox/difference.html", values)

    async def _batch_part(self, asking: Asking) -> View:
        """All of them, with their arguments, before anybody decides."""
        given: Several = asking.given
        found = self._details.lists.some(tuple(one.id for one in given.looked))
        pending = [one for one in found if one.state == "pending"]
        waiting = [one for one in pending if not one.unseen and is_short(one.arguments)]
        of = " ".join(f"{one.id}:{one.runs}" for one in waiting)
        values = {
            "waiting": waiting,
            "of": of,
            "left": len(given.looked) - len(pending),
            "long": len(pending) - len(waiting),
        }
        return View("inbox/batch.html", values)

    async def _batch(self, asking: Asking) -> View:
        given: Several = asking.given
        batch = Batch(of=given.looked, approve=given.decision == "approve", comment=given.comment)
        done = await self._decisions.decide(replace(asking, given=batch))
        failed = [one for one in done if one.problem]
        said = f"{len(done) - len(failed)} of {len(done)} decided"
        if failed:
            said += ": " + "; ".join(f"{one.id}: {one.problem}" for one in failed[:3])
        return await self._after(None, said, asking)

    def _on_form(self, operation: Run) -> Run:
        async def run(asking: Asking) -> View:
            before = self._queue.get(asking.path["id"])
            done = await operation(asking)
            state = getattr(done, "state", "")
            said = (
                f"Your yes counts. {before.quorum} operators have to agree."
                if before is not None and state == "pending"
                else ""
            )
            return await self._after(before, said, asking, last=_done(done, state))

        return run

    async def _after(
        self, before: Approval | None, said: str, asking: Asking, last: str = ""
    ) -> View:
        """The list in which it was decided, with the next one open: the first that comes after the one that was decided. `last` is said where
        none is left: among others they say it by moving up, and a line above them would move them under the pointer."""
        asked = asked_at(asking.given, self._clock())
        found = list_of(self._details, self._held, asked)
        if before is not None:
            place = place_of(before, asked.sort)
            behind = (
                one.id
                for one in found.rows
                if one.request is None or place_of(one.request, asked.sort) > place
            )
            found = replace(found, opened=next(behind, found.opened))
        said = said or ("" if found.rows else last)
        return await self._view("inbox/list.html", found, asked, said)


def _done(one: Any, state: str) -> str:
    """What was decided on a request, or on a definition, in a sentence."""
    what = state or ("accepted" if one.standing == "pinned" else "refused")
    return f"{what.capitalize()}: {one.server} / {one.tool}."


def _copies(
    detail: Detail | None, held: HeldDetail | None, asked: ListAsked, *, again: bool
) -> Copies:
    """`again`: the definition has changed while somebody looked at it, and no button accepts it until they have looked again."""
    if held is not None:
        one = held.definition
        accept = f'POST /api/v1/held-definitions/{one.id}/accept {{"digest": "{one.digest}"}}'
        look = to_type("server pin {} {}", one.server, one.tool)
        return Copies(look, "" if again else accept)
    if detail is not None:
        request = detail.request
        approve = f'POST /api/v1/approvals/{request.id}/approve {{"digest": "{request.digest}"}}'
        return Copies(to_type("approve {} --digest {}", request.id, request.digest), approve)
    return Copies(to_type("approve"), f"GET /api/v1{url_of('/approvals', where_of(asked))}")
