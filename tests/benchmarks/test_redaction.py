"""The benchmark of redaction counts what it says it counts."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import redaction
from benchmarks.redaction import rates

TOKEN = "gh" + "p_" + "a1B2c3D4e5F6" * 3


def test_rates_are_counted_by_label_category_and_half_of_the_rules() -> None:
    sealed = {"input": f"TOKEN={TOKEN}", "secrets": [TOKEN]}
    rows: list[dict[str, Any]] = [
        {
            "category": "a",
            "label": "block",
            "rule": "one",
            "b64": base64.b64encode(json.dumps(sealed).encode()).decode(),
        },
        {"category": "a", "label": "block", "rule": "two", "input": "q7x", "secrets": ["q7x"]},
        {"category": "b", "label": "allow", "input": "nothing here", "secrets": []},
    ]
    found = {row.name: (row.ours, row.extras["of"]) for row in rates("secrets", rows)}
    assert found == {
        "secrets.found": (50.0, 2),
        "secrets.found.a": (50.0, 2),
        "secrets.found.half_1_of_the_rules": (100.0, 1),
        "secrets.found.half_2_of_the_rules": (0.0, 1),
        "secrets.false": (0.0, 1),
        "secrets.false.b": (0.0, 1),
    }


def test_json_is_judged_as_structured_content_too() -> None:
    rows = [
        {
            "category": "a",
            "label": "block",
            "input": '{"password":"letmein"}',
            "secrets": ["letmein"],
        }
    ]
    assert next(rates("secrets", rows)).ours == 100.0


def test_a_folder_that_is_none_ends_with_an_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert redaction.main(["--data", str(tmp_path / "none")]) == 1
    assert "is no folder" in capsys.readouterr().err
