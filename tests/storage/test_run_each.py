"""All steps are run whatever one of them raises."""

from __future__ import annotations

import pytest

from gatewright.storage.run_each import run_each


def test_every_step_is_run_and_the_first_failure_is_raised() -> None:
    ran: list[str] = []

    def fails(name: str) -> None:
        ran.append(name)
        raise ValueError(name)

    with pytest.raises(ValueError, match="one"):
        run_each(lambda: fails("one"), lambda: ran.append("two"), lambda: fails("three"))
    assert ran == ["one", "two", "three"]


def test_where_nothing_fails_nothing_is_raised() -> None:
    ran: list[int] = []
    run_each(lambda: ran.append(1), lambda: ran.append(2))
    assert ran == [1, 2]
