from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np

from gatewright.discovery.embedders.worker import answered
from tests.discovery.embedders.models import onnx_model


def test_an_order_has_a_folder_and_texts_and_its_answer_numbers(tmp_path: Path) -> None:
    folder = str(onnx_model(tmp_path / "m")).encode()
    said, numbers = answered(folder, msgspec.json.encode(["mail", "read"]))
    assert (said["rows"], said["columns"]) == (2, 3)
    assert np.frombuffer(numbers, np.float32).tolist() == [0, 0, 1, 1, 0, 0]
    assert answered(folder, b"[]")[0]["digest"] == said["digest"]


def test_what_cannot_be_done_is_said(tmp_path: Path) -> None:
    said, numbers = answered(str(tmp_path).encode(), b"[]")
    assert "has no model.onnx" in said["error"]
    assert numbers == b""
    folder = str(onnx_model(tmp_path / "m")).encode()
    assert "error" in answered(folder, b"{}")[0]
