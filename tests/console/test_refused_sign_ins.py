"""Refused sign-ins in the record: some of them, and how many others there were."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Unrecorded
from gatewright.console.refused_sign_ins import RECORDS, WINDOW_S, RefusedSignIns
from tests.console.in_process import Within, newest, within


class Audit:
    """What was recorded."""

    def __init__(self) -> None:
        self.said: list[dict[str, Any]] = []
        self.broken = False

    def event(self, event_type: str, *, actor: Any, outcome: str, details: dict[str, Any]) -> int:
        """Writes it down."""
        if self.broken:
            raise Unrecorded("full")
        assert (event_type, outcome) == ("dev.gatewright.console.refused", "denied")
        self.said.append(details)
        return len(self.said)


class Later:
    """What is to be done later."""

    def __init__(self) -> None:
        self.due: list[tuple[float, Callable[[], None]]] = []

    def __call__(self, seconds: float, work: Callable[[], None]) -> None:
        self.due.append((seconds, work))

    def pass_by(self) -> None:
        """That time comes."""
        due, self.due = self.due, []
        for _, work in due:
            work()


def test_so_many_are_recorded_in_a_minute_and_the_others_counted() -> None:
    audit, later = Audit(), Later()
    refusals = RefusedSignIns(audit, later)  # type: ignore[arg-type]
    for number in range(RECORDS + 1000):
        refusals.add("key", f"10.0.0.{number}")
    assert [one["via"] for one in audit.said] == ["key"] * RECORDS
    assert [seconds for seconds, _ in later.due] == [WINDOW_S]
    later.pass_by()
    assert audit.said[-1] == {"left_out": 1000, "seconds": 60}
    refusals.add("url", "::1")
    assert audit.said[-1] == {"via": "url", "address": "::1"}
    later.pass_by()
    assert len(audit.said) == RECORDS + 2  # nothing was left out of this one


def test_a_record_that_cannot_be_written_refuses_and_loses_no_count() -> None:
    audit, later = Audit(), Later()
    refusals = RefusedSignIns(audit, later)  # type: ignore[arg-type]
    audit.broken = True
    with pytest.raises(Unrecorded):
        refusals.add("key", "")
    audit.broken = False
    for _ in range(RECORDS):
        refusals.add("key", "")
    assert len(audit.said) == RECORDS - 1
    later.pass_by()
    assert audit.said[-1]["left_out"] == 1


async def test_whoever_guesses_at_any_way_in_is_recorded(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        nobody = console.nobody()
        await nobody.form("/open", {"token": "x"})
        await nobody.form("/sign-in", {"key": "gw_x"})
        await nobody.api("GET", "/approvals", headers={"Authorization": "Bearer gw_x"})
        assert [one["details"]["via"] for one in _refused(console)] == ["api", "key", "url"]
        for _ in range(100):
            await nobody.form("/sign-in", {"key": "gw_x"})
        assert len(_refused(console)) == RECORDS


def _refused(console: Within) -> list[dict[str, Any]]:
    every = newest(console)
    return [one for one in every if one["event_type"] == "dev.gatewright.console.refused"]
