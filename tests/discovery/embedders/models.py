"""Tiny embedding models in folders: an ONNX graph and static vectors, written byte by byte, with a tokenizer of a few words."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["WORDS", "onnx_model", "static_model"]

WORDS = ["[PAD]", "[UNK]", "read", "file", "mail", "send"]
VECTORS = np.array(
    [[0, 0, 0], [0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], dtype=np.float32
)


def _tokenizer(folder: Path) -> None:
    model = {
        "type": "WordLevel",
        "vocab": {word: at for at, word in enumerate(WORDS)},
        "unk_token": "[UNK]",
    }
    said: dict[str, Any] = {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [],
        "normalizer": None,
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": model,
    }
    (folder / "tokenizer.json").write_text(json.dumps(said))


def static_model(folder: Path, vectors: NDArray[Any] = VECTORS, kind: str = "F32") -> Path:
    """As model2vec writes it."""
    folder.mkdir(exist_ok=True)
    _tokenizer(folder)
    raw = vectors.tobytes()
    one = {"dtype": kind, "shape": list(vectors.shape), "data_offsets": [0, len(raw)]}
    head = json.dumps({"embeddings": one}).encode()
    (folder / "model.safetensors").write_bytes(len(head).to_bytes(8, "little") + head + raw)
    return folder


def onnx_model(folder: Path, *, first: bool = False) -> Path:
    """A graph that gives each token its vector; `first`: the first token stands for the text."""
    folder.mkdir(exist_ok=True)
    _tokenizer(folder)
    dims = b"".join(_number(1, size) for size in VECTORS.shape)
    table = dims + _number(2, 1) + _text(8, "table") + _bytes(9, VECTORS.tobytes())
    node = _text(1, "table") + _text(1, "input_ids") + _text(2, "tokens") + _text(4, "Gather")
    graph = (
        _bytes(1, node)
        + _text(2, "tiny")
        + _bytes(5, table)
        + _bytes(11, _value("input_ids", 7, 2))
        + _bytes(12, _value("tokens", 1, 3))
    )
    opset = _text(1, "") + _number(2, 17)
    (folder / "model.onnx").write_bytes(_number(1, 8) + _bytes(7, graph) + _bytes(8, opset))
    if first:
        (folder / "1_Pooling").mkdir()
        said = json.dumps({"pooling_mode_cls_token": True})
        (folder / "1_Pooling" / "config.json").write_text(said)
    return folder


def _value(name: str, kind: int, dimensions: int) -> bytes:
    """A tensor of so many dimensions of any size."""
    shape = b"".join(_bytes(1, _text(2, f"{name}_{at}")) for at in range(dimensions))
    return _text(1, name) + _bytes(2, _bytes(1, _number(1, kind) + _bytes(2, shape)))


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _text(field: int, value: str) -> bytes:
    return _bytes(field, value.encode())
