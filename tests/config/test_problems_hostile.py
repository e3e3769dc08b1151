"""What is wrong with a file is said without repeating a secret of it, or anything that acts on a terminal."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.config import Settings, SettingsError
from gatewright.config.build import build
from gatewright.config.documents import Document, parse
from tests.config.examples import EXAMPLES

FORMED = "ghp_Canary0123456789AbCdEfGhIjKlMnOpQrSt"
SEEN = f"{FORMED}\u202e\x1b[2J"
DOCUMENTS = [json.loads(json.dumps(tomllib.loads(one), default=str)) for _, one in EXAMPLES]
WRONG: list[Any] = [SEEN, FORMED, [SEEN], {SEEN: SEEN}, {SEEN: {SEEN: SEEN}}, [{SEEN: SEEN}], -1]


def paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    inner = enumerate(value) if isinstance(value, list) else value.items()
    for key, one in inner:
        yield (*path, key)
        if isinstance(one, dict | list):
            yield from paths(one, (*path, key))


def changed(value: Any, path: tuple[Any, ...]) -> Iterator[Any]:
    for new in (None, *WRONG):
        for name in (path[-1], SEEN) if isinstance(path[-1], str) else (path[-1],):
            found = json.loads(json.dumps(value))
            inner = found
            for step in path[:-1]:
                inner = inner[step]
            kept = inner[path[-1]]
            if name != path[-1]:
                del inner[path[-1]]
            inner[name] = kept if new is None else new
            yield found


def told(data: Any) -> list[str]:
    try:
        found: Settings = build([Document(Path("mgp.toml"), data, {})], {}, Path("/state"))
    except SettingsError as problem:
        return [str(problem), *map(str, problem.problems)]
    problems = [one.problem for one in found.servers if one.problem is not None]
    return [str(one) for one in (*found.warnings, *problems)]


@pytest.mark.parametrize("number", range(len(DOCUMENTS)))
def test_no_message_about_a_file_repeats_a_secret_wherever_it_stands(number: int) -> None:
    """Every key of every example of the configuration reference, renamed and with wrong values."""
    for path in paths(DOCUMENTS[number]):
        for data in changed(DOCUMENTS[number], path):
            for line in told(data):
                assert FORMED not in line, (path, line)
                assert "\u202e" not in line, (path, line)
                assert "\x1b" not in line, (path, line)


@pytest.mark.parametrize(
    "text",
    [
        f'a = {{ "{FORMED}" = 1, "{FORMED}" = 2 }}',
        f'["{FORMED}"]\n["{FORMED}"]',
        f'"{FORMED}" = 1\n"{FORMED}" = 1',
        f"{FORMED}",
        f"a = {FORMED}",
        f'a = "{FORMED}',
        f'["{FORMED}".x]\n[["{FORMED}".x]]',
    ],
)
def test_nor_does_one_about_what_is_no_toml(text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text, Path("mgp.toml"))
    assert FORMED not in str(caught.value)
