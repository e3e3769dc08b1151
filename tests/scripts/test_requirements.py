"""`scripts/requirements` counts what tests name and refuses what they invent."""

from __future__ import annotations

import importlib.util
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent

# Put together, so that this file names no requirement itself.
KNOWN = ["MGP" + "-1.1-1", "MGP" + "-1.1-2", "GRH" + "-errors-3"]


@pytest.fixture
def script() -> ModuleType:
    loader = SourceFileLoader("requirements_script", str(ROOT / "scripts/requirements"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / "docs").mkdir(parents=True)
    (root / "docs/requirements-ids.txt").write_text("\n".join(KNOWN), encoding="utf-8")
    (root / "tests/deep").mkdir(parents=True)
    return root


def _name(project: Path, *ids: str) -> None:
    (project / "tests/deep/test_it.py").write_text("\n".join(ids), encoding="utf-8")


def test_it_prints_covered_and_total_for_each_specification(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _name(project, KNOWN[0], KNOWN[2])
    assert script.main([], project) == 0
    assert capsys.readouterr().out.splitlines() == [
        "MGP  1/2",
        "MCPX 0/0",
        "GGEN 0/0",
        "GRH  1/1",
        "CDM  0/0",
    ]


def test_it_fails_on_an_id_that_the_specification_does_not_have(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    invented = "CDM" + "-9-9"
    _name(project, invented)
    assert script.main([], project) == 1
    assert capsys.readouterr().err == (
        f"unknown requirement {invented}, named in tests/deep/test_it.py\n"
    )


def test_it_lists_what_no_test_names_yet(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _name(project, KNOWN[0])
    assert script.main(["--missing", "MGP"], project) == 0
    assert capsys.readouterr().out == f"{KNOWN[1]}\n"


def test_the_specification_beside_the_repository_wins_over_the_copy(
    script: ModuleType, project: Path
) -> None:
    specification = project.parent / "shared/spec"
    specification.mkdir(parents=True)
    row = "MCPX" + "-2-1"
    text = f"| id | what |\n| {row} | it works |\nprose that names {KNOWN[0]}\n"
    (specification / "requirements.md").write_text(text, encoding="utf-8")
    assert script.known_ids(project) == [row]


def test_the_kept_copy_of_the_ids_equals_the_specification(script: ModuleType) -> None:
    kept = (ROOT / "docs/requirements-ids.txt").read_text(encoding="utf-8").split()
    assert script.known_ids() == kept
