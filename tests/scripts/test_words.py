"""`scripts/words` finds words that the field has better ones for, and lets what is allowed only shrink."""

from __future__ import annotations

import importlib.util
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parent.parent.parent
WORDS = """
terms = ["resource link"]

[[word]]
words = ["door", "doors"]
say = "endpoint"
in = ["file", "name", "line"]

[[word]]
words = ["link"]
say = "client connection"
in = ["line"]

[[word]]
words = ["what is said of"]
say = "claim"
in = ["line"]
"""


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    loader = SourceFileLoader("words_script", str(ROOT / "scripts/words"))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src/gatewright/mcp").mkdir(parents=True)
    return tmp_path


def _run(script: ModuleType, project: Path, allowed: str = "") -> int:
    words = project / "words.toml"
    words.write_text(WORDS + allowed, encoding="utf-8")
    code = script.main(project, words)
    assert isinstance(code, int)
    return code


def _write(project: Path, name: str, text: str) -> None:
    (project / "src/gatewright" / name).write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("GroundhogDoor", ["groundhog", "door"]),
        ("line_door", ["line", "door"]),
        ("_HTTPDoor2", ["http", "door2"]),
        ("indoors", ["indoors"]),
    ],
)
def test_a_name_is_read_as_its_whole_words(script: ModuleType, name: str, words: list[str]) -> None:
    assert script.whole_words(name) == words


def test_a_tree_in_the_words_of_the_field_passes(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(project, "mcp/indoors.py", '"""Reads `[limits.doors]` and resource links\' order."""\n')
    assert _run(script, project) == 0
    assert capsys.readouterr() == ("words: 0 to change, 0 allowed\n", "")


def test_a_word_is_told_with_its_place_and_the_word_to_use(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(project, "mcp/door.py", '"""The door, and What is said of it."""\n\n\nclass Door: ...\n')
    assert _run(script, project) == 1
    place = "src/gatewright/mcp/door.py"
    line = "'The door, and What is said of it.'"
    assert capsys.readouterr().err.splitlines() == [
        f"{place}:1: 'door' in the line {line}: say endpoint",
        f"{place}:1: 'what is said of' in the line {line}: say claim",
        f"{place}:1: 'door' in the file 'mcp/door.py': say endpoint",
        f"{place}:4: 'door' in the name 'Door': say endpoint",
    ]


def test_a_term_of_the_field_is_no_breach_and_the_word_alone_is_one(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _write(project, "mcp/a.py", '"""Follows a resource link."""\n')
    assert _run(script, project) == 0
    _write(project, "mcp/a.py", '"""Follows a resource link over a link."""\n')
    assert _run(script, project) == 1
    assert "'link' in the line" in capsys.readouterr().err


def test_what_is_allowed_may_shrink_and_not_grow(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = '[allowed]\nfiles = ["door.py"]\n[allowed.names]\nDoor = 1\nopen_door = 2\n'
    _write(
        project, "door.py", '"""Opens."""\n\n\nclass Door:\n    def open_door(self) -> None: ...\n'
    )
    assert _run(script, project, allowed) == 0
    assert capsys.readouterr().out.splitlines() == [
        "words.toml: open_door is allowed 2 times and defined 1 times",
        "words: 0 to change, 3 allowed",
    ]
    _write(project, "second.py", '"""Closes."""\n\n\nclass Door: ...\n')
    assert _run(script, project, allowed) == 1
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_an_allowance_for_a_file_that_is_gone_is_told(
    script: ModuleType, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(script, project, '[allowed]\nfiles = ["door.py"]\n') == 0
    assert capsys.readouterr().out.splitlines()[0] == "words.toml: door.py needs no allowance"


def test_first_lines_have_no_allowance(script: ModuleType, project: Path) -> None:
    _write(project, "door.py", '"""The door."""\n')
    assert _run(script, project, '[allowed]\nfiles = ["door.py"]\n') == 1


def test_this_tree_has_no_word_beyond_its_allowance(
    script: ModuleType, capsys: pytest.CaptureFixture[str]
) -> None:
    assert script.main() == 0, capsys.readouterr().err
