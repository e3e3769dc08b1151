"""Embeddings from an OpenAI-compatible HTTP endpoint (`POST …/embeddings`): batches, time limits, bounded and checked answers."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence

import msgspec
import numpy as np

from gatewright.config.embedder import Embedder as Written
from gatewright.config.substitute import Undefined
from gatewright.discovery.embedders.embedder import (
    MOST_DIMENSIONS,
    Embedder,
    EmbeddingFailed,
    QueryLeftOut,
    unit_rows,
)
from gatewright.discovery.embedders.embedder_settings import said_of
from gatewright.discovery.postings import Floats
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.safe_fetch import Egress, EgressFailed

__all__ = ["Endpoint"]

_NUMBER_BYTES = 32
_AROUND_BYTES = 4096
_SAID_CHARS = 200
_OF_THE_TEXT = (400, 413, 422)
"""A refusal of what was asked; others (the key, the model, too many requests) are of whoever asks next as well."""


class _Vector(msgspec.Struct):
    index: int
    embedding: list[float]


class _Answer(msgspec.Struct):
    data: list[_Vector]


_decode = msgspec.json.Decoder(_Answer).decode


class Endpoint(Embedder):
    """Asks an endpoint that the operator named, so it may be in the own network."""

    def __init__(self, written: Written, key: Callable[[], str]) -> None:
        """`key` says the key, empty where there is none; in a thread, for a keyring may ask its user first. Raises `Undefined`."""
        self._key = key
        self._reading = asyncio.Lock()
        self._headers: Mapping[str, str] | None = None
        self._written = written
        self._url = f"{written.url.rstrip('/')}/embeddings"
        most = written.batch * MOST_DIMENSIONS * _NUMBER_BYTES + _AROUND_BYTES
        self._batches = Egress(seconds=written.batch_timeout_s, most_bytes=most)
        most = MOST_DIMENSIONS * _NUMBER_BYTES + _AROUND_BYTES
        self._queries = Egress(seconds=written.query_timeout_ms / 1000, most_bytes=most)

    async def identity(self) -> str:
        return said_of(self._written)

    async def embed(self, texts: Sequence[str], *, asked: bool) -> Floats:
        prefix = self._written.query_prefix if asked else self._written.tool_prefix
        order = {
            "model": self._written.model,
            "input": [f"{prefix}{text}" for text in texts],
            "encoding_format": "float",
        }
        egress = self._queries if asked else self._batches
        try:
            status, body = await egress.ask(
                self._url, await self._known(), msgspec.json.encode(order), outside=False
            )
        except EgressFailed as problem:
            raise EmbeddingFailed(str(problem)) from None
        if status != 200:
            said = body[:_SAID_CHARS].decode(errors="replace")
            failed = QueryLeftOut if asked and status in _OF_THE_TEXT else EmbeddingFailed
            raise failed(f"the endpoint answered HTTP {status}: {said}")
        # Thousands of numbers take some milliseconds.
        return await asyncio.to_thread(_read, body, len(texts))

    async def _known(self) -> Mapping[str, str]:
        """The headers, once the key is known. What it is made of may be there the next time."""
        async with self._reading:
            if self._headers is None:
                try:
                    key = await asyncio.to_thread(self._key)
                except Undefined as problem:
                    raise EmbeddingFailed(f"{problem.what}: {problem.instead}") from None
                bearer = {"Authorization": f"Bearer {key}"} if key else {}
                self._headers = {"Content-Type": "application/json", **bearer}
            return self._headers

    async def close(self) -> None:
        """Nothing is kept between two batches."""


def _read(body: bytes, texts: int) -> Floats:
    """The vectors of an answer, in the order of the texts."""
    if why := jsonrpc.heavy(body):
        raise EmbeddingFailed(f"the endpoint answered too much at a time, lower batch: {why}")
    try:
        found = sorted(_decode(body).data, key=lambda one: one.index)
    except msgspec.MsgspecError as problem:
        raise EmbeddingFailed(
            f"the endpoint answered what is no list of vectors: {problem}"
        ) from None
    if [one.index for one in found] != list(range(texts)):
        raise EmbeddingFailed(f"the endpoint answered {len(found)} vectors for {texts} texts")
    if len({len(one.embedding) for one in found}) > 1:
        raise EmbeddingFailed("the endpoint answered vectors of different lengths")
    return unit_rows(np.array([one.embedding for one in found], dtype=np.float64), texts)
