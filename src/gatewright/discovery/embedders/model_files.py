"""Runs a local embedding model from a folder, offline: ONNX sentence encoders (mean or CLS pooling), or static token vectors (safetensors).

For a worker process: `onnxruntime` and `tokenizers` are loaded here. Nothing is downloaded, and no code of the folder is run.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import msgspec
import numpy as np

from gatewright.discovery.postings import Floats

__all__ = ["NEEDED", "BadModel", "Model", "files_of", "opened"]

NEEDED = ("onnxruntime", "tokenizers")
"""What the extra installs."""
_MOST_TOKENS = 256
_TOKENIZER_BYTES = 64 * 1024 * 1024
_MODEL_BYTES = 4 * 2**30
_HEAD_BYTES = 1024 * 1024
_KINDS: dict[str, type[Any]] = {"F32": np.float32, "F16": np.float16, "I64": np.int64}
_POOLING = Path("1_Pooling", "config.json")


class BadModel(Exception):  # noqa: N818 - what is wrong with a folder
    """It is no model that can be run. The text says why."""


class Model(Protocol):
    """A model that was read."""

    def embed(self, texts: Sequence[str]) -> Floats:
        """A row for each text."""


def files_of(folder: Path) -> tuple[Path, Path]:
    """The tokenizer and the model of a folder. Raises `BadModel`."""
    tokenizer = folder / "tokenizer.json"
    models = [folder / one for one in ("model.onnx", "onnx/model.onnx", "model.safetensors")]
    model = next((one for one in models if one.is_file()), None)
    if model is None or not tokenizer.is_file():
        lacking = "tokenizer.json" if model is not None else "model.onnx nor model.safetensors"
        raise BadModel(f"{folder} has no {lacking}")
    for file, most in ((tokenizer, _TOKENIZER_BYTES), (model, _MODEL_BYTES)):
        if file.stat().st_size > most:
            raise BadModel(f"{file} has more than {most} bytes")
    return tokenizer, model


def opened(folder: Path) -> tuple[Model, str]:
    """The model of a folder, and a digest of what it is made of. Raises `BadModel`, `OSError`."""
    tokenizer, model = files_of(folder)
    digest = hashlib.blake2b(digest_size=16)
    for file in (tokenizer, model, folder / _POOLING):
        if file.is_file():
            with file.open("rb") as content:
                digest.update(hashlib.file_digest(content, "sha256").digest())
    try:
        made = _Static if model.suffix == ".safetensors" else _Onnx
        return made(folder, tokenizer, model), digest.hexdigest()
    except (OSError, BadModel):
        raise
    except Exception as problem:  # noqa: BLE001 - the libraries raise what they like
        raise BadModel(f"{model} cannot be read: {problem}"[:300]) from None


class _Onnx:
    """A transformer: token vectors that are pooled here, or sentence vectors as they are."""

    def __init__(self, folder: Path, tokenizer: Path, model: Path) -> None:
        import onnxruntime  # type: ignore[import-untyped] # noqa: PLC0415 - an extra
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        self._tokenizer.enable_truncation(_MOST_TOKENS)
        self._tokenizer.enable_padding()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 4
        self._session = onnxruntime.InferenceSession(
            str(model), options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [one.name for one in self._session.get_inputs()]
        said = folder / _POOLING
        pooling = msgspec.json.decode(said.read_bytes()) if said.is_file() else {}
        self._first = bool(pooling.get("pooling_mode_cls_token"))

    def embed(self, texts: Sequence[str]) -> Floats:
        told = self._tokenizer.encode_batch(list(texts))
        ids = np.array([one.ids for one in told], dtype=np.int64)
        mask = np.array([one.attention_mask for one in told], dtype=np.int64)
        given = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
        found = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        if found.ndim == 2:
            return np.asarray(found, dtype=np.float32)
        if self._first:
            return np.asarray(found[:, 0], dtype=np.float32)
        counts = np.maximum(mask.sum(axis=1, keepdims=True), 1)
        return np.asarray((found * mask[:, :, None]).sum(axis=1) / counts, dtype=np.float32)


class _Static:
    """A vector for each token, and their mean."""

    def __init__(self, folder: Path, tokenizer: Path, model: Path) -> None:
        from tokenizers import Tokenizer  # noqa: PLC0415 - an extra

        del folder
        self._tokenizer = Tokenizer.from_file(str(tokenizer))
        held = _tensors(model)
        vectors = held.get("embeddings", held.get("embedding.weight"))
        if vectors is None or vectors.ndim != 2:
            raise BadModel(f"{model} has no tensor `embeddings` of two dimensions")
        self._vectors = vectors.astype(np.float32)
        self._weights = held.get("weights")
        self._mapping = held.get("mapping")

    def embed(self, texts: Sequence[str]) -> Floats:
        rows = np.zeros((len(texts), self._vectors.shape[1]), dtype=np.float32)
        told = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        for row, one in enumerate(told):
            ids = np.array(one.ids[: 2 * _MOST_TOKENS], dtype=np.intp)
            at = ids if self._mapping is None else self._mapping[ids]
            if len(at):
                vectors = self._vectors[at]
                if self._weights is not None:
                    vectors = vectors * self._weights[ids][:, None]
                rows[row] = vectors.mean(axis=0)
        return rows


def _tensors(file: Path) -> dict[str, np.ndarray[Any, Any]]:
    """The tensors of a safetensors file: a length, a JSON head with kind, shape and place of each, and the bytes."""
    with file.open("rb") as content:
        size = int.from_bytes(content.read(8), "little")
        if size > _HEAD_BYTES:
            raise BadModel(f"the head of {file} has more than {_HEAD_BYTES} bytes")
        head = msgspec.json.decode(content.read(size))
        held = {}
        for name, one in head.items():
            kind = _KINDS.get(one.get("dtype"))
            if kind is None:
                continue
            start, end = one["data_offsets"]
            if not 0 <= start <= end or end - start != math.prod(one["shape"]) * kind().itemsize:
                raise BadModel(f"tensor {name} of {file} is not as long as it says")
            content.seek(8 + size + start)
            held[name] = np.frombuffer(content.read(end - start), kind).reshape(one["shape"])
    return held
