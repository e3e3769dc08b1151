"""`Embedder`: interface of what makes vectors of texts; checks of its vectors; its API key, model folder and identity from settings."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np
from numpy.typing import NDArray

from gatewright.config import Settings
from gatewright.config.embedder import Embedder as Written
from gatewright.config.setting_sources import folder_of, looked_up
from gatewright.discovery.postings import Floats
from gatewright.secret_scanning import HELD
from gatewright.web.urls import bare, is_loopback

__all__ = [
    "MOST_DIMENSIONS",
    "Embedder",
    "EmbeddingFailed",
    "QueryLeftOut",
    "key_in_clear_text",
    "key_of",
    "place_of",
    "said_of",
    "unit_rows",
]

MOST_DIMENSIONS = 4096
_TABLE = "discovery.embedder"


class EmbeddingFailed(Exception):  # noqa: N818 - what happened, not what is wrong with us
    """There are no vectors. The text says why."""


class QueryLeftOut(EmbeddingFailed):
    """There is no vector of this query, which says nothing of the next one."""


class Embedder(Protocol):
    """Makes vectors of texts. All of one identity have the same number of components."""

    async def identity(self) -> str:
        """What its vectors depend on: those of one identity may be compared. Raises `EmbeddingFailed`."""

    async def embed(self, texts: Sequence[str], *, asked: bool) -> Floats:
        """A row of length 1 for each text; `asked` are queries, others say what a tool is. Raises `EmbeddingFailed`."""

    async def close(self) -> None:
        """End what it has going on."""


def unit_rows(found: NDArray[np.floating[Any]], texts: int) -> Floats:
    """The rows, of length 1; those of nothing stay zero. Raises `EmbeddingFailed` where they are no vectors of so many texts."""
    if found.ndim != 2 or len(found) != texts or not 1 <= found.shape[1] <= MOST_DIMENSIONS:
        shape = " by ".join(map(str, found.shape))
        raise EmbeddingFailed(f"there are {shape} numbers for {texts} texts")
    with np.errstate(over="ignore"):  # what is too large has no length
        lengths = np.linalg.norm(found.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise EmbeddingFailed("a vector has components that are no numbers")
    rows: Floats = (found / np.maximum(lengths, 1e-12)).astype(np.float32)
    return rows


def key_of(settings: Settings) -> str:
    """The key of an endpoint, with what stands for `${…}` in it. Raises `Undefined`."""
    [key] = looked_up(settings, _TABLE, settings.discovery.embedder.key)
    HELD.hold("embedder", [key] if key else [])
    return key


def key_in_clear_text(written: Written) -> str:
    """What to say of a key that everybody on the way to the endpoint can read; empty where nobody can."""
    plain = written.url.partition(":")[0].casefold() == "http" and not is_loopback(written.url)
    if written.type != "endpoint" or not written.key or not plain:
        return ""
    return (
        f"its key, what tools say of themselves and what is searched for go to {bare(written.url)} without TLS: everybody on the way can "
        "read and change them"
    )


def place_of(settings: Settings) -> Path:
    """The folder of a local model."""
    return folder_of(settings, _TABLE) / Path(settings.discovery.embedder.path).expanduser()


def said_of(written: Written) -> str:
    """What of a table the vectors depend on."""
    parts = (written.type, written.url, written.model, written.query_prefix, written.tool_prefix)
    return msgspec.json.encode(parts).decode()
