"""The benchmark of validators counts what it says it counts."""

import json
from pathlib import Path

import pytest

from benchmarks import validators
from benchmarks.validators import SETS, costs, rates


def test_rates_are_counted_by_label_and_category() -> None:
    rows = [
        {"category": "a", "input": "ls; id", "label": "block"},
        {"category": "a", "input": "ls", "label": "block"},
        {"category": "b", "input": "ls -la", "label": "allow"},
        {"category": "b", "input": "id > x", "label": "allow"},
        {"category": "shell.benign.unknown_program", "input": "own", "label": "allow"},
        {"category": "c", "input": "x", "label": "either"},
    ]
    found = {row.name: (row.ours, row.extras["of"]) for row in rates(SETS[0], rows)}
    assert found == {
        "shell.blocked": (50.0, 2),
        "shell.false": (50.0, 2),
        "shell.blocked.a": (50.0, 2),
        "shell.false.b": (50.0, 2),
        "shell.false.shell.benign.unknown_program": (100.0, 1),
    }


def test_lines_of_code_bring_their_level(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [
        {"category": "x", "input": "import requests", "label": "block", "level": "strict"},
        {"category": "x", "input": "import requests", "label": "allow", "level": "standard"},
    ]
    (tmp_path / "python_code.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert validators.main(["--json", "--data", str(tmp_path)]) == 0
    printed = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    found = {row["name"]: row["ours"] for row in printed}
    assert (found["python_code.blocked"], found["python_code.false"]) == (100.0, 0.0)
    assert {"cost.shell", "cost.network", "cost.python_code"} <= set(found)


def test_a_cost_is_a_time_for_each_input() -> None:
    assert costs("shell", lambda _: None, ["a"] * 100, 1.0).unit == "us"
    assert costs("python_code", lambda _: None, ["a" * 1024], 1.0).unit == "ms/KiB"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert validators.main(["--data", str(tmp_path / "none")]) == 1
