"""`AuditFilling`: after a search, has a worker process read the older parts of the audit trail into the search index, then stops."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Protocol

from gatewright.audit.search import AuditSearch
from gatewright.console.audit_threads import AuditThreads
from gatewright.storage.errors import StoreError

__all__ = ["AuditFilling", "Reader"]

log = logging.getLogger("gatewright.console")


class Reader(Protocol):
    """Who reads blocks: `audit.offload.BlockReader`."""

    async def read(self, number: int) -> bytes:
        """One block, packed. Raises `StoreError`."""

    async def close(self) -> None:
        """Read no more."""


class AuditFilling:
    """Of one gateway, for all screens that search. Called on the event loop."""

    def __init__(
        self, search: AuditSearch, threads: AuditThreads, reader: Callable[[], Reader]
    ) -> None:
        """`reader` makes what reads, for each time that there is something to be read."""
        self._search = search
        self._beside = threads.run
        self._reader = reader
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Read what the index has not by now, unless that goes on already."""
        if self._task is None:
            self._task = asyncio.create_task(self._run())

    async def _run(self) -> None:
        try:
            # What is written meanwhile is read for whoever searches next.
            missing = await self._beside(self._search.missing)
            if missing:
                await self._read(missing)
        except StoreError:
            pass  # a search says so
        except Exception:
            log.exception("the index of the record broke; the next search goes on with it")
        finally:
            self._task = None

    async def _read(self, missing: list[int]) -> None:
        reader = self._reader()
        try:
            for number in missing:
                packed = await reader.read(number)
                await self._beside(self._search.adopt, packed)
        finally:
            await reader.close()
