"""Screen `limits`: rates and quotas: used, left and time to refill by caller, key, server and tool; who calls most; what was refused."""

from __future__ import annotations

import time
from collections.abc import Generator, Hashable, Iterable, Sequence
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from gatewright.audit.search import AuditSearch
from gatewright.audit.search_index import Wanted
from gatewright.command_text import to_type
from gatewright.console.audit_filling import AuditFilling
from gatewright.console.audit_query import AuditQuery
from gatewright.console.audit_query import url_of as search_of
from gatewright.console.audit_threads import AuditThreads
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Table
from gatewright.console.operations import Asking, see
from gatewright.console.paging import url_of
from gatewright.console.people import Person
from gatewright.console.screen import Badge, Copies, Page, Screen, View
from gatewright.limits.gate import Rate
from gatewright.limits.meters import Meter, Rule
from gatewright.limits.tool_gate import ToolRate
from gatewright.limits.usage import DAY, HOUR, MINUTE, SECOND, Standing
from gatewright.transport.slices import in_slices

__all__ = ["Consumer", "Consumers", "Limit", "LimitQuery", "Limits", "Standings"]

_SUBJECTS = 500
"""Of one rule that are looked at: more would hold up the calls of a gateway with very many callers."""
_A_STEP = 200
_WORDS = {SECOND: "second", MINUTE: "minute", HOUR: "hour", DAY: "day"}
_HOUR_MS = 3_600_000
_FULL = 1.0
_NEAR = 0.8


class LimitQuery(Paged, frozen=True, kw_only=True):
    """Which limits, in which order: the fullest first unless said otherwise."""

    scope: Literal["", "total", "caller", "key", "server", "tool"] = ""
    find: Annotated[str, Meta(max_length=256)] = ""
    """A text in the name of the subject."""
    sort: Literal["name", "scope", "full", "used", "left", "wait"] = "full"


class Limit(msgspec.Struct, frozen=True, kw_only=True):
    """How far one subject has used one limit up. Times are seconds."""

    scope: str
    subject: str
    names: tuple[str, ...]
    """The subject in full: of a caller kind and id, of a tool server and name."""
    endpoint: str
    """At which it counts; empty for all together."""
    limit: int
    per: str
    used: int
    left: int
    next_in: float
    """Until the next call may come; 0 where it may."""
    empty_in: float
    """Until everything is left again."""
    refills_at: float
    """In Unix seconds: when the next call may come, or, where it may, when everything is left again; 0 where it is."""

    @property
    def part(self) -> float:
        """How full it is."""
        return self.used / self.limit if self.limit else _FULL


TABLE: Table[Limit] = Table(
    "/limits",
    LimitQuery,
    (
        Column("Whose", "name", lambda one: one.subject),
        Column("Per", "scope", lambda one: one.scope),
        Column("Usage", "full", lambda one: one.part, falls=True),
        Column("Used", "used", lambda one: one.used, falls=True),
        Column("Left", "left", lambda one: one.left, numeric=True),
        Column("Refills", "wait", lambda one: one.refills_at, falls=True),
    ),
    lambda one: (one.scope, *one.names, one.endpoint, one.per, str(one.limit)),
    lambda one, asked: asked.scope in ("", one.scope) and asked.find.lower() in one.subject.lower(),
)
"""The list of limits."""


class Standings(msgspec.Struct, frozen=True, kw_only=True):
    """Some limits."""

    limits: Sequence[Limit]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""
    whole: bool
    """Whether all that were counted were looked at."""
    rules: int
    """How many hold at all endpoints."""
    windows: int = 0
    """How many limits these set, one for each span: so many a minute and so many a day are two."""


class Consumer(msgspec.Struct, frozen=True):
    """Records of one agent or tool."""

    name: str
    records: int


class Consumers(msgspec.Struct, frozen=True, kw_only=True):
    """Of the last hour, by the record."""

    agents: Sequence[Consumer]
    tools: Sequence[Consumer]
    limited: Sequence[Consumer]
    """Agents whose calls were refused by a limit."""
    since: float
    """Records from this Unix time on were counted: those of the hour, or, of very many, those of its end until the others are read in."""
    whole: bool
    """Whether that is the hour."""


