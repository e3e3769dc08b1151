from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.retrieval import main, ndcg, recall
from tests.discovery.embedders.models import onnx_model


def test_grades_are_those_of_the_literature() -> None:
    assert recall(["a", "b", "c"], ["a", "z"]) == 0.5
    assert recall(list("bcdefa"), ["a"]) == 0
    assert ndcg(["a"], ["a"]) == 1
    assert ndcg(["x", "a"], ["a"]) == pytest.approx(0.6309, abs=1e-4)
    assert ndcg(["x"], ["a"]) == 0


def test_each_strategy_has_its_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools, queries = tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"
    tools.write_text(
        "\n".join(
            json.dumps({"tool_id": name, "name": name, "description": name.replace("_", " ")})
            for name in ("read_file", "send_email", "get_weather")
        ),
        encoding="utf-8",
    )
    queries.write_text(
        json.dumps({"query": "read file", "relevant": ["read_file"], "kind": "k", "lang": "en"}) + "\n"
        + json.dumps({"query": "weather", "relevant": ["get_weather"], "kind": "k"}),
        encoding="utf-8",
    )  # fmt: skip
    assert main([str(tools), str(queries)]) == 0
    said = capsys.readouterr().out
    assert said.count("1.000 / 1.000   (2)") == 8
    for name in ("bm25", "keyword", "semantic", "auto"):
        assert f"\n{name}: " in said
    assert main([str(tools), str(queries), str(onnx_model(tmp_path / "model"))]) == 0
    said = capsys.readouterr().out
    for name in ("auto", "semantic+model", "auto+model"):
        assert f"\n{name}: " in said
