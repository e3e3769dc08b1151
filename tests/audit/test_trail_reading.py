"""One look at the trail: what is in the rows and what is in the journal only are one, and a block says whether more will come."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest

from gatewright.audit.search_index import SIZE, Wanted
from gatewright.audit.trail_reading import TrailReading, read_block
from gatewright.storage.errors import StoreError
from tests.audit.parts import a_call, a_log, a_tool, run


def test_a_block_is_whole_once_others_follow_it(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for number in range(SIZE - 2):
        run(log, a_call(number, a_tool("safe")))
    assert not read_block(tmp_path, 0).whole
    run(log, a_call(SIZE, a_tool("safe")))
    found = read_block(tmp_path, 0)
    assert (found.whole, found.last) == (True, SIZE - 1)
    run(log, a_call(SIZE + 1, a_tool("safe")))
    assert read_block(tmp_path, 1).fits(Wanted()) == 1
    asyncio.run(log.close())
    assert vars(read_block(tmp_path, 0)) == vars(found)


def test_records_are_read_by_number_wherever_they_are(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for number in range(5):
        run(log, a_call(number, a_tool("safe")))
    with TrailReading(tmp_path) as look:
        journal = look.lines([4, 2, 99])
    asyncio.run(log.close())
    with TrailReading(tmp_path) as look:
        rows = look.lines([4, 2, 99])
        assert (look.first, look.head, [*look.blocks()]) == (1, 0, [0])
    assert journal == rows
    assert [msgspec.json.decode(one)["seq"] for one in rows] == [4, 2]


def test_where_nothing_is_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError):
        read_block(tmp_path, 0)
