"""Progress indicator on standard error for slow commands: on a terminal only, after two seconds.

Scripts and agents see nothing of it, and what is quick stays silent.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any

from gatewright.cli.global_options import OUTPUT_OPTIONS
from gatewright.cli.output import is_terminal, visible

__all__ = ["AFTER_S", "Progress"]

AFTER_S = 2.0


class Progress:
    """A context: while inside and longer than `AFTER_S`, standard error shows what goes on."""

    def __init__(self, text: str, *, after_s: float = AFTER_S) -> None:
        self._text = text
        self._shown: Any = None
        self._spinner: Any = None
        self._over = False
        self._lock = threading.Lock()
        self._timer = threading.Timer(after_s, self._show)
        self._timer.daemon = True

    def __enter__(self) -> Progress:
        if is_terminal(2) and not OUTPUT_OPTIONS.quiet:
            self._timer.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._over = True
            if self._shown is not None:
                self._shown.stop()

    def say(self, text: str) -> None:
        """What goes on now."""
        with self._lock:
            self._text = text
            if self._shown is not None:
                self._spinner.update(text=visible(text))

    @contextmanager
    def aside(self) -> Iterator[None]:
        """While inside, the terminal is free for a line of the answer."""
        with self._lock:
            if self._shown is not None:
                self._shown.stop()
            try:
                yield
            finally:
                if self._shown is not None:
                    self._shown.start()

    def _show(self) -> None:
        # Only a person who waits pays for it.
        from rich.console import Console  # noqa: PLC0415
        from rich.live import Live  # noqa: PLC0415
        from rich.spinner import Spinner  # noqa: PLC0415

        with self._lock:
            # The timer may go off while the command ends.
            if self._over:
                return
            self._spinner = Spinner("dots", visible(self._text))
            self._shown = Live(
                self._spinner,
                console=Console(stderr=True),
                transient=True,
                redirect_stdout=False,  # it would lead the answer away from a pipe
                redirect_stderr=False,
            )
            self._shown.start()
