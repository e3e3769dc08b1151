"""`Documents`: named JSON documents, in order, in a section of the state database; each change counts a step that the audit trail checks.

A gateway whose state is older than its record, or gone, does not start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gatewright.storage.migrations import upsert
from gatewright.storage.state import Section

__all__ = ["Documents"]

_PUT = upsert("documents")
_DROP = "DELETE FROM documents WHERE section = ? AND name = ?"
_LAST = "SELECT COALESCE(MAX(place), 0) FROM documents WHERE section = ?"


class Documents:
    """Those of one section. Every method raises `StoreError`, and then nothing has changed."""

    def __init__(self, section: Section) -> None:
        self._section = section

    def all(self) -> dict[str, str]:
        """JSON text by name, in order."""
        sql = "SELECT name, body FROM documents WHERE section = ? ORDER BY place, name"
        return dict(self._section.rows(sql, (self._section.name,)))

    def put(self, name: str, body: str, *, without: Sequence[str] = ()) -> None:
        """Keep one behind all others, in place of the one of its name, and not those of the names `without` any more."""
        mine = self._section.name
        with self._section.changing():
            for one in without:
                self._section.execute(_DROP, (mine, one))
            last = self._section.execute(_LAST, (mine,)).fetchone()[0]
            place = max(self._section.step(), last + 1)
            self._section.execute(_PUT, (mine, name, place, body))

    def replace(self, bodies: Mapping[str, str]) -> None:
        """Keep these and no others, in this order."""
        mine = self._section.name
        with self._section.changing():
            self._section.step()
            self._section.execute("DELETE FROM documents WHERE section = ?", (mine,))
            for place, (name, body) in enumerate(bodies.items()):
                self._section.execute(_PUT, (mine, name, place, body))
