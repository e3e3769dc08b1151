"""Logging of the command line on stderr, secrets and terminal control characters removed, tracebacks too; `clean` for other texts."""

from __future__ import annotations

import logging
import sys

from gatewright.patterns import Pattern
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = ["LogLines", "clean", "log_to_terminal", "watch_last_resort"]

_REFERENCE = Pattern(r"(\$\{secret:[A-Za-z0-9][A-Za-z0-9._-]{0,127}\})")
"""How the configuration names a secret: a name, however much it looks like a value."""


def clean(text: str) -> str:
    """Words for people without what looks like a secret in them."""
    from gatewright.secret_scanning import without_secrets  # noqa: PLC0415 - most commands say nothing

    pieces = _REFERENCE.split(text)
    # Texts and references by turns, because the pattern is one group; references stay.
    for number in range(0, len(pieces), 2):
        piece = pieces[number].encode("utf-8", "surrogatepass")
        pieces[number] = without_secrets(piece).decode("utf-8", "surrogatepass")
    return "".join(pieces)


class LogLines(logging.Formatter):
    """Writes a log record as a line, or as several with a traceback, and cleans all of it."""

    def format(self, record: logging.LogRecord) -> str:
        return spelled(clean(super().format(record)), keep="\n\t")


def log_to_terminal(level: int) -> None:
    """Show what the parts log on standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(LogLines("%(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler], force=True)


def watch_last_resort() -> None:
    """Clean what is shown where nobody asked for logs: warnings and errors."""
    if logging.lastResort is not None:
        logging.lastResort.setFormatter(LogLines())
