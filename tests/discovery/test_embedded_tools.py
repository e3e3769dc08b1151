from __future__ import annotations

import numpy as np

from gatewright.discovery import embedded_tools as module
from gatewright.discovery.embedded_tools import Meanings, digest_of_text, text_of


def test_a_slot_has_a_vector_until_it_is_another_tools() -> None:
    held = Meanings("m", 3)
    assert held.put(5, np.array([0, 0, 1], np.float32))
    assert not held.put(6, np.zeros(3, np.float32))
    assert (held.has(5), held.has(6), held.has(9000)) == (True, False, False)
    assert held.held(4000)[5]
    held.forget(5)
    held.forget(9000)
    assert not held.has(5)


def test_a_query_of_another_embedder_is_compared_with_nothing() -> None:
    held = Meanings("m", 3)
    held.put(0, np.array([0, 0, 1], np.float32))
    assert held.meant(None, 10) is None
    assert held.meant(np.ones(4, np.float32), 10) is None
    assert held.meant(np.zeros(3, np.float32), 10) is None
    meant = held.meant(np.ones(3, np.float32), 3000)
    assert meant is not None
    assert len(meant.held) >= 3000
    assert meant.vectors.exactly(meant.asked[None], np.array([0, 2999]))[:, 0].tolist() == [1, 0]


def test_there_is_room_for_so_many_bytes() -> None:
    held = Meanings("m", 3)
    most = module.MOST_BYTES // 3
    assert not held.put(most, np.ones(3, np.float32))
    assert not held.has(most)


def test_what_is_embedded_of_a_tool_is_what_it_says_in_words() -> None:
    assert text_of("files", "readFile_now", "Reads it.") == "files read file now: Reads it."
    assert len(text_of("s" * 500, "n" * 500, "d" * 5000)) < 1400
    assert digest_of_text("a") != digest_of_text("b")
    assert len(digest_of_text("\ud800")) == 16
