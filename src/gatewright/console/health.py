"""`Health`: problems of the gateway: findings of `gatewright doctor`, servers that are down, the audit trail; starts checks and verification."""

from __future__ import annotations

import asyncio
import logging
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.command_text import to_type
from gatewright.console.audit_verifying import Verified, Verifying
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Column, Paged, Table
from gatewright.feature import Examination, Examined

__all__ = ["FINDINGS", "Chain", "Findings", "Health", "Overview", "Thing"]

log = logging.getLogger("gatewright.console")

Level = Literal["ok", "warning", "problem"]
_ORDER: tuple[Level, ...] = ("problem", "warning", "ok")
_GOOD_FOR_S = 600.0
"""After so long somebody who opens a page has the checks made anew."""


_REST_S = 3.0
"""Behind the end of the checks, before somebody may have them made anew: anybody who may look may ask for them."""


class Thing(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that was looked at."""

    check: str
    subject: str
    level: Level
    what: str
    why: str = ""
    fix: str = ""
    """What to do; commands stand between backticks."""


_BROKE = Thing(
    check="doctor",
    subject="the checks",
    level="problem",
    what="broke, so that nothing else is known",
    fix=f"the details are in the gateway's log; `{to_type('doctor')}` looks in a process of its own",
)


class Chain(msgspec.Struct, frozen=True, kw_only=True):
    """The last verification of the audit trail in this process. Times are Unix seconds."""

    at: float
    records: int
    last: int
    """It is proven up to this number."""
    hash: str
    problem: str
    """Empty where it is whole."""


class Findings(Paged, frozen=True, kw_only=True):
    """Which findings, in which order: what is to be done first comes first."""

    q: Annotated[str, Meta(max_length=200)] = ""
    """A part of what was looked at, or of what was found."""
    level: Literal["", "problem", "warning", "ok"] = ""
    sort: Literal["level", "check", "subject"] = "level"


def _fits(one: Thing, asked: Findings) -> bool:
    wanted, texts = asked.q.casefold(), (one.check, one.subject, one.what, one.why)
    return asked.level in ("", one.level) and any(wanted in text.casefold() for text in texts)


FINDINGS: Table[Thing] = Table(
    "/health",
    Findings,
    (
        Column("Finding", "level", lambda one: _ORDER.index(one.level)),
        Column("Check", "check", lambda one: one.check),
        Column("Subject", "subject", lambda one: one.subject),
    ),
    lambda one: (one.check, one.subject, one.what, one.why, one.fix),
    _fits,
)
"""The list of findings."""


class Overview(msgspec.Struct, frozen=True, kw_only=True):
    """How everything is."""

    things: list[Thing]
    """What is to be done first: problems, warnings, then what is well."""
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where there is none."""
    looked: float | None
    """When the checks were made last; None before the first time."""
    looking: bool
    chain: Chain | None
    verifying: bool


class Health:
    """Of one gateway. On the event loop; the checks are made in a thread, the verification in a process."""

    def __init__(self, parts: Dependencies, verifying: Verifying) -> None:
        self._ground = parts.ground
        self._examination = parts.ground.of(Examination)
        self._clock = parts.clock
        self._changes = parts.changes
        self._found: list[Thing] = []
        self._looked: float | None = None
        self._looking: asyncio.Task[None] | None = None
        self._verifying = verifying

    @property
    def can_look(self) -> bool:
        """Whether somebody gave the gateway the checks."""
        return self._examination is not None

    @property
    def looked(self) -> bool:
        """Whether the checks were made."""
        return self._looked is not None

    def every(self) -> list[Thing]:
        """All that was found, as far as it is known now, each once."""
        return [*dict.fromkeys([*self._running(), *self._found])]

    async def overview(self, asked: Findings) -> Overview:
        """A page of it. Raises `ApiError`."""
        things, total, more = await FINDINGS.page(self.every(), asked)
        return Overview(
            things=things,
            total=total,
            next=more,
            looked=self._looked,
            looking=_goes_on(self._looking),
            chain=_chain(self._verifying.last),
            verifying=self._verifying.now.state == "running",
        )

    def look(self, *, anew: bool = False) -> None:
        """Have the checks made, unless that was done lately."""
        least_s = _REST_S if anew else _GOOD_FOR_S
        late = self._looked is None or self._clock() - self._looked > least_s
        if self._examination is not None and late and not _goes_on(self._looking):
            self._looking = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        try:
            self._found = await asyncio.to_thread(self._examined)
        except Exception:
            log.exception("the checks of the doctor broke")
            self._found = [_BROKE]
        finally:
            # Also where they broke: else every page that is opened would begin them anew.
            self._looked, self._looking = self._clock(), None
        self._changes.tell("health")

    def _examined(self) -> list[Thing]:
        known = self._examination
        return [] if known is None else [_thing(one) for one in known.findings()]

    def verify(self, by: str) -> None:
        """Have the audit trail proven, unless that goes on, or was done just now."""
        self._verifying.begin(by)

    # -- what is known without a look

    def _running(self) -> list[Thing]:
        return [*self._record(), *self._servers()]

    def _record(self) -> list[Thing]:
        found: list[Thing] = []
        fault = self._ground.audit.fault
        if fault is not None:
            said = "free the disk it writes to; the gateway goes on by itself"
            found.append(
                Thing(
                    check="audit",
                    subject="the record",
                    level="problem",
                    what="cannot be written, so every call is refused",
                    why=fault,
                    fix=said,
                )
            )
        last = self._verifying.last
        if last is not None and last.problem:
            found.append(
                Thing(
                    check="audit",
                    subject="the record",
                    level="problem",
                    what="is not whole",
                    why=last.problem,
                    fix="keep the folder as evidence and give the gateway another one: [storage] path",
                )
            )
        return found

    def _servers(self) -> list[Thing]:
        found: list[Thing] = []
        for name, server in self._ground.now.servers.servers.items():
            spec = server.spec
            if not spec.enabled or spec.stopped or server.life.waits:
                continue
            if server.state in ("error", "disconnected"):
                found.append(
                    Thing(
                        check="server",
                        subject=name,
                        level="problem",
                        what=f"is down ({server.state})",
                        why=server.status().reason,
                        fix=f"look at what it wrote: `{to_type('server logs {}', name)}`; then `{to_type('server start {}', name)}`",
                    )
                )
        return found


def _thing(one: Examined) -> Thing:
    return Thing(
        check=one.check,
        subject=one.subject,
        level=one.level,
        what=one.what,
        why=one.why,
        fix=one.fix,
    )


def _chain(last: Verified | None) -> Chain | None:
    if last is None:
        return None
    return Chain(
        at=last.at,
        records=last.records,
        last=last.record,
        hash=last.hash,
        problem=last.problem,
    )


def _goes_on(task: asyncio.Task[None] | None) -> bool:
    return task is not None and not task.done()
