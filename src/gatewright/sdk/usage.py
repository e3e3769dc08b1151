"""`Usage`: in-memory figures for each tool: all calls and errors by class, and latency percentiles of the last 256 calls.

Who called what is not kept here: that record is the gateway's audit trail.
"""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass
from typing import Any

__all__ = ["ToolUsage", "Usage"]

_WINDOW = 256


@dataclass(frozen=True, slots=True)
class ToolUsage:
    """One tool's figures. Times are milliseconds over the last 256 calls."""

    calls: int
    errors: int
    by_error: dict[str, int]
    """Error class, or `isError` for a tool that ran and failed → how often."""
    p50_ms: float
    p95_ms: float
    max_ms: float

    @property
    def error_rate(self) -> float:
        """Between 0 and 1."""
        return self.errors / self.calls if self.calls else 0.0


class _Figures:
    __slots__ = ("by_error", "calls", "times")

    def __init__(self) -> None:
        self.calls = 0
        self.by_error: dict[str, int] = {}
        self.times: deque[float] = deque(maxlen=_WINDOW)


class Usage:
    """The figures of one registry's tools."""

    def __init__(self) -> None:
        self._tools: dict[str, _Figures] = {}
        self._lock = threading.Lock()
        """Tools run in threads, and end in several at a time."""

    def add(self, tool: str, seconds: float, error: str = "") -> None:
        """One call ended. `error` is empty where it went well."""
        with self._lock:
            figures = self._tools.get(tool)
            if figures is None:
                figures = self._tools[tool] = _Figures()
            figures.calls += 1
            figures.times.append(seconds)
            if error:
                figures.by_error[error] = figures.by_error.get(error, 0) + 1

    def of(self, tool: str) -> ToolUsage:
        """One tool's figures; all zero for one that was never called."""
        with self._lock:
            figures = self._tools.get(tool) or _Figures()
            calls, by_error, kept = figures.calls, dict(figures.by_error), list(figures.times)
        times = sorted(one * 1000 for one in kept) or [0.0]
        return ToolUsage(
            calls=calls,
            errors=sum(by_error.values()),
            by_error=by_error,
            p50_ms=times[len(times) // 2],
            p95_ms=times[min(len(times) - 1, len(times) * 95 // 100)],
            max_ms=times[-1],
        )

    def all(self) -> dict[str, ToolUsage]:
        """Tool → figures, for every tool that was called."""
        return {name: self.of(name) for name in list(self._tools)}

    def to_json(self) -> dict[str, Any]:
        """The same as JSON values."""
        return {
            name: {
                "calls": one.calls,
                "errors": one.errors,
                "error_rate": one.error_rate,
                "by_error": one.by_error,
                "p50_ms": one.p50_ms,
                "p95_ms": one.p95_ms,
                "max_ms": one.max_ms,
            }
            for name, one in self.all().items()
        }
