"""Reading the trail, beside a gateway and without one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import DATABASE, Query
from gatewright.audit.segments import segment_numbers, segment_path
from gatewright.call import Refusal
from gatewright.storage.errors import StoreError
from tests.audit.parts import a_call, a_log, fill, records, run, verified


async def test_an_answered_call_is_found_at_once(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for number in range(50):
        run(log, a_call(number))
        assert [each["call"] for each in records(tmp_path, trace_id=f"trace-{number}")] == [
            f"call-{number}"
        ] * 2
    await log.close()


async def test_records_are_found_wherever_they_are_by_then(tmp_path: Path) -> None:
    await fill(tmp_path, 100, segment_bytes=20_000)
    log = a_log(tmp_path, segment_bytes=20_000)
    run(log, a_call(77), Refusal("access_denied", "no", gate="access"))
    assert [each["outcome"] for each in records(tmp_path, outcome="denied")] == ["denied"]
    assert len(records(tmp_path, agent="ann")) == 102
    assert [each["seq"] for each in records(tmp_path)] == list(range(1, 103))
    await log.close()
    assert [each["seq"] for each in records(tmp_path)] == list(range(1, 103))


async def test_the_newest_come_first_and_no_more_than_asked_for(tmp_path: Path) -> None:
    await fill(tmp_path, 100)
    reader = AuditReader(tmp_path)
    found = [each["seq"] for each in reader.query(Query(limit=5))]
    assert found == [100, 99, 98, 97, 96]


async def test_one_answer_is_of_one_moment(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    for number in range(10):
        run(log, a_call(number))
    answer = AuditReader(tmp_path).query(Query(newest_first=False))
    first = next(answer)
    run(log, a_call(99))
    await log.on_disk()
    assert [first["seq"], *(each["seq"] for each in answer)] == list(range(1, 21))
    await log.close()


async def test_two_answers_can_be_read_at_once(tmp_path: Path) -> None:
    await fill(tmp_path, 20)
    reader = AuditReader(tmp_path)
    pairs = zip(reader.query(Query()), reader.query(Query()), strict=True)
    assert all(one == other for one, other in pairs)


async def test_the_tail_is_the_last_records_oldest_first(tmp_path: Path) -> None:
    await fill(tmp_path, 30)
    assert [each["seq"] for each in AuditReader(tmp_path).tail(4)] == [27, 28, 29, 30]
    assert [each["seq"] for each in AuditReader(tmp_path).tail(100)] == list(range(1, 31))


async def test_a_tail_that_follows_shows_each_new_record_once(tmp_path: Path) -> None:
    log = a_log(tmp_path, segment_bytes=3000)
    for number in range(3):
        run(log, a_call(number))
    looks = 0

    def follow() -> bool:
        nonlocal looks
        looks += 1
        for number in range(looks):
            run(log, a_call(100 * looks + number))
        return looks < 8

    seen = [each["seq"] for each in AuditReader(tmp_path).tail(2, follow=follow)]
    assert seen == list(range(5, log.written + 1 - 2 * 8))
    await log.close()


async def test_a_tail_of_nothing_can_be_followed(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    steps = iter([True, True, False])

    def follow() -> bool:
        run(log, a_call())
        return next(steps)

    assert [each["seq"] for each in AuditReader(tmp_path).tail(5, follow=follow)] == [1, 2, 3, 4]
    await log.close()


async def test_a_trail_can_be_read_without_a_gateway_and_is_not_changed_by_it(
    tmp_path: Path,
) -> None:
    await fill(tmp_path, 10)
    names = ["audit.db", "audit.head", *(f"audit-{each:06d}.jsonl" for each in (1,))]
    before = [(tmp_path / name).read_bytes() for name in names]
    assert len(records(tmp_path)) == 10
    assert verified(tmp_path).records == 10
    assert [(tmp_path / name).read_bytes() for name in names] == before


def test_where_there_is_no_trail_that_is_said(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"audit\.db cannot be used"):
        list(AuditReader(tmp_path).query(Query()))


async def test_a_trail_that_cannot_be_decoded_points_to_verify(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    run(log, a_call())
    path = segment_path(tmp_path, segment_numbers(tmp_path)[-1])
    path.write_bytes(path.read_bytes().replace(b'"ann"', b'"ann'))
    with pytest.raises(StoreError, match="gatewright audit verify"):
        list(AuditReader(tmp_path).query(Query(agent="ann")))
    await log.close()


async def test_a_long_answer_streams_instead_of_gathering(tmp_path: Path) -> None:
    await fill(tmp_path, 2000)
    answer = AuditReader(tmp_path).query(Query(newest_first=False))
    first = next(answer)
    assert first["seq"] == 1
    answer.close()  # type: ignore[attr-defined]
    assert (tmp_path / DATABASE).exists()
    assert msgspec.json.encode(first)


def _lose_rows(folder: Path) -> None:
    for path in folder.glob(f"{DATABASE}*"):
        path.unlink()


def _spoil(journal: Path) -> None:
    with journal.open("ab") as file:
        file.write(b"com.example.made\n")


async def test_the_newest_of_a_kind_is_found_also_in_a_journal_whose_rows_are_lost(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path)
    for number in range(3):
        log.event("com.example.made", details={"number": number})
    log.event("com.example.made.by", details={"of": "com.example.made"})
    await log.close()
    before = AuditReader(tmp_path).newest("com.example.made")
    _lose_rows(tmp_path)
    reader = AuditReader(tmp_path)
    assert reader.newest("com.example.made") == before
    assert {kind: one["seq"] for kind, one in before.items()} == {"com.example.made": 3}
    assert reader.newest("com.example.other") == {}
    _spoil(tmp_path / "audit-000001.jsonl")
    with pytest.raises(StoreError, match="audit verify"):
        reader.newest("com.example.made")


async def test_the_newest_of_several_kinds_are_found_in_rows_and_in_the_journal_beyond_them(
    tmp_path: Path,
) -> None:
    log = a_log(tmp_path)
    for _ in range(2):
        log.event("com.example.early")
        log.event("com.example.both")
    await log.close()
    kinds = ("com.example.early", "com.example.both", "com.example.late", "com.example.never")
    reader = AuditReader(tmp_path)
    assert _numbers_of(reader.newest(*kinds)) == {"com.example.early": 3, "com.example.both": 4}
    log = a_log(tmp_path)
    log.event("com.example.late")
    log.event("com.example.both")
    expected = {"com.example.early": 3, "com.example.both": 6, "com.example.late": 5}
    assert _numbers_of(reader.newest(*kinds)) == expected
    assert _numbers_of(reader.newest("com.example.late")) == {"com.example.late": 5}
    await log.close()
    assert _numbers_of(reader.newest(*kinds)) == expected


def test_a_line_beyond_the_rows_that_is_no_record_is_not_passed_over(tmp_path: Path) -> None:
    log = a_log(tmp_path)
    log.event("com.example.made")
    log.finish()
    with (tmp_path / "audit-000001.jsonl").open("ab") as file:
        file.write(b"nothing of this kind\n")
    with pytest.raises(StoreError, match="audit verify"):
        AuditReader(tmp_path).newest("com.example.made")


def _numbers_of(found: dict[str, dict[str, Any]]) -> dict[str, int]:
    return {kind: one["seq"] for kind, one in found.items()}


SPOILT = {
    "a byte": b'{"event_type":"%b","seq":1,"text":"\xff"}',
    "depth": b'{"event_type":"%b","seq":1,"text":' + b"[" * 200_000 + b"]" * 200_000 + b"}",
    "an end": b'{"event_type":"%b","seq":1,',
}


@pytest.mark.parametrize("spoilt", SPOILT)
async def test_a_line_that_a_power_cut_spoilt_is_one_error_whatever_is_wrong_with_it(
    tmp_path: Path, spoilt: str
) -> None:
    """It stands behind what is known to be on the disk."""
    await fill(tmp_path, 4)
    with (tmp_path / "audit-000001.jsonl").open("ab") as file:
        file.write(SPOILT[spoilt] % b"com.example.made" + b"\n")
    reader = AuditReader(tmp_path)
    with pytest.raises(StoreError, match="audit verify"):
        reader.newest("com.example.other")
    with pytest.raises(StoreError, match="audit verify"):
        list(reader.query(Query()))
    _lose_rows(tmp_path)
    with pytest.raises(StoreError, match="audit verify"):
        reader.newest("com.example.made")


async def test_a_spoilt_line_that_comes_while_somebody_reads_on_is_said_so(tmp_path: Path) -> None:
    await fill(tmp_path, 4)
    newest = segment_path(tmp_path, max(segment_numbers(tmp_path)))

    def spoil() -> bool:
        newest.write_bytes(newest.read_bytes() + SPOILT["a byte"] % b"dev.example.other" + b"\n")
        return True

    with pytest.raises(StoreError, match="audit verify"):
        list(AuditReader(tmp_path).tail(follow=spoil))
