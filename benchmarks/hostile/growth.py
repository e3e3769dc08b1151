"""Does any hostile input cost more than its size? Each input of `benchmarks.hostile`, but for the floods, at a quarter, half and all of
its size: CPU time of the gateway and its worker processes.

    python -m benchmarks.hostile.growth [--json] [--only NAME] [--size BYTES] [--result-size BYTES]

Judged is each doubling, ≤ 2.3 times, from where the smaller input costs `LEAST_MS`; below that it is the cost of any call. The least of
`TURNS` turns counts, since nothing makes an input cheaper than it is.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import sys
import tempfile
import time
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

from benchmarks.commands import gatewright
from benchmarks.hostile.__main__ import LONGEST_RESULT, Attack, attacks, configured
from benchmarks.hostile.caller import Hostile
from benchmarks.hostile.web import served
from benchmarks.processes import ROOT, Trouble, children, started

__all__ = ["cpu_ms", "grown", "main"]

MOST = 2.3
LEAST_MS = 20.0
TURNS = 3
SETTLED_S = 0.05
_APART = ("door.",)


def cpu_ms(pid: int) -> float:
    """What a gateway and its worker processes have used so far; not what the servers behind it did."""
    ours = [one for one, line in children(pid).items() if str(ROOT / "benchmarks") not in line]
    return sum(_used_ns(one) for one in {pid, *ours}) / 1e6 + _of_ended_ms(pid)


def _used_ns(pid: int) -> int:
    found = 0
    for path in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        try:
            found += int(path.read_text(encoding="utf-8").split()[0])
        except OSError:  # a thread that has ended
            continue
    return found


def _of_ended_ms(pid: int) -> float:
    """What its processes had used that it has waited for."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK") * 1000


def grown(costs: list[float]) -> float:
    """The largest ratio of two neighbours, of those that are more than the cost of any call."""
    pairs = pairwise(costs)
    return max((large / small for small, large in pairs if small >= LEAST_MS), default=0.0)


def _cost(pid: int, attack: Attack) -> tuple[float, str]:
    before = cpu_ms(pid)
    said = attack()
    after = cpu_ms(pid)
    while True:  # until what it left behind is done as well
        time.sleep(SETTLED_S)
        now = cpu_ms(pid)
        if now - after < 0.2 * SETTLED_S * 1000:
            return now - before, said
        after = now


def _measured(pid: int, sizes: list[Attack]) -> tuple[list[float], str]:
    best: list[float] = []
    said = ""
    for _ in range(TURNS):
        turn = []
        for attack in sizes:
            cost, said = _cost(pid, attack)
            turn.append(cost)
        best = [min(one, other) for one, other in zip(best or turn, turn, strict=True)]
        if grown(best) <= MOST:
            break
    return best, said


def main(arguments: list[str] | None = None) -> int:
    """Measure every input. 0 where that could be done, whatever the figures."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--json", action="store_true", help="one JSON object a row")
    parser.add_argument("--only", default="*", help="a pattern of names")
    parser.add_argument("--size", type=int, default=1_000_000, help="of what callers send")
    parser.add_argument(
        "--result-size", type=int, default=LONGEST_RESULT, help="of what servers send"
    )
    asked = parser.parse_args(arguments)
    missed = 0
    try:
        with (
            tempfile.TemporaryDirectory(prefix="gatewright-growth-") as name,
            ExitStack() as stack,
        ):
            folder = Path(name)
            config = configured(folder, stack.enter_context(served()))
            command = gatewright("serve", "--config", str(config), "--port", "0")
            gateway = stack.enter_context(started("gatewright", command, folder))
            hostile = Hostile(gateway.url, config)
            time.sleep(1.0)
            every = zip(
                *(
                    attacks(hostile, asked.size // part, asked.result_size // part)
                    for part in (4, 2, 1)
                ),
                strict=True,
            )
            for sizes in every:
                row = sizes[0][0]
                if row.startswith(_APART) or not fnmatch.fnmatch(row, asked.only):
                    continue
                costs, said = _measured(gateway.pid, [attack for _, attack in sizes])
                missed += grown(costs) > MOST
                _print(row, costs, said, as_json=asked.json)
    except Trouble as trouble:
        print(f"benchmarks.hostile.growth: {trouble}", file=sys.stderr)
        return 1
    if not asked.json:
        print(f"missed: {missed}")
    return 0


def _print(name: str, costs: list[float], said: str, *, as_json: bool) -> None:
    ratio, met = grown(costs), grown(costs) <= MOST
    if as_json:
        row = {"ms": [round(one, 1) for one in costs], "ratio": round(ratio, 2), "met": met}
        print(json.dumps({"name": f"growth.{name}", **row, "said": said}), flush=True)
        return
    figures = " ".join(f"{one:>8.1f}" for one in costs)
    print(
        f"{name:<48} {figures} {ratio:>6.2f}  {'met' if met else 'MISSED':<6} {said[:60]}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
