"""`FilteredSink` passes on only records of chosen classes; `AlertSink` logs each record as a security alert, and posts it to a webhook if set."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence

from gatewright.audit.sinks.follow import Sink

__all__ = ["AlertSink", "FilteredSink"]

log = logging.getLogger("gatewright.audit")


class FilteredSink:
    """Hands on the lines that `chooses` wants. The others are delivered by being left out."""

    def __init__(self, sink: Sink, chooses: Callable[[bytes], bool]) -> None:
        self._sink = sink
        self._chooses = chooses

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """As the sink does."""
        wanted = [line for line in lines if self._chooses(line)]
        if wanted:
            await self._sink.deliver(wanted)

    async def close(self) -> None:
        """As the sink does."""
        await self._sink.close()


class AlertSink:
    """Says each event in the log of the gateway, and to a hook where there is one."""

    def __init__(self, put: Callable[[bytes], bytes], hook: Sink | None) -> None:
        self._put = put
        self._hook = hook

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """The hook first: where that fails, everything is said again."""
        if self._hook is not None:
            await self._hook.deliver(lines)
        for line in lines:
            log.critical("security alert: %s", self._put(line).decode("utf-8", "replace").strip())

    async def close(self) -> None:
        """As the hook does."""
        if self._hook is not None:
            await self._hook.close()
