from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from gatewright.config.embedder import Embedder as Written
from gatewright.discovery.embedders.embedder import EmbeddingFailed, QueryLeftOut
from gatewright.discovery.embedders.local_model import LocalModel
from gatewright.transport.workers import Busy
from tests.discovery.embedders.models import onnx_model, static_model


async def test_a_process_makes_vectors_of_length_one(tmp_path: Path) -> None:
    written = Written(type="model", path="m", query_prefix="send ", tool_prefix="read ")
    model = LocalModel(written, onnx_model(tmp_path / "m"))
    try:
        said = await model.identity()
        tools = await model.embed(["file", "file"], asked=False)
        assert tools == pytest.approx(np.array([[1, 0.5, 0]] * 2) / 1.25**0.5)
        query = await model.embed(["mail"], asked=True)
        assert query == pytest.approx(np.array([[0, 0.5, 1]]) / 1.25**0.5)
    finally:
        await model.close()
    other = LocalModel(written, static_model(tmp_path / "n"))
    try:
        assert await other.identity() != said
    finally:
        await other.close()


async def test_a_folder_without_a_model_fails_with_why(tmp_path: Path) -> None:
    model = LocalModel(Written(type="model", path="m"), tmp_path)
    try:
        with pytest.raises(EmbeddingFailed, match=r"model\.onnx"):
            await model.identity()
    finally:
        await model.close()


@pytest.mark.parametrize("asked", [True, False])
async def test_a_query_for_which_there_is_no_place_is_no_failure_of_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: bool
) -> None:
    async def full(*_: object) -> None:
        raise Busy

    model = LocalModel(Written(type="model", path="m"), tmp_path)
    monkeypatch.setattr(model._workers, "run", full)
    with pytest.raises(EmbeddingFailed) as problem:
        await model.embed(["a"], asked=asked)
    assert isinstance(problem.value, QueryLeftOut) == asked
    await model.close()
