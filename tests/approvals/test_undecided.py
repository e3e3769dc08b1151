"""What nobody has decided on yet is counted, and looked for, without reading all of it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.approvals import undecided
from gatewright.approvals.undecided import Undecided
from gatewright.storage.state import Section
from tests.approvals.store_parts import ASKED, Clock, ask
from tests.approvals.voting import Voting
from tests.storage.parts import operators_in, state_in


@pytest.fixture
def queue(tmp_path: Path) -> Iterator[Voting]:
    state = state_in(tmp_path)
    operators_in(state, "olga")
    made = Voting(state, clock=Clock(), random=os.urandom)
    yield made
    made.close()


class Counting:
    """Counts statements and the rows that they bring."""

    def __init__(self, rows: Section) -> None:
        self._rows, self.statements, self.read = rows, 0, 0

    def rows(self, sql: str, parameters: Sequence[Any] = ()) -> list[Any]:
        found = self._rows.rows(sql, parameters)
        self.statements, self.read = self.statements + 1, self.read + len(found)
        return found


def test_of_many_requests_few_rows_are_read(queue: Voting) -> None:
    """A hundred thousand ids were read several times a second, for one number or a few of them."""
    every = [ask(queue, replace(ASKED, agent=f"a-{number}")).id for number in range(60)]
    rows = Counting(queue._rows)
    found = Undecided(rows)  # type: ignore[arg-type]
    assert (len(found), rows.read) == (60, 1)
    assert found.among([*every[:3], "ap_unknown"]) == set(every[:3])
    assert rows.read == 1 + 3
    queue.approve(every[0], by="olga")
    queue.deny(every[1], by="olga")
    assert found.among(every[:3]) == {every[2]}
    assert len(found) == 58
    assert found.among([]) == set()


def test_many_are_asked_about_in_pieces(queue: Voting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(undecided, "AT_ONCE", 10)
    every = [ask(queue, replace(ASKED, agent=f"a-{number}")).id for number in range(25)]
    rows = Counting(queue._rows)
    assert Undecided(rows).among(dict.fromkeys(every)) == set(every)  # type: ignore[arg-type]
    assert rows.statements == 3
