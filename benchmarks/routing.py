"""Are mistakes in who is told what noticed? Mutants of the routing between callers and servers (`routing.toml`), made by hand, each one run
against the tests that mirror its file, those of the routing, and the two-sided model.

    python -m benchmarks.routing [--survivors] [--area tasks,logs] [--model] [--steps 2000]

Each stands in a copy of the package, never in the tree. A mutant whose text is no longer there is an error: it has to follow
the code. With `--model` the model alone judges.
"""

from __future__ import annotations

import argparse
import sys
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.overlay import SOURCE, caught, overlaid, twins
from benchmarks.processes import ROOT, Trouble
from benchmarks.rows import Row

__all__ = ["MUTANTS", "Mutant", "main", "mutated"]

TARGET = 95.0
PATIENCE_S = 240.0
STEPS = 2000
MODEL = ("tests/behaviour/test_two_sided.py",)
ROUTING = (
    "tests/links/test_questions_whose.py tests/links/test_questions.py tests/links/test_link.py tests/upstream/test_screen.py "
    "tests/upstream/test_asking.py tests/upstream/test_hub.py tests/serving/test_peer.py tests/serving/test_parked.py "
    "tests/behaviour/test_task_places.py"
).split()
"""What is quick and no twin of the file may fail as well."""


class Mutant(NamedTuple):
    """In a file of the package, one text in place of another, at the first place where it stands; `area` is what is led there."""

    area: str
    path: str
    before: str
    after: str


def _table() -> tuple[Mutant, ...]:
    found = tomllib.loads((Path(__file__).with_suffix(".toml")).read_text(encoding="utf-8"))
    return tuple(Mutant(**one) for one in found["mutant"])


MUTANTS = _table()


def main(arguments: list[str] | None = None) -> int:
    """0 when it could be run, whatever the figure."""
    parser = argparse.ArgumentParser(description="how many mistakes of routing the tests notice")
    parser.add_argument("--survivors", action="store_true", help="print each one")
    parser.add_argument("--each", action="store_true", help="print what noticed each one")
    parser.add_argument("--area", default="", help="only these, separated by commas")
    parser.add_argument("--model", action="store_true", help="the two-sided model alone judges")
    parser.add_argument("--steps", type=int, default=STEPS, help="steps of the model")
    options = parser.parse_args(arguments)
    chosen = [one for one in MUTANTS if not options.area or one.area in options.area.split(",")]
    by: Counter[str] = Counter()
    steps = {"GATEWRIGHT_MODEL_STEPS": str(options.steps)}
    with overlaid() as overlay:
        for one in chosen:
            groups = [MODEL] if options.model else _groups(one)
            file = SOURCE / one.path
            text = mutated(one, file.read_text(encoding="utf-8"))
            number = caught(overlay, file, text, groups, PATIENCE_S, steps)
            by["nobody" if not number else "model" if groups[number - 1] is MODEL else "tests"] += 1
            if options.each or (options.survivors and not number):
                said = f"caught by {'/'.join(groups[number - 1])[:60]}" if number else "survived"
                print(f"{said}: {one.area}: {one.path}: {one.before!r}", flush=True)
    extras = {"caught": len(chosen) - by["nobody"], "of": len(chosen), **by}
    share = 100.0 * (len(chosen) - by["nobody"]) / max(1, len(chosen))
    row = Row("mutation.routing", share, "%", target=TARGET, test="ours >=", extras=extras)
    print(row.as_json(), flush=True)
    return 0


def mutated(one: Mutant, text: str) -> str:
    """The text of its file with the mistake in it. Raises `Trouble` where that cannot be made any more."""
    if one.before not in text:
        raise Trouble(f"{one.path} has no {one.before!r} any more")
    return text.replace(one.before, one.after, 1)


def _groups(one: Mutant) -> list[Sequence[str]]:
    """What judges a mutant, what is quick first."""
    path = Path(one.path)
    own = [str(each) for each in twins(ROOT / "tests" / path.parent, path.stem)]
    return [each for each in (own, ROUTING, MODEL) if each]


if __name__ == "__main__":
    sys.exit(main())
