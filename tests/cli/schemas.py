"""Holds what a command printed with `--json` against the schema of that command."""

from __future__ import annotations

import json
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

import gatewright.cli
from gatewright.cli.app import tree
from gatewright.cli.global_options import leaves

__all__ = ["FOLDER", "commands", "conform", "schema_file"]

FOLDER = Path(gatewright.cli.__file__).parent / "schemas"


@cache
def commands() -> dict[tuple[str, ...], Any]:
    """Every command of the tree by its words."""
    return dict(leaves(tree()))


def schema_file(words: Sequence[str]) -> Path:
    """Where the schema of a command is kept."""
    return FOLDER / f"{'.'.join(words)}.json"


def conform(arguments: Sequence[str], out: str) -> None:
    """Fail unless the output is what the schema of the command says; nothing without `--json`."""
    words = _words(arguments)
    if words is None or not out or "--json" not in arguments:
        return
    path = schema_file(words)
    assert path.exists(), f"the output of this command has no schema yet: write {path.name}"
    schema = json.loads(path.read_text())
    validator = jsonschema_rs.validator_for(schema)
    texts = out.splitlines() if schema.get("x-ndjson") else [out]
    for text in texts:
        errors = [
            f"{list(one.instance_path)}: {one.message}"
            for one in validator.iter_errors(json.loads(text))
        ]
        assert not errors, (words, errors, text[:500])


def _words(arguments: Sequence[str]) -> tuple[str, ...] | None:
    words = [one for one in arguments if not one.startswith("-")]
    found = [path for path in commands() if tuple(words[: len(path)]) == path]
    return found[0] if found else None