class Limits(Screen):
    """What is used, and by whom."""

    name = "limits"
    title = "Limits"
    key = "m"
    group = 2

    def __init__(
        self,
        parts: Dependencies,
        search: AuditSearch,
        threads: AuditThreads,
        filling: AuditFilling,
    ) -> None:
        self._parts = parts
        self._search = search
        self._beside = threads.run
        self._fill = filling.begin
        self._began = parts.clock() - time.monotonic()
        """The Unix time at which the clock of the meters stood at 0: asked for once, so that places in the list stay where they are."""
        self.pages = (
            Page(path="/limits", power="see", run=self._page, takes=LimitQuery),
            Page(path="/limits/list", power="see", run=self._part, takes=LimitQuery),
            Page(path="/limits/consumers", power="see", run=self._consumers_part),
        )
        self.operations = (
            see(
                "limits.list",
                "/limits",
                "Say how far callers, keys, servers and tools have used up their limits",
                self.standings,
                takes=LimitQuery,
                gives=Standings,
            ),
            see(
                "limits.consumers",
                "/limits/consumers",
                "Say who called most in the last hour",
                self.consumers,
                gives=Consumers,
            ),
        )

    def badge(self, person: Person) -> Badge | None:
        """Nothing: what is full is no work for a person until somebody complains."""
        return None

    # -- operations

    async def standings(self, asking: Asking) -> Standings:
        """The fullest first, unless another order is asked for. Raises `ApiError`."""
        query: LimitQuery = asking.given
        meters = self._meters()
        found, whole = await in_slices(_standing(meters, self._began))
        limits, total, more = await TABLE.page(found, query)
        # Those of one endpoint are what its protocol brings with it, and nobody's wish.
        rules = [rule for meter in meters for rule in meter.rules if not rule.door]
        every = (some for rule in rules for some in (rule.windows, *rule.instead.values()))
        windows = sum(len(some.exact) + len(some.long) for some in every)
        return Standings(
            limits=limits,
            total=total,
            next=more,
            whole=whole,
            rules=len(rules),
            windows=windows,
        )

    async def consumers(self, asking: Asking) -> Consumers:
        """Raises `StoreError`."""
        since = int(self._parts.clock() * 1000) - _HOUR_MS
        calls = {"kind": "TOOL_EXECUTED"}

        def ranked() -> Consumers:
            reached = [since]

            def of(name: str, facts: dict[str, str]) -> list[Consumer]:
                found = self._search.ranked(name, Wanted(facts=facts, since=since))
                reached.append(found.since or since)
                return [Consumer(*one) for one in found.values]

            limited = of("agent", {"gate": "rate"}) + of("agent", {"gate": "tool_rate"})
            agents, tools = of("agent", calls), of("tool", calls)
            first = max(reached)
            return Consumers(
                agents=agents,
                tools=tools,
                limited=limited,
                since=first / 1000,
                whole=first == since,
            )

        return await self._beside(ranked)

    def _meters(self) -> list[Meter]:
        now = self._parts.ground.now
        rate, tools = now.gate("rate", Rate), now.gate("tool_rate", ToolRate)
        return [one.meter for one in (rate, tools) if one is not None]

    # -- pages

    async def _page(self, asking: Asking) -> View:
        call = f"GET /api/v1{url_of('/limits', asking.given)}"
        copies = Copies(to_type("config show"), call)
        self._fill()
        values = await self._values(asking)
        return View("limits/page.html", values | await self._consumer_values(asking), copies)

    async def _part(self, asking: Asking) -> View:
        shared = f"?{url_of('', asking.given)}"
        return View("limits/list.html", shared=shared, later=lambda: self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        query: LimitQuery = asking.given
        found = await self.standings(asking)
        return {
            "title": "Limits",
            "topics": "limits",
            "query": query,
            "found": found,
            "list": TABLE.shown(query, found.next),
            "near": _NEAR,
        }

    async def _consumers_part(self, asking: Asking) -> View:
        later = lambda: self._consumer_values(asking)  # noqa: E731
        return View("limits/consumers.html", shared="consumers", later=later)

    async def _consumer_values(self, asking: Asking) -> dict[str, Any]:
        return {
            "consumers": await self.consumers(asking),
            "record": lambda **other: search_of(AuditQuery(since="1h"), **other),
        }


def _standing(
    meters: Iterable[Meter], began: float
) -> Generator[None, None, tuple[list[Limit], bool]]:
    """All that was counted, and whether that is all of it; some hundreds in a step."""
    whole, found = True, list[Limit]()
    for meter in meters:
        standing, all_, now = meter.standing(_SUBJECTS)
        whole = whole and all_
        for number, (rule, subject, one) in enumerate(standing):
            if number % _A_STEP == 0:
                yield
            found.append(_limit(rule, subject, one, now, began))
    return found, whole


def _limit(rule: Rule, subject: Hashable, one: Standing, now: int, began: float) -> Limit:
    window, refills_in = one.window, one.next_in or one.empty_in
    return Limit(
        scope=rule.scope,
        subject=_named(rule, subject),
        names=tuple(map(str, subject)) if isinstance(subject, tuple) else (str(subject),),
        endpoint=rule.door,
        limit=window.limit,
        per=_WORDS[window.span],
        used=one.used,
        left=max(0, window.limit - one.used),
        next_in=one.next_in / SECOND,
        empty_in=one.empty_in / SECOND,
        refills_at=began + (now + refills_in) / SECOND if refills_in else 0.0,
    )


def _named(rule: Rule, subject: Hashable) -> str:
    if rule.scope == "total":
        return "all callers together"
    if not isinstance(subject, tuple):
        return str(subject)
    # A caller is counted as kind and id, a tool as server and name.
    return str(subject[1]) if rule.scope == "caller" else "/".join(map(str, subject))
