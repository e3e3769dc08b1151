"""A row of a benchmark, and the frame around every benchmark: options, output, exit code.

`python -m benchmarks.NAME` prints a table, `--json` one object a row: `name`, `ours`, `peer`,
`ratio` (ours / peer), `target`, `met`, then `test` (what was compared), units and extras. The exit
code is 0 however the figures are, and 1 when the benchmark could not be run.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Literal

from benchmarks.processes import Trouble

__all__ = ["Options", "Row", "main", "main_of_data"]

Test = Literal["", "ours >=", "ours <=", "ratio >=", "ratio <=", "added <="]


@dataclass(frozen=True)
class Row:
    """One figure of ours beside one of a peer."""

    name: str
    ours: float
    unit: str
    peer: float | None = None
    peer_name: str = ""
    target: float | None = None
    test: Test = ""
    """What `target` is held against: our figure, ours / peer, or ours - peer ("added")."""
    extras: Mapping[str, Any] = field(default_factory=dict)
    paired: float | None = None
    """The median of the ratios of single rounds, where they were measured in pairs."""

    @property
    def ratio(self) -> float | None:
        """Ours divided by the peer's."""
        if self.paired is not None:
            return self.paired
        return self.ours / self.peer if self.peer else None

    @property
    def judged(self) -> float | None:
        """The figure that the target is about."""
        if self.test.startswith("ratio"):
            return self.ratio
        if self.test.startswith("added"):
            return None if self.peer is None else self.ours - self.peer
        return self.ours

    @property
    def met(self) -> bool | None:
        """Whether the target is reached; None where there is none."""
        if self.target is None or not self.test:
            return None
        if self.judged is None:
            return False
        return self.judged >= self.target if ">" in self.test else self.judged <= self.target

    def as_json(self) -> str:
        """One object on one line."""
        found = {
            "name": self.name,
            "ours": round(self.ours, 4),
            "peer": None if self.peer is None else round(self.peer, 4),
            "ratio": None if self.ratio is None else round(self.ratio, 4),
            "target": self.target,
            "met": self.met,
            "test": f"{self.test} target" if self.test else "",
            "unit": self.unit,
            "peer_name": self.peer_name,
        }
        return json.dumps(found | dict(self.extras))

    def as_line(self) -> str:
        """One line of the table."""
        peer = f"{self.peer:>12,.2f}" if self.peer is not None else f"{'':>12}"
        ratio = f"{self.ratio:>9,.2f}" if self.ratio is not None else f"{'':>9}"
        target = f"{self.test} {self.target:,g}" if self.target is not None else ""
        verdict = {True: "met", False: "MISSED", None: ""}[self.met]
        extras = " ".join(f"{key}={value}" for key, value in self.extras.items())
        figures = f"{self.ours:>12,.2f} {self.unit:<8} {peer} {self.peer_name:<22} {ratio}"
        return f"{self.name:<34} {figures}  {target:<16} {verdict:<6}  {extras}".rstrip()


_HEAD = f"{'name':<34} {'ours':>12} {'unit':<8} {'peer':>12} {'':<22} {'ratio':>9}  target"


@dataclass(frozen=True)
class Options:
    """How long to measure, with what, and where files may be put."""

    folder: Path
    rounds: int = 3
    seconds: float = 1.5
    generator: str = "auto"


Run = Callable[[Options, ExitStack], Iterator[Row]]


def _leave(number: int, frame: FrameType | None) -> None:
    """End in order, so that everything that was started is ended."""
    del number, frame
    raise SystemExit(1)


def main(run: Run, about: str, arguments: list[str] | None = None) -> int:
    """Run one benchmark from the command line. `run` enters what it starts into the stack."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--rounds", type=int, default=Options.rounds)
    parser.add_argument("--seconds", type=float, default=Options.seconds, help="of one round")
    parser.add_argument("--generator", choices=("auto", "c", "python"), default="auto")
    asked = parser.parse_args(arguments)
    before = signal.signal(signal.SIGTERM, _leave)
    if not asked.json:
        print(_HEAD, flush=True)
    try:
        with tempfile.TemporaryDirectory(prefix="gatewright-bench-") as name, ExitStack() as stack:
            options = Options(Path(name), asked.rounds, asked.seconds, asked.generator)
            for row in run(options, stack):
                print(row.as_json() if asked.json else row.as_line(), flush=True)
    except Trouble as trouble:
        print(f"{run.__module__}: {trouble}", file=sys.stderr)
        return 1
    finally:
        signal.signal(signal.SIGTERM, before)
    return 0


def main_of_data(
    rows: Callable[[Path | None], Iterator[Row]], about: str, arguments: list[str] | None = None
) -> int:
    """Run a benchmark over a folder of labelled data; 1 when the folder is none."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--data", type=Path, default=None, help="the folder of labelled data")
    asked = parser.parse_args(arguments)
    if asked.data is not None and not asked.data.is_dir():
        print(f"{rows.__module__}: {asked.data} is no folder", file=sys.stderr)
        return 1
    for row in rows(asked.data):
        print(row.as_json() if asked.json else row.as_line(), flush=True)
    return 0
