"""Embeddings from a local model: asks one worker process, which reads the model once, runs offline, and is ended where it takes too long."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from gatewright.config.embedder import Embedder as Written
from gatewright.discovery.embedders.embedder import (
    MOST_DIMENSIONS,
    Embedder,
    EmbeddingFailed,
    QueryLeftOut,
    unit_rows,
)
from gatewright.discovery.embedders.embedder_settings import said_of
from gatewright.discovery.embedders.worker import MODULE
from gatewright.discovery.postings import Floats
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["LocalModel"]

_LOAD_S = 60
"""Seconds in which a model is read; every order may be the first one of a process."""


class LocalModel(Embedder):
    """Asks the process. Belongs to the loop on which it is used."""

    def __init__(self, written: Written, folder: Path) -> None:
        self._written = written
        self._folder = str(folder).encode()
        most = written.batch * MOST_DIMENSIONS * np.float32().itemsize + 4096
        self._workers = Workers(MODULE, most=1, answer_bytes=most)

    async def identity(self) -> str:
        said, _ = await self._ordered([], asked=False)
        return f"{said['digest']} {said_of(self._written)}"

    async def embed(self, texts: Sequence[str], *, asked: bool) -> Floats:
        prefix = self._written.query_prefix if asked else self._written.tool_prefix
        said, numbers = await self._ordered([f"{prefix}{text}" for text in texts], asked=asked)
        found = np.frombuffer(numbers, np.float32).reshape(said["rows"], said["columns"])
        return unit_rows(found, len(texts))

    async def close(self) -> None:
        await self._workers.close()

    async def _ordered(self, texts: Sequence[str], *, asked: bool) -> tuple[dict[str, Any], bytes]:
        # Of those that wait the one goes first of whom none is at work: a query does not wait for all tools.
        seconds = _LOAD_S + math.ceil(self._written.batch_timeout_s)
        load = msgspec.json.encode(texts)
        try:
            head, numbers = await self._workers.run(asked, self._folder, load, seconds)
        except Busy:
            failed = QueryLeftOut if asked else EmbeddingFailed
            raise failed("too much waits for the model") from None
        except Overtime:
            raise EmbeddingFailed(f"the model did not answer in {seconds} s") from None
        said: dict[str, Any] = msgspec.json.decode(head)
        if "error" in said:
            raise EmbeddingFailed(said["error"])
        return said, numbers
