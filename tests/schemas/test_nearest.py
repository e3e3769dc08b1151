"""The names that come close to one that does not exist."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.nearest import closest, closest_in_steps


@pytest.mark.parametrize(
    ("wanted", "meant"),
    [
        ("read_fil", "read_file"),
        ("readFile", "read_file"),
        ("server/read_file", "read_file"),
        ("file_read", "read_file"),
        ("dmeo", "demo"),
        ("fiels", "files"),
    ],
)
def test_a_misspelt_name_is_found(wanted: str, meant: str) -> None:
    assert closest(wanted, ["write_database", meant, "zzz"])[0] == meant


@given(st.text(max_size=300), st.lists(st.text(max_size=300), max_size=20), st.integers(0, 3))
def test_what_is_suggested_exists_and_is_no_more_than_asked_for(
    wanted: str, names: list[str], most: int
) -> None:
    found = closest(wanted, names, most)
    assert set(found) <= set(names)
    assert len(found) <= most


def test_a_thousand_long_names_cost_little_and_no_more_are_looked_at() -> None:
    names = [f"{number}" * 400 for number in range(5000)]
    begun = time.thread_time()
    assert closest("4999" * 400, names) != ["4999" * 400]
    assert time.thread_time() - begun < 1.0


def test_each_name_is_a_step() -> None:
    assert len(list(closest_in_steps("name", [f"name{number}" for number in range(30)]))) == 30
