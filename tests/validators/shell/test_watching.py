"""A line that is watched gets the verdict of one that is not, and each of its effects is kept."""

from __future__ import annotations

import pytest

from gatewright.validators.sandbox import Options, Sandbox
from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.policy import JUDGES
from gatewright.validators.shell.table import data_files, entries_of
from gatewright.validators.shell.watching import Seen, Watched

EXAMPLES = [
    (line, allow)
    for name, text in sorted(data_files().items())
    for entry in entries_of(text, name)
    for allow in ("inspect", "develop")
    for lines in entry.examples.values()
    for line in lines[:1]
]


@pytest.mark.parametrize("allow", ["inspect", "develop"])
def test_to_watch_changes_no_verdict(allow: str) -> None:
    sandbox = Sandbox(Options(allow=(allow,)))  # type: ignore[arg-type]
    for line, preset in EXAMPLES:
        if preset == allow:
            objection = sandbox.judge(line)
            seen, refused = sandbox.watched(line)
            assert (objection and objection.rule) == (refused and refused[0])
            assert [rule for _, rule in seen[:-1] if rule] == []


def test_what_no_judge_knows_is_refused_and_kept() -> None:
    seen: Seen = []
    watched = Watched(seen)
    said = Said(frozenset(), False, frozenset(), frozenset(), False, False, False, False, True)
    effect = Effect("nothing-known", None, "x", "-x", "p")
    judge = watched.get("nothing-known")
    assert judge is not None
    assert judge(effect, said) == "option"
    assert seen == [(effect, "option")]
    assert set(watched) == set(JUDGES)
    assert len(watched) == len(JUDGES)
