"""Screen `audit`: the audit trail searched, counted over time, one record opened with its hashes, verified, exported."""

from __future__ import annotations

from functools import partial
from typing import Any

import msgspec

from gatewright.audit.search import AuditSearch, Counted
from gatewright.command_text import to_type
from gatewright.console.audit_export import AuditExport, AuditExports
from gatewright.console.audit_filling import AuditFilling
from gatewright.console.audit_query import (
    NAMES,
    AuditQuery,
    CountAsked,
    NewerAsked,
    added,
    chips,
    command_of,
    url_of,
    wanted_of,
)
from gatewright.console.audit_shapes import OpenedRecord, Record, Records, Slices, shown, whose_eyes
from gatewright.console.audit_threads import AuditThreads
from gatewright.console.audit_verifying import Verified, Verifying
from gatewright.console.dependencies import Dependencies
from gatewright.console.histogram import HEIGHT, bars, edges_of
from gatewright.console.operations import ApiError, Asking, Download, Operation, see
from gatewright.console.people import Person
from gatewright.console.screen import Copies, Page, Screen, View, posted

__all__ = ["Audit"]

_PAGE = 50
_FEW = 500
"""So many new records are put into an open page by themselves. Of more, which only thousands of calls a second write, the page says how many
there are, and shows them when it is asked to: to search them over and over would take from the calls."""
_DIGITS = 19
"""Of a number, more than SQLite knows."""


