"""Random bytes are never given out twice."""

from __future__ import annotations

import threading

from hypothesis import given
from hypothesis import strategies as st

from gatewright.app.randomness import Pool


class Source:
    """Bytes that tell where they came from."""

    def __init__(self) -> None:
        self.given = 0

    def __call__(self, count: int) -> bytes:
        start = self.given
        self.given += count
        return b"".join((start + at).to_bytes(4) for at in range(0, count, 4))[:count]


@given(st.lists(st.integers(0, 20) | st.integers(0, 6000), max_size=90))
def test_what_is_given_out_is_fresh_and_as_long_as_asked(counts: list[int]) -> None:
    pool = Pool(Source())
    words: list[bytes] = []
    for count in counts:
        found = pool(count * 4)
        assert len(found) == count * 4
        words += [found[at : at + 4] for at in range(0, len(found), 4)]
    assert len(set(words)) == len(words)


def test_threads_never_share_bytes() -> None:
    pool = Pool(Source())
    seen: list[bytes] = []

    def take() -> None:
        seen.extend([pool(16) for _ in range(5000)])

    threads = [threading.Thread(target=take) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(set(seen)) == 20_000


def test_the_source_is_asked_once_for_many() -> None:
    asked: list[int] = []

    def source(count: int) -> bytes:
        asked.append(count)
        return bytes(count)

    pool = Pool(source)
    assert {len(pool(size)) for size in (16, 8) for _ in range(250)} == {16, 8}
    assert asked == [4096] * 2, "250 of 16 bytes, and 250 of 8"
    assert len(pool(65)) == 65
    assert asked == [4096, 4096, 65], "what is long is not kept"
