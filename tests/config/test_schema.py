"""The schema for editors and the page about the file: both say what the reader does."""

from __future__ import annotations

import json
import re
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
from gatewright.config.problems import SettingsError
from gatewright.config.schema import FILE, TABLES, comment, documented, schema
from gatewright.config.shapes import FileTable
from tests.config.specified import SPECIFIED

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs/configuration.md").read_text()
BLOCKS = re.findall(r"^```toml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
VARIABLES = {"TEAM": "t", "CEREBRAS_API_KEY": "k"}


def complaints(text: str) -> list[str]:
    """What the shipped schema has against a file."""
    shipped = json.loads(FILE.read_text())
    jsonschema_rs.meta.validate(shipped)
    data = json.loads(json.dumps(tomllib.loads(text), default=_moment))
    return [error.message for error in jsonschema_rs.validator_for(shipped).iter_errors(data)]


def _moment(value: Any) -> str:
    assert isinstance(value, datetime | date | time)
    return value.isoformat()


def keys() -> dict[tuple[str, str], Any]:
    """(table, key) → default of every key that the reader knows."""
    found = {}
    for name, shape in TABLES.items():
        for field in msgspec.structs.fields(shape):
            found[name, field.name] = field.default
    return found


def test_every_key_is_on_the_page_and_the_page_names_no_other() -> None:
    assert set(documented(PAGE)) == set(keys())


def test_every_shape_of_the_file_is_a_table_of_the_page() -> None:
    _, parts = msgspec.json.schema_components([FileTable], ref_template="{name}")
    assert set(parts) == {FileTable.__name__, *(shape.__name__ for shape in TABLES.values())}


def test_the_page_says_the_defaults_that_hold() -> None:
    defaults = keys()
    for key, (default, _) in documented(PAGE).items():
        held = defaults[key]
        if default:
            value = tomllib.loads(f"v = {default.strip('`')}")["v"]
            assert value == (list(held) if isinstance(held, tuple) else held), key
        else:
            table = isinstance(held, tuple(TABLES.values()))  # its own part of the page says them
            assert table or held in {None, msgspec.NODEFAULT}, key


def test_the_shipped_schema_is_the_one_that_follows_from_shapes_and_page() -> None:
    assert json.loads(FILE.read_text()) == schema(documented(PAGE)), (
        "run: python -m gatewright.config.schema docs/configuration.md"
    )


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_every_block_of_the_page_loads_and_fits_the_schema(number: int, tmp_path: Path) -> None:
    text = BLOCKS[number]
    found = build([parse(text, tmp_path / "mgp.toml")], VARIABLES, tmp_path)
    assert found.warnings == ()
    assert complaints(text) == []
    problems = [one.problem.what for one in found.servers if one.problem is not None]
    assert all(re.fullmatch(r"the secret \S+ is not set", what) for what in problems)


def test_the_page_shows_every_table() -> None:
    shown: set[str] = set()
    for text in BLOCKS:
        for name in re.findall(r"^\[+([^\]]+)\]+$", text, re.MULTILINE):
            named = re.sub(r"^(servers\.tools|profiles|agents|rooms\.topics)\..*", r"\1.NAME", name)
            shown |= {named, *(named[: dot.start()] for dot in re.finditer(r"\.", named))}
    assert set(TABLES) <= shown


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
