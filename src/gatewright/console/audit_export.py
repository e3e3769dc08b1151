"""Streams selected audit records as a download (JSON lines, CSV, CloudEvents, OCSF, Groundhog), two at once per person; records each export."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from gatewright.audit.formats import Format, heading, writer
from gatewright.audit.reader import AuditReader
from gatewright.audit.records import Actor
from gatewright.audit.rows import Query
from gatewright.audit.search_facts import admits
from gatewright.audit.search_index import Wanted
from gatewright.console.audit_query import AuditQuery, recorded, url_of, wanted_of
from gatewright.console.operations import ApiError, Asking, Download
from gatewright.feature import Ground

__all__ = ["EXPORTS_EACH", "AuditExport", "AuditExports", "download"]

EXPORTS_EACH = 2
"""Of one person at once: each reads the whole trail in a thread, piece by piece."""

_PIECE = 2_000
"""Records of one piece: each is a question by itself, so that whoever downloads slowly keeps no snapshot of the store open."""
_MEDIA = {"csv": "text/csv; charset=utf-8"}
_ENDINGS = {"csv": "csv"}


_NO_COLUMNS = ("gate", "rule")


class AuditExport(AuditQuery, frozen=True, kw_only=True):
    """Which records, in which form."""

    form: Format = "jsonl"


class AuditExports:
    """Of one gateway."""

    def __init__(self, ground: Ground, clock: Callable[[], float]) -> None:
        self._ground = ground
        self._clock = clock
        self._running: Counter[str] = Counter()
        """By person."""

    async def export(self, asking: Asking) -> Download:
        """The file, whose making is recorded. Raises `ApiError`, `Unrecorded`."""
        given: AuditExport = asking.given
        settings, by = self._ground.settings, asking.person.id
        if self._running[by] >= EXPORTS_EACH:
            said = f"{EXPORTS_EACH} exports of yours run already"
            raise ApiError(503, "crowded", said, "wait until one of them has ended")
        found = download(settings.storage.path, given, settings.gateway.name, self._clock())
        self._ground.audit.event(
            "dev.gatewright.console.exported",
            actor=Actor("operator", by),
            details={"role": asking.person.role, "form": given.form, "query": url_of(given)},
        )
        self._running[by] += 1
        return msgspec.structs.replace(found, done=partial(self._done, by))

    def _done(self, by: str) -> None:
        self._running[by] -= 1
        if self._running[by] <= 0:
            del self._running[by]


def download(folder: Path, asked: AuditExport, gateway: str, now: float) -> Download:
    """The file. Raises `ApiError`."""
    wanted = wanted_of(asked, now)
    members: dict[str, Any] = {
        "agent": asked.agent or None,
        "server": asked.server or None,
        "tool": asked.tool or None,
        "event_type": asked.kind or None,
        "outcome": asked.outcome or None,
        "trace_id": asked.trace or None,
        "since": None if wanted.since is None else recorded(wanted.since),
        "until": None if wanted.until is None else recorded(wanted.until),
    }
    query = Query(**members, limit=_PIECE, newest_first=False)
    # What the store has no column for is looked at line by line.
    rest = Wanted(
        facts={name: value for name, value in wanted.facts.items() if name in _NO_COLUMNS}
    )

    def fits(line: bytes) -> bool:
        return not rest.facts or admits(rest, line)

    pieces = _pieces(AuditReader(folder), query, asked.form, gateway, fits)
    name = f"audit.{_ENDINGS.get(asked.form, 'jsonl')}"
    return Download(name, _MEDIA.get(asked.form, "application/x-ndjson"), pieces)


def _pieces(
    reader: AuditReader,
    query: Query,
    form: Format,
    gateway: str,
    fits: Callable[[bytes], bool],
) -> Iterator[bytes]:
    put = writer(form, gateway)
    yield heading(form)
    last = 0
    while True:
        lines = [*reader.lines(msgspec.structs.replace(query, after=last))]
        yield b"".join(put(line) for line in lines if fits(line))
        if len(lines) < _PIECE:
            return
        last = _number(lines[-1])


class _Numbered(msgspec.Struct):
    seq: int


_numbered = msgspec.json.Decoder(_Numbered)


def _number(line: bytes) -> int:
    return _numbered.decode(line).seq
