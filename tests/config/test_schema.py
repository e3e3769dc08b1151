"""The schema for editors: it allows what the reader reads, and says what the reference says."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
import zipfile
from datetime import date, datetime, time
from pathlib import Path
from typing import Any

import jsonschema_rs
import msgspec
import pytest

from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.file_tables import FileTable
from gatewright.config.problems import SettingsError
from gatewright.config.reference import sentences
from gatewright.config.schema import FILE, TABLES, comment, rendered
from tests.config.examples import EXAMPLES
from tests.config.specified import SPECIFIED

ROOT = Path(__file__).resolve().parents[2]


def complaints(text: str) -> list[str]:
    """What the shipped schema has against a file."""
    shipped = json.loads(FILE.read_text())
    jsonschema_rs.meta.validate(shipped)
    data = json.loads(json.dumps(tomllib.loads(text), default=_moment))
    return [error.message for error in jsonschema_rs.validator_for(shipped).iter_errors(data)]


def _moment(value: Any) -> str:
    assert isinstance(value, datetime | date | time)
    return value.isoformat()


def test_every_shape_of_the_file_is_a_table_of_the_reference() -> None:
    _, parts = msgspec.json.schema_components([FileTable], ref_template="{name}")
    assert set(parts) == {FileTable.__name__, *(shape.__name__ for shape in TABLES.values())}


def test_the_shipped_schema_is_the_one_that_follows_from_the_shapes() -> None:
    assert FILE.read_bytes() == rendered(), "run: scripts/docs configuration"


def test_the_schema_describes_every_key_with_the_sentence_of_its_shape() -> None:
    shipped = json.loads(FILE.read_text())
    for shape in TABLES.values():
        described = {
            key: value["description"]
            for key, value in shipped["$defs"][shape.__name__]["properties"].items()
        }
        assert described == {key: one.replace("`", "") for key, one in sentences(shape).items()}
    tables = {name.partition(".")[0] for name in TABLES}
    assert {key for key, value in shipped["properties"].items() if value["description"]} == tables


@pytest.mark.parametrize(("page", "text"), EXAMPLES)
def test_every_example_of_the_reference_fits_the_schema(page: str, text: str) -> None:
    assert complaints(text) == [], page


@pytest.mark.parametrize("text", [SPECIFIED, (ROOT / "examples/mgp.toml").read_text(), ""])
def test_files_that_are_right_fit_the_schema(text: str) -> None:
    """MGP-15.2-2"""
    assert complaints(text) == []


WRONG = [
    SPECIFIED.replace('"standard"', '"high"'),
    SPECIFIED.replace('id = "mind.cerebras"\n', ""),
    SPECIFIED.replace('"mind.cerebras"', '"two words"'),
    SPECIFIED.replace('"on_failure"', '"sometimes"'),
    SPECIFIED.replace('"stdio"', '"pigeon"'),
    SPECIFIED.replace('args = ["mcp-servers/cerebras/server.py"]', 'args = "x"'),
    "[gateway]\nport = 70000\n",
    '[gateway]\nport = "8420"\n',
    "[limits]\ndepth = 0\n",
    '[gateway]\nanonymous = "maybe"\n',
    '[[grants]]\nagent = "a"\n',
    "[servers]\n",
]


@pytest.mark.parametrize("text", WRONG)
def test_what_the_reader_refuses_the_schema_refuses(text: str) -> None:
    with pytest.raises(SettingsError):
        build([parse(text, Path("mgp.toml"))], {}, Path("state"))
    assert complaints(text)


@pytest.mark.parametrize("text", ["[gatway]\n", "[gateway]\nprot = 1\n", "[storage]\nPath = 'x'\n"])
def test_what_the_reader_warns_of_the_schema_marks(text: str) -> None:
    assert build([parse(text, Path("mgp.toml"))], {}, Path("state")).warnings
    assert complaints(text)


def test_the_comment_names_the_schema_of_this_machine() -> None:
    assert comment() == f"#:schema {FILE.as_uri()}\n"
    assert parse(comment(), Path("mgp.toml")).data == {}


def test_the_wheel_has_the_schema(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=ROOT,
        check=True,
        capture_output=True,
        timeout=120,
    )
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as held:
        assert held.read("gatewright/config/mgp.schema.json") == FILE.read_bytes()
