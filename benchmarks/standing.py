"""Are mistakes in what prepared calls rest on noticed? Each thing that is looked at with a call (`standing.toml`) is taken in turn for what it
was, and the tests of prepared calls run, then the model of calls among changes.

    python -m benchmarks.standing [--survivors] [--each] [--part 2/5] [--steps 500] [--only Layer.changes,Journal.fault]

Nothing is changed in a text: `tests.prepared_blind` does it to each prepared call that is made. What is equivalent is left out, with the reason in the table.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.processes import ROOT
from benchmarks.rows import Row

__all__ = ["BLIND", "Blind", "main"]

PATIENCE_S = 600.0
STEPS = 500
MODEL = ("tests/test_prepared_machine.py",)
GROUPS = (
    ("tests/test_prepared_rests.py", "tests/test_prepared_way.py"),
    ("tests/test_prepared.py", "tests/test_prepared_ends.py", "tests/test_prepared_shadow.py"),
    MODEL,
)


class Blind(NamedTuple):
    """What is not looked at, by the name that `tests.prepared_blind` has for it."""

    name: str
    equivalent: str = ""
    """Why no call would be another; empty where one is."""


def _table() -> tuple[Blind, ...]:
    found = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
    return tuple(Blind(**one) for one in found["blind"])


BLIND = _table()


def main(arguments: list[str] | None = None) -> int:
    """0 when it could be run, whatever the figure."""
    parser = argparse.ArgumentParser(description="how many mistakes of prepared calls tests notice")
    parser.add_argument("--survivors", action="store_true", help="print each one")
    parser.add_argument("--each", action="store_true", help="print what noticed each one")
    parser.add_argument("--part", default="1/1", help="one of so many parts: 2/5")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the model")
    parser.add_argument("--only", default="", help="these, separated by commas, equivalent or not")
    options = parser.parse_args(arguments)
    part, _, parts = options.part.partition("/")
    only = options.only.split(",") if options.only else []
    chosen = [one for one in BLIND if (one.name in only if only else not one.equivalent)]
    chosen = chosen[int(part) - 1 :: int(parts)]
    caught = 0
    for one in chosen:
        noticed = next((each for each in GROUPS if _fails(one.name, each, options.steps)), ())
        caught += bool(noticed)
        if options.each or (options.survivors and not noticed):
            said = f"caught by {' '.join(noticed)}" if noticed else "survived"
            print(f"{said}: {one.name}", flush=True)
    share = 100.0 * caught / max(1, len(chosen))
    extras = {"caught": caught, "of": len(chosen)}
    row = Row("mutation.standing", share, "%", target=100.0, test="ours >=", extras=extras)
    print(row.as_json(), flush=True)
    return 0


def _fails(name: str, tests: Sequence[str], steps: int) -> bool:
    options = ["-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "-p", "tests.prepared_blind"]
    found = {"PREPARED_BLIND": name, "PREPARED_STEPS": str(steps)}
    try:
        done = subprocess.run(
            [sys.executable, *options, *tests],
            check=False,
            cwd=ROOT,
            env={**os.environ, **found},
            capture_output=True,
            timeout=PATIENCE_S,
        )
    except subprocess.TimeoutExpired:
        return True
    return bool(done.returncode)


if __name__ == "__main__":
    sys.exit(main())
