"""Commands by chance, judged by the interpreter of the table and by the second reading: where the two say different things.

python -m tests.shell_differences [LINES] [SEED]
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from random import Random

from gatewright.validators.sandbox import prepare
from tests.shell_commands import Commands
from tests.shell_reading import Unread
from tests.shell_table import programs
from tests.shell_verdicts import allows

__all__ = ["PRESETS", "differences"]

PRESETS = ("inspect", "develop")


def differences(lines: int, seed: int, judged: list[int]) -> Iterator[str]:
    """What is judged differently; `judged` counts the verdicts, and those that allow."""
    known = programs()
    made, random = Commands(known), Random(seed)
    interpreters = {preset: prepare({"allow": [preset]}) for preset in PRESETS}
    for _ in range(lines):
        words = made.made(random)
        for preset, interpreter in interpreters.items():
            try:
                allowed = allows(known, words, preset)
            except Unread:
                continue
            said = interpreter.judge(words if len(words) > 1 else words[0])
            judged[0] += 1
            judged[1] += allowed
            if allowed != (said is None):
                yield f"{preset}: {' '.join(words)}: {'allowed' if said is None else said.rule}, and the second reading says otherwise"


def main(arguments: list[str]) -> int:
    """0 where there are none."""
    lines, seed = [*map(int, arguments), *(500_000, 1)[len(arguments) :]]
    judged, found = [0, 0], 0
    for one in differences(lines, seed, judged):
        found += 1
        print(one, flush=True)  # noqa: T201 - who started it reads this
    told = f"{lines} lines, {judged[0]} verdicts, {judged[1]} of which allow, {found} differences"
    print(told)  # noqa: T201 - who started it reads this
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
