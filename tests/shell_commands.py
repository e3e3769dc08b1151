"""Commands by chance from the table of shell programs: what is in it, what is nearly in it, and words of every kind in every place."""

from __future__ import annotations

from collections.abc import Mapping
from random import Random

from tests.shell_reading import WORDS
from tests.shell_table import Program

__all__ = ["Commands"]


class Commands:
    """Commands of all programs but those that have a reader of their own."""

    def __init__(self, known: Mapping[str, Program]) -> None:
        self._known = known
        # The shell's own `:` and `.` are no words that a line may begin with.
        self._names = [name for name, one in known.items() if not one.own and name[0] not in ":."]
        self._words = list(WORDS)
        self._others = sorted({name.split(" ")[0] for name in known if name[0].isalnum()})

    def made(self, random: Random) -> list[str]:
        """One command."""
        name = random.choice(self._names)
        program = self._known[name]
        words = name.split(" ")
        if random.random() < 0.1 and len(words) > 1:
            words[1:1] = self._option(random, self._known.get(words[0], program))
        rest: list[str] = []
        for _ in range(random.choice((0, 1, 1, 2, 3))):
            rest += self._option(random, program)
        for _ in range(random.choice((0, 1, 1, 1, 2, 3))):
            rest.insert(random.choice((0, len(rest), len(rest))), random.choice(self._words))
        if random.random() < 0.05:
            rest.append(random.choice(self._others))
        return words + rest

    def _option(self, random: Random, program: Program) -> list[str]:
        options = list(program.options)
        if not options or random.random() < 0.03:
            return [
                random.choice(
                    ("--unheard", "-9", "--unheard=x", "--help", "--version", "-v", "-h", "-V")
                )
            ]
        name = random.choice(options)
        takes = program.options[name].takes
        value = random.choice(self._words)
        name = name.rstrip("!")
        if name[1] != "-" and len(name) == 2 and random.random() < 0.3:
            other = random.choice(options)
            name += other[1] if other[1] != "-" and len(other) == 2 else ""
            takes = program.options[other].takes if len(name) > 2 and takes == "" else takes
        if random.random() < 0.04:
            takes = random.choice(("", "=", "?"))
        if takes == "=" and random.random() < 0.7:
            return [name, value]
        if takes and random.random() < 0.7:
            return [f"{name}{'=' if name[1] == '-' or len(name) > 3 else ''}{value}"]
        return [name]
