"""`InboxList`: rows of the inbox by page: pending approvals, held back definitions, and what ended while the page was open."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta
from msgspec.structs import replace

from gatewright.approvals.lists import ApprovalLists, Order, Place, Wanted, place_of
from gatewright.approvals.request import Approval
from gatewright.console.approval_details import ApprovalDetails
from gatewright.console.held_definitions import HeldAsked, HeldDefinition, HeldDefinitions
from gatewright.console.lists import place_in
from gatewright.console.paging import read_after

__all__ = [
    "PAGE",
    "InboxList",
    "ListAsked",
    "Row",
    "Where",
    "asked_at",
    "list_of",
    "requests_of",
    "where_of",
]

PAGE = 50
_HELD = "held"
"""With this a place begins that is among the definitions, which stand behind the requests."""
_IDS = 200


class Where(msgspec.Struct, frozen=True, kw_only=True):
    """Which lines, in which order: what stands in the URL."""

    agent: Annotated[str, Meta(max_length=500)] = ""
    server: Annotated[str, Meta(max_length=500)] = ""
    risk: Annotated[str, Meta(max_length=20)] = ""
    sort: Order = "oldest"
    after: Annotated[str, Meta(max_length=2000)] = ""
    """The place of the request behind which the page begins: `next` of the page before."""


class ListAsked(Where, frozen=True, kw_only=True):
    """The same, and what an open page has on it already."""

    open: Annotated[str, Meta(max_length=100)] = ""
    """Which one is open; empty: the first."""
    since: float = 0.0
    """Since when the page is open, in Unix seconds: what came later is marked as new."""
    shown: Annotated[str, Meta(max_length=_IDS * 24)] = ""
    """The ids of those that are on it, with commas between them: what ended meanwhile stays where it is, and says how."""
    looked: Annotated[str, Meta(max_length=200)] = ""
    """`ID:DIGEST` of the definition that is open, as it was when somebody opened it."""


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One line: a request, or a definition."""

    id: str
    request: Approval | None = None
    definition: HeldDefinition | None = None
    new: bool = False
    waits: bool = True
    gone: str = ""
    """What became of one that is open, where no request says it; `definition` where it is known."""


class InboxList(msgspec.Struct, frozen=True, kw_only=True):
    """One page of the inbox."""

    rows: list[Row]
    opened: str
    """The id of the one that is open; empty where nothing is there."""
    count: int
    """How many wait, of all pages."""
    oldest: float | None
    next: str
    """`after` of the next page; empty where this is the last."""
    new: int
    shown: str


def list_of(details: ApprovalDetails, held: HeldDefinitions, asked: ListAsked) -> InboxList:
    """The lines of one page. Raises `ApiError`, `StoreError`."""
    held_after = asked.after.removeprefix(_HELD) if asked.after.startswith(_HELD) else None
    found, next_page = list[Approval](), ""
    if held_after is None:
        found, next_page = requests_of(details.lists, asked)
    requests = _with_ended(details, found, asked)
    rows = [
        Row(
            id=one.id,
            request=one,
            new=0 < asked.since < one.requested,
            waits=one.state == "pending",
        )
        for one in requests
    ]
    count, oldest = details.lists.count(_wanted(asked))
    if not (asked.agent or asked.risk):
        first = HeldAsked(server=asked.server, limit=PAGE)
        page = held.page(replace(first, after=held_after or ""))
        # They stand on the last pages; one that is on this page already stays where it is, also when calls make it one of several.
        here = {asked.open, *asked.shown.split(",")}
        rows += [
            Row(id=one.id, definition=one, new=0 < asked.since < one.since)
            for one in page.definitions
            if not next_page or one.id in here
        ]
        if page.next and not next_page:
            next_page = _HELD + page.next
        count += page.total
        longest = held.page(replace(first, limit=1)) if held_after else page
        oldest = min(
            [*([] if oldest is None else [oldest]), *(one.since for one in longest.definitions)],
            default=None,
        )
    if asked.open and not any(one.id == asked.open for one in rows):
        # In its place nothing else is opened, which nobody has looked at.
        definition, gone = held.became(asked.open)
        rows.append(Row(id=asked.open, definition=definition, waits=not gone, gone=gone))
    opened = asked.open or next((one.id for one in rows if one.waits), "")
    rows = [replace(one, new=one.new and one.waits and one.id != opened) for one in rows]
    return InboxList(
        rows=rows,
        opened=opened,
        count=count,
        oldest=oldest,
        next=next_page,
        new=sum(one.new for one in rows),
        # Of a page that is open for days, what ended long ago goes in the end.
        shown=",".join([one.id for one in rows if not one.gone][-_IDS:]),
    )


def requests_of(lists: ApprovalLists, asked: Where) -> tuple[list[Approval], str]:
    """One page of what waits, and `after` of the next one. Raises `ApiError`, `StoreError`."""
    found = lists.waiting(_wanted(asked), PAGE + 1, _place(asked), asked.sort)
    more = len(found) > PAGE
    found = found[:PAGE]
    last = msgspec.json.encode(place_of(found[-1], asked.sort)).decode() if more else ""
    return found, last


def where_of(asked: Where, **other: Any) -> Where:
    """What of it stands in the URL; `other` members in place of its own."""
    said = {name: getattr(asked, name) for name in Where.__struct_fields__}
    return Where(**{**said, **other})


def asked_at(given: Any, since: float) -> ListAsked:
    """The list in which a decision was made, as a page that is opened now. Raises `ApiError`."""
    return ListAsked(**msgspec.structs.asdict(place_in(given, Where)), since=since)


def _wanted(asked: Where) -> Wanted:
    return Wanted(agent=asked.agent, server=asked.server, risk=asked.risk)


def _with_ended(
    details: ApprovalDetails, waiting: list[Approval], asked: ListAsked
) -> list[Approval]:
    """Those that wait, and those that a page shows and that are over, in the order of all: nothing moves under a cursor."""
    there = {one.id for one in waiting}
    ids = [id for id in (asked.open, *asked.shown.split(",")[:_IDS]) if id and id not in there]
    ended = [
        one
        for one in (details.lists.some(tuple(ids)) if ids else ())
        if one.state != "pending" or one.id == asked.open
    ]
    return sorted([*waiting, *ended], key=lambda one: place_of(one, asked.sort))


def _place(asked: Where) -> Place | None:
    if not asked.after:
        return None
    kind: Any = float if asked.sort in ("oldest", "left") else str
    value, requested, id = read_after(asked.after, tuple[kind, float, str])
    return value, requested, id
