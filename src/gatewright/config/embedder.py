"""Settings of `[discovery.embedder]`: source of tool search's vectors: built-in table, OpenAI-compatible endpoint, local model."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.config.bounds import MILLISECONDS, Seconds

__all__ = ["Embedder"]

_Prefix = Annotated[str, Meta(max_length=200)]


class Embedder(msgspec.Struct, frozen=True, kw_only=True):
    """What tells the search how near the meaning of a query is to that of a tool.

    What is made of it stands beside the built-in vectors, not in their place. Nothing is downloaded.
    """

    type: Literal["built-in", "endpoint", "model"] = "built-in"
    """`built-in`: the word vectors of the package alone. `endpoint`: `POST {url}/embeddings`, as OpenAI, vLLM, Ollama and others have it.
    `model`: a folder on this machine; needs the extra `gatewright[embeddings]`."""
    url: Annotated[
        str, Meta(pattern=r"\A(https?://\S+)?\Z", examples=['"http://localhost:11434/v1"'])
    ] = ""
    """`endpoint`: the base URL. What tools say of themselves, and what is searched for, is sent there."""
    model: Annotated[str, Meta(max_length=200)] = ""
    """`endpoint`: the name of the model."""
    key: str = ""
    """`endpoint`: the key, sent as a bearer token; best as `${secret:NAME}`. Over plain `http` to another machine everybody on the way
    can read it: the log and `doctor` warn of that."""
    path: Annotated[str, Meta(max_length=4096)] = ""
    """`model`: the folder, relative to that of this file. It has `tokenizer.json`, and `model.onnx` (also in `onnx/`) or the static
    vectors of model2vec in `model.safetensors`."""
    query_prefix: _Prefix = ""
    """What some models want before a query, such as `query: `."""
    tool_prefix: _Prefix = ""
    """What some models want before any other text, such as `passage: `."""
    batch: Annotated[int, Meta(ge=1, le=256)] = 16
    """How many tools are asked about at a time."""
    batch_timeout_s: Seconds = 30.0
    """The time limit of one such batch."""
    query_timeout_ms: Annotated[int, Meta(ge=1, le=60_000, extra=MILLISECONDS)] = 500
    """How long a search waits for the vector of its query; then it goes on with the built-in vectors, and its answer says so."""

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"Embedder(type={self.type!r})"
