"""Lines that the validator of shell commands allows really run, with inert files: none may change or reach anything that its preset forbids.

    python -m benchmarks.allowed_lines [--lines 2000] [--seed 1] [--preset inspect] [--program NAME ...]

Each line is made from the table of programs, allowed by the preset, and runs alone in a namespace without network, where all of the machine
can only be read (`line_rooms`). `inspect` changes no file and opens no connection; `develop` changes nothing outside of the workspace and
`/tmp`. bubblewrap and strace must be installed. Exit code 0 when so many lines ran and nothing was seen.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from benchmarks.line_maker import installed, lines
from benchmarks.line_rooms import Deeds, Room, ready
from gatewright.validators.sandbox import prepare

__all__ = ["Seen", "allowed", "main", "watched"]


_TOLD = 100
"""After how many lines it says how far it is."""


class Seen(NamedTuple):
    """A line, and what it did."""

    line: str
    deeds: Deeds


def allowed(preset: str, seed: int, programs: Sequence[str] = ()) -> Iterator[str]:
    """Lines that a preset allows, each once, without an end."""
    sandbox = prepare({"allow": [preset]})
    entries = installed(programs)
    told: set[str] = set()
    for line in lines(Random(seed), entries):
        if line not in told and sandbox.judge(line) is None:
            told.add(line)
            yield line


def watched(preset: str, count: int, seed: int, folder: Path, programs: Sequence[str] = ()) -> Iterator[Seen]:  # fmt: skip
    """So many allowed lines, run one after the other."""
    room = Room(folder, writes=preset == "develop")
    for line, _ in zip(allowed(preset, seed, programs), range(count), strict=False):
        deeds = room.run(line)
        # Work may use the network.
        yield Seen(line, deeds._replace(connections=()) if preset == "develop" else deeds)


def main(arguments: list[str] | None = None) -> int:
    """0 when all ran and nothing was seen."""
    parser = argparse.ArgumentParser(description="allowed shell lines really run")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--preset", choices=("inspect", "develop"), default="inspect")
    parser.add_argument("--program", action="append", default=[], help="only lines of these")
    asked = parser.parse_args(arguments)
    if missing := ready():
        print(f"allowed_lines: {missing}", file=sys.stderr)
        return 1
    begun, counts = time.monotonic(), Counter[str]()
    with tempfile.TemporaryDirectory() as folder:
        for line, deeds in watched(asked.preset, asked.lines, asked.seed, Path(folder), asked.program):  # fmt: skip
            counts["lines"] += 1
            counts["succeeded"] += deeds.status == 0
            counts["stopped"] += not deeds.ended
            if counts["lines"] % _TOLD == 0:
                print(f"{counts['lines']} lines, {counts['seen']} of which did more", flush=True)
            if not deeds.ended:
                print(f"stopped: {line}")
            if not deeds.is_harmless:
                counts["seen"] += 1
                print(f"seen: {line}")
                for one in (*deeds.connections[:2], *deeds.written[:3], *deeds.changed[:3]):
                    print(f"    {one[:200]}", flush=True)
    spent = time.monotonic() - begun
    print(f"allowed_lines: {asked.preset}, seed {asked.seed}: {counts['lines']} lines ran in {spent:.0f} s, {counts['succeeded']} with status 0, {counts['stopped']} were stopped, {counts['seen']} did more than they may")  # fmt: skip
    return 0 if counts["lines"] == asked.lines and not counts["seen"] else 1


if __name__ == "__main__":
    sys.exit(main())
