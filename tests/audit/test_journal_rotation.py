"""A change to the next segment that is cut short leaves the journal as it was, fit for what comes next."""

from __future__ import annotations

import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit import journal as module
from gatewright.audit.journal import Journal
from gatewright.audit.recovery import recover
from gatewright.audit.segments import Head, segment_numbers
from tests.audit.parts import body


@pytest.mark.parametrize("cut", ["opened", "placed"])
@pytest.mark.parametrize("alone", [True, False])
def test_a_rotation_that_a_signal_cut_short_is_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cut: str, alone: bool
) -> None:
    """Ctrl+C, say, in the middle of it: the next record stands where the next one belongs."""
    journal = Journal(tmp_path, recover(tmp_path).end, segment_bytes=2000)
    count = 0
    while journal.end.offset < 1500:
        journal.append(body(count))
        count += 1
    real_open = os.open

    def opened(path: Any, flags: int, *more: Any) -> int:
        file = real_open(path, flags, *more)
        if cut == "opened" and flags & os.O_EXCL:
            os.close(file)
            raise KeyboardInterrupt
        return file

    def placed(seq: int, digest: bytes, segment: int, offset: int) -> Any:
        if cut == "placed" and not offset:
            raise KeyboardInterrupt
        return Head(seq, digest, segment, offset)

    with monkeypatch.context() as patch:
        patch.setattr(os, "open", opened)
        patch.setattr(module, "Head", placed)
        many = [body(number) for number in range(50, 60)]
        rotate = journal.begin_segment if alone else partial(journal.append_all, many)
        with pytest.raises(KeyboardInterrupt):
            rotate()
    journal.repair()
    for number in range(100, 120):
        journal.append(body(number))
    journal.close()
    assert segment_numbers(tmp_path) == list(range(1, journal.end.segment + 1))
    assert recover(tmp_path).end.seq == count + 20
