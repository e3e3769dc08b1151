from __future__ import annotations

import numpy as np
import pytest

from gatewright.discovery.embedders.embedder import MOST_DIMENSIONS, EmbeddingFailed, unit_rows


def test_rows_have_length_one_and_nothing_stays_nothing() -> None:
    found = unit_rows(np.array([[3, 4], [0, 0]], dtype=np.float32), 2)
    assert found == pytest.approx(np.array([[0.6, 0.8], [0, 0]]))


@pytest.mark.parametrize(
    "found",
    [
        np.zeros((1, 2)),
        np.zeros(2),
        np.zeros((2, 0)),
        np.zeros((2, MOST_DIMENSIONS + 1)),
        np.array([[1, np.nan], [1, 1]]),
        np.array([[1, np.inf], [1, 1]]),
    ],
)
def test_what_are_no_vectors_of_two_texts_is_refused(found: np.ndarray) -> None:
    with pytest.raises(EmbeddingFailed):
        unit_rows(found.astype(np.float32), 2)
