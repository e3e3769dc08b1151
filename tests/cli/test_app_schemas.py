"""Every command of the tree: what it prints with `--json` has a schema, and those without are known."""

import json
from pathlib import Path

import jsonschema_rs
import pytest

from tests.cli.schemas import FOLDER, commands, conform, schema_file

NO_READS = {
    *("audit export", "bridge", "completion", "run", "serve"),
    *("room bridge", "room join", "room serve"),
}
"""What runs until it is told to stop, or prints a form of its own for another program."""


def json_commands() -> list[tuple[str, ...]]:
    return [words for words, one in commands().items() if any(p.name == "json" for p in one.params)]


def test_every_command_answers_in_json_but_those_that_run_on() -> None:
    without = {" ".join(words) for words in set(commands()) - set(json_commands())}
    assert without == NO_READS


def test_every_command_with_json_has_a_schema_and_no_schema_is_left_over() -> None:
    wanted = {schema_file(words).name for words in json_commands()}
    assert {path.name for path in FOLDER.iterdir()} == wanted


@pytest.mark.parametrize("path", sorted(FOLDER.iterdir()), ids=lambda path: path.stem)
def test_a_schema_is_valid_and_says_what_it_is_about(path: Path) -> None:
    schema = json.loads(path.read_text())
    jsonschema_rs.meta.validate(schema)
    assert schema["title"] == f"gatewright {path.stem.replace('.', ' ')} --json"
    assert schema["description"].endswith(".")


def test_an_output_of_another_shape_is_noticed() -> None:
    with pytest.raises(AssertionError, match="is not of type"):
        conform(["version", "--json"], "[]")


def test_a_line_of_a_stream_of_another_shape_is_noticed() -> None:
    with pytest.raises(AssertionError, match="required"):
        conform(["audit", "tail", "-n", "3", "--json"], '{"a": 1}\n')
