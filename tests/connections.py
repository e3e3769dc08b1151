"""Connections to SQLite in tests: what a test opens by itself is closed with it, what the gateway opens it has to close.

Python 3.13 warns of a connection that is left open, at a moment when it happens to be collected, in whatever test runs then. Here the
test is named that opened it, on every version.
"""

from __future__ import annotations

import sqlite3
import sys
from pathlib import Path
from typing import Any

__all__ = ["Connections"]

_STORES = ("gatewright/storage/", "gatewright/stores/", "sqlite3/", "tests/connections.py")
_TESTS = str(Path(__file__).parent)


class _Connection(sqlite3.Connection):
    known: Connections | None = None

    def close(self) -> None:
        if self.known is not None:
            self.known.forget(self)
        super().close()


class Connections:
    """Those that are open, with who opened them: until the test that runs has ended, or for longer."""

    def __init__(self) -> None:
        self._connect = sqlite3.connect
        self._open: dict[int, tuple[_Connection, str, str]] = {}
        self.scope = "function"
        """Of the fixture that is being made, which is how long what is opened now may be there."""

    def watch(self) -> None:
        """From now on all are known that are opened without a class of their own."""
        setattr(sqlite3, "connect", self._watched)  # noqa: B010 - its type is that of an overloaded function

    def _watched(self, *given: Any, **named: Any) -> sqlite3.Connection:
        found: sqlite3.Connection = self._connect(*given, **{"factory": _Connection, **named})
        if isinstance(found, _Connection):
            found.known = self
            self._open[id(found)] = found, _opener(), self.scope
        return found

    def forget(self, one: sqlite3.Connection) -> None:
        """It is closed."""
        self._open.pop(id(one), None)

    def end(self, scopes: tuple[str, ...] = ("function",)) -> list[str]:
        """Close what is open of these scopes; who opened what, where that was not a test."""
        left = []
        for one, opener, scope in tuple(self._open.values()):
            if scope in scopes:
                one.close()
                left += [] if opener.startswith(_TESTS) else [opener]
        return left


def _opener() -> str:
    """The place outside the stores that opened a connection."""
    frame = sys._getframe(2)
    while frame.f_back is not None and any(one in frame.f_code.co_filename for one in _STORES):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
