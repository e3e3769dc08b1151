from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gatewright.discovery.embedders.model_files import NEEDED, BadModel, files_of, opened
from tests.discovery.embedders.models import VECTORS, onnx_model, static_model


def test_an_onnx_model_is_pooled_over_its_tokens_and_not_over_padding(tmp_path: Path) -> None:
    model, digest = opened(onnx_model(tmp_path / "m"))
    rows = model.embed(["read file", "mail"])
    assert rows == pytest.approx(np.array([[1, 0.5, 0], [0, 0, 1]]))
    assert rows.dtype == np.float32
    assert len(digest) == 32


def test_the_first_token_stands_for_the_text_where_the_model_says_so(tmp_path: Path) -> None:
    model, other = opened(onnx_model(tmp_path / "m", first=True))
    assert model.embed(["read file"]) == pytest.approx(np.array([[1, 0, 0]]))
    assert other != opened(onnx_model(tmp_path / "n"))[1]


@pytest.mark.parametrize("kind", ["F32", "F16"])
def test_static_vectors_are_their_mean(tmp_path: Path, kind: str) -> None:
    vectors = VECTORS if kind == "F32" else VECTORS.astype(np.float16)
    model, _ = opened(static_model(tmp_path / "m", vectors, kind))
    rows = model.embed(["read file", ""])
    assert rows == pytest.approx(np.array([[1, 0.5, 0], [0, 0, 0]]))


def test_what_is_no_model_says_why(tmp_path: Path) -> None:
    with pytest.raises(BadModel, match=r"model\.onnx nor"):
        files_of(tmp_path)
    folder = onnx_model(tmp_path / "m")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(BadModel, match="tokenizer"):
        opened(folder)
    broken = onnx_model(tmp_path / "b")
    (broken / "model.onnx").write_bytes(b"\x08\x08nothing")
    with pytest.raises(BadModel, match="cannot be read"):
        opened(broken)


def test_a_tensor_is_as_long_as_it_says(tmp_path: Path) -> None:
    folder = static_model(tmp_path / "m")
    file = folder / "model.safetensors"
    file.write_bytes(file.read_bytes().replace(b"[6, 3]", b"[9, 9]"))
    with pytest.raises(BadModel, match="not as long"):
        opened(folder)
    file.write_bytes((1 << 40).to_bytes(8, "little"))
    with pytest.raises(BadModel, match="head"):
        opened(folder)


def test_what_the_extra_installs_is_what_is_needed() -> None:
    assert set(NEEDED) == {"onnxruntime", "tokenizers"}
