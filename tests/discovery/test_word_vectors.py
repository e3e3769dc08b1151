"""The table of word vectors, and what a text of its words is."""

from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits  # type: ignore[import-untyped]

from gatewright.discovery.word_vectors import Table, table


def small() -> Table:
    codes = np.array([[127, 0, 0], [0, 127, 0], [64, 64, 0]], dtype=np.int8)
    return Table(
        ["a", "b", "c"], codes, np.full(3, 1 / 127, np.float32), np.array([1, 1, 0.5], np.float32)
    )


def test_a_text_is_the_weighted_sum_of_its_words_of_length_one() -> None:
    assert small().row("c") == (2, 0.5)
    assert small().row("z") == (-1, 0.0)
    pooled = small().pool([0, 1], [3.0, 4.0])
    assert pooled == pytest.approx([0.6, 0.8, 0])
    assert small().pool([], []) == pytest.approx([0, 0, 0])


def test_linear_algebra_has_one_thread_once_the_table_is_there() -> None:
    threadpool_limits(2, "blas")
    table.__wrapped__()
    threads = [one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"]
    assert set(threads) <= {1}


@pytest.mark.parametrize(
    ("one", "near", "far"),
    [
        ("rain", "weather", "invoice"),
        ("dentist", "doctor", "spreadsheet"),
        ("purchase", "buy", "diagram"),
    ],
)
def test_the_table_of_the_package_knows_what_is_near(one: str, near: str, far: str) -> None:
    held = table()
    first, second, third = (held.pool([held.row(word)[0]], [1.0]) for word in (one, near, far))
    assert first @ second > first @ third + 0.1
