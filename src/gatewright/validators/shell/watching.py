"""`Watched`: judges of a shell line that record each effect of its commands with its verdict (`Seen`), for `policy try --why`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.policy import JUDGES, Judge

__all__ = ["Seen", "Watched"]

Seen = list[tuple[Effect, str | None]]
"""Effects in the order in which they were judged, each with the rule that speaks against it."""


class Watched(Mapping[str, Judge]):
    """The judges of a line, each of which is watched. What no judge knows is refused, as without."""

    def __init__(self, seen: Seen, judges: Mapping[str, Judge] = JUDGES) -> None:
        self._seen = seen
        self._judges = judges

    def __getitem__(self, kind: str) -> Judge:
        return partial(self._judged, self._judges.get(kind))

    def __iter__(self) -> Iterator[str]:
        return iter(self._judges)

    def __len__(self) -> int:
        return len(self._judges)

    def _judged(self, judge: Judge | None, effect: Effect, said: Said) -> str | None:
        rule = "option" if judge is None else judge(effect, said)
        self._seen.append((effect, rule))
        return rule