class Audit(Screen):
    """The record."""

    name = "audit"
    title = "Audit"
    key = "u"
    group = 2

    def __init__(
        self,
        parts: Dependencies,
        search: AuditSearch,
        threads: AuditThreads,
        filling: AuditFilling,
        verifying: Verifying,
    ) -> None:
        self._parts = parts
        self._folder = parts.ground.settings.storage.path
        self._search = search
        self._beside = threads.run
        self._fill = filling.begin
        self._verifying = verifying
        export = AuditExports(parts.ground, parts.clock).export
        self.pages = (
            Page(path="/audit", power="see", run=self._page, takes=AuditQuery),
            Page(path="/audit/list", power="see", run=self._list_part, takes=AuditQuery),
            Page(path="/audit/newer", power="see", run=self._newer_part, takes=NewerAsked),
            Page(path="/audit/histogram", power="see", run=self._histogram_part, takes=CountAsked),
            Page(path="/audit/verification", power="see", run=self._verification_part),
            posted("/audit/export", export, power="export", takes=AuditExport),
            posted("/audit/verify", self._verify_form, power="see"),
            Page(path="/audit/{seq}", power="see", run=self._record_page),
        )
        self.operations = (
            see(
                "audit.search",
                "/audit",
                "Search the record, newest first unless said otherwise",
                self.search,
                takes=AuditQuery,
                gives=Records,
            ),
            see(
                "audit.count",
                "/audit/histogram",
                "Count records by slices of time",
                self.count,
                takes=CountAsked,
                gives=Slices,
            ),
            Operation(
                name="audit.export",
                method="GET",
                path="/audit/export",
                power="export",
                summary="Download records, oldest first, as JSON lines, a table or events",
                run=export,
                takes=AuditExport,
                gives=Download,
            ),
            see(
                "audit.verification",
                "/audit/verification",
                "Say how the verification of the chain stands",
                self.verification,
                gives=Verified,
            ),
            see(
                "audit.verify",
                "/audit/verification",
                "Begin to verify the chain, unless somebody has just now",
                self.verify,
                gives=Verified,
                method="POST",
            ),
            see(
                "audit.record",
                "/audit/{seq}",
                "Show one record, its hashes computed anew, and its trace",
                self.record,
                gives=OpenedRecord,
            ),
        )

    # -- operations

    async def search(self, asking: Asking) -> Records:
        """Raises `ApiError`, `StoreError`."""
        query: AuditQuery = asking.given
        wanted = wanted_of(query, self._parts.clock())
        self._fill()
        ask = partial(self._search.of_trace, query.trace) if query.trace else self._search.search
        look = partial(ask, oldest=query.oldest, before=query.before or None, most=_PAGE)
        found = await self._beside(look, wanted)
        return Records(
            records=[shown(msgspec.json.decode(one), asking.person) for one in found.lines],
            before=found.before,
            unsearched=found.unsearched,
            newest=found.newest,
        )

    async def count(self, asking: Asking) -> Slices:
        """Raises `ApiError`, `StoreError`."""
        query: CountAsked | AuditQuery = asking.given
        now, newest = self._parts.clock(), getattr(query, "newest", 0) or None
        wanted = wanted_of(query, now)
        self._fill()

        def counted() -> Counted:
            first, last = self._search.span(newest) or (int(now * 1000), int(now * 1000))
            since = first if wanted.since is None else wanted.since
            until = last + 1 if wanted.until is None else wanted.until
            return self._search.counted(wanted, edges_of(since, max(since, until)), newest)

        found = await self._beside(counted)
        counts = {name: [*one] for name, one in found.counts.items()}
        return Slices(
            edges=found.edges,
            counts=counts,
            whole=found.whole,
            newest=found.newest,
            more=found.more,
        )

    async def record(self, asking: Asking) -> OpenedRecord:
        """Raises `ApiError`, `StoreError`."""
        seq = asking.path["seq"]
        if not (seq.isascii() and seq.isdigit() and len(seq) < _DIGITS):
            raise ApiError(404, "not_found", "a record is opened by its number")
        found = await self._beside(self._search.opened, int(seq))
        if found is None:
            raise ApiError(
                404, "not_found", f"there is no record {seq}", "retention may have taken it away"
            )
        record: Record = msgspec.json.decode(found.line)
        said = shown(record, asking.person)
        trace = await self._beside(self._rest_of, record, asking.person)
        return OpenedRecord(
            record=said,
            line=found.line.decode("utf-8", "replace") if said is record else "",
            hash=found.hash,
            previous=found.previous,
            problem=found.problem,
            trace=trace,
        )

    def _rest_of(self, record: Record, person: Person) -> list[Record]:
        lines = map(msgspec.json.decode, self._search.of_trace(str(record["trace_id"])).lines)
        return [shown(one, person) for one in lines if one["seq"] != record["seq"]]

    async def verification(self, asking: Asking) -> Verified:
        """How it stands."""
        return self._verifying.now

    async def verify(self, asking: Asking) -> Verified:
        """Begin, unless one runs or ended within the last minute."""
        return self._verifying.begin(asking.person.id)

    # -- pages

    async def _page(self, asking: Asking) -> View:
        query: AuditQuery = asking.given
        if query.add:
            return View("", location=url_of(added(query)))
        return View(
            "audit/page.html",
            {**await self._values(asking), **await self._drawn(asking)},
            self._copies(query),
        )

    async def _list_part(self, asking: Asking) -> View:
        shared = f"{url_of(asking.given)} {whose_eyes(asking.person)}"
        return View("audit/list.html", shared=shared, later=lambda: self._values(asking))

    async def _newer_part(self, asking: Asking) -> View:
        query: NewerAsked = asking.given
        values = {
            "query": query,
            "count": max(0, self._parts.ground.audit.written - query.shown),
            "few": _FEW,
            "first": url_of(query, before=0),
            "here": url_of(query, "/audit/list", before=0),
            "chart": url_of(query, "/audit/histogram", before=0),
        }
        return View("audit/newer.html", values)

    async def _histogram_part(self, asking: Asking) -> View:
        shared = url_of(asking.given, newest=asking.given.newest)
        return View("audit/histogram.html", shared=shared, later=lambda: self._drawn(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        query: AuditQuery = asking.given
        found = await self.search(asking)
        behind = found.before
        return {
            "title": "Audit",
            "topics": "audit",
            "query": query,
            "chips": chips(query),
            "found": found,
            "older": "" if behind is None else url_of(query, before=behind),
            "part": "" if behind is None else url_of(query, "/audit/list", before=behind),
            "newer": url_of(query, "/audit/newer"),
            "first": url_of(query, before=0) if query.before else "",
            "turned": url_of(query, before=0, oldest=not query.oldest),
            "exported": [(name, value) for name in NAMES if (value := getattr(query, name))],
            "verification": self._verifying.now,
            "url": url_of,
        }

    async def _drawn(self, asking: Asking) -> dict[str, Any]:
        query: AuditQuery = asking.given
        if query.trace:
            return {"bars": (), "query": query}
        found = await self.count(asking)
        return {
            "query": query,
            "bars": bars(found.edges, found.counts),
            "totals": {name: sum(one) for name, one in sorted(found.counts.items())},
            "whole": found.whole,
            "more": found.more,
            "height": HEIGHT,
            "edges": [found.edges[0] / 1000, found.edges[-1] / 1000],
            "chart": url_of(query, "/audit/histogram", before=0, newest=found.newest),
            "url": url_of,
        }

    async def _verification_part(self, asking: Asking) -> View:
        return View("audit/verification.html", {"verification": self._verifying.now})

    async def _verify_form(self, asking: Asking) -> View:
        return View("audit/verification.html", {"verification": await self.verify(asking)})

    async def _record_page(self, asking: Asking) -> View:
        found = await self.record(asking)
        number = found.record["seq"]
        return View(
            "audit/record.html",
            {"title": f"Record {number}", "topics": "", "found": found, "record": found.record},
            Copies(
                to_type("audit show {}", str(found.record["trace_id"])),
                f"GET /api/v1/audit/{number}",
            ),
        )

    @staticmethod
    def _copies(query: AuditQuery) -> Copies:
        return Copies(command_of(query), f"GET {url_of(query, '/api/v1/audit')}")
