"""`Consent` of `gatewright import`: asks once per server whether it may set loader variables or be given existing secrets and files."""

from __future__ import annotations

from collections.abc import Collection

import typer

from gatewright.cli.output import is_terminal, one_line

__all__ = ["Consent"]


class Consent:
    """Answers of one command; each server is asked about once. Without a terminal only what was named is permitted."""

    def __init__(self, named: Collection[str] = ()) -> None:
        self._named = frozenset(named)
        self._answers: dict[tuple[str, tuple[str, ...]], bool] = {}

    def __call__(self, server: str, names: tuple[str, ...]) -> bool:
        """Whether this server may set these variables, or be given what these references name."""
        missing = tuple(name for name in names if name not in self._named)
        if not missing:
            return True
        # A plan is made twice, once to be shown and once to be written: the second must get the same answer, unasked.
        key = (server, missing)
        if key not in self._answers:
            self._answers[key] = _ask(server, missing)
        return self._answers[key]


def _ask(server: str, names: tuple[str, ...]) -> bool:
    if not (is_terminal(0) and is_terminal(2)):
        return False
    listed = ", ".join(map(one_line, names))
    given = names[0].startswith(("secret:", "file:"))  # no name of a variable has a colon
    text = (
        f"is given {listed} of yours"
        if given
        else f"sets {listed}, which chooses what a program loads"
    )
    text = f"{server} {text}. Import it?"
    return typer.confirm(text, default=False, err=True)
