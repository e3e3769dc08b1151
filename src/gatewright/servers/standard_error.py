"""`StandardError`: redacts, logs and keeps a server's stderr lines, its predecessor's too; last lines of the main process that failed.

A server has many processes over time (restarts, a second life after a question it did not know) and at once (a connection for
each session). Its log has the lines of all. An error that says why the server is down names the *last words*: those of the very
process whose end it was, up to that moment. What another process wrote, or this one while it was being stopped, is no reason of
that end.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable

from gatewright.secret_scanning import without_secrets

__all__ = ["LINES", "StandardError"]

LINES = 200
"""So many lines of all processes together are kept."""
_LAST = 20
"""So many lines of one process are kept as its last words."""


class StandardError:
    """Of one server. `log` gets every line."""

    def __init__(self, log: logging.Logger) -> None:
        self.lines: deque[str] = deque(maxlen=LINES)
        self.count = 0
        """How many lines there were, those included that are not kept any more."""
        self.last_words: tuple[str, ...] = ()
        """Of the process of the main connection that failed last."""
        self._present: deque[str] = deque(maxlen=_LAST)
        self._log = log

    def follow(self, before: StandardError) -> None:
        """Go on where another one ended: its lines stand before the first of this one. Last words are nobody's heritage."""
        # Not `extendleft`: a full deque would drop what this one has written.
        self.lines = deque((*before.lines, *self.lines), maxlen=LINES)
        self.count += before.count

    @property
    def present(self) -> tuple[str, ...]:
        """What the process of the main connection has written last."""
        return tuple(self._present)

    def attempt(self) -> None:
        """The main connection is made anew; a process may come of it, or none."""
        self._present = deque(maxlen=_LAST)

    def process(self, *, main: bool) -> Callable[[str], None]:
        """A process is started: the result takes its lines. `main`: it is that of the main connection from now on."""
        words: deque[str] = deque(maxlen=_LAST)
        if main:
            self._present = words

        def take(line: str) -> None:
            # Before it is kept: lines go to the log, to operators, and into the error of a call.
            clean = without_secrets(line.encode("utf-8", "replace")).decode()
            words.append(clean)
            self.lines.append(clean)
            self.count += 1
            self._log.info("%s", clean)

        return take

    def failed(self) -> None:
        """The main connection has ended: what was written until now are the last words."""
        self.last_words = tuple(self._present)
