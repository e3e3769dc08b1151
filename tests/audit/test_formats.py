"""Records in the forms of other programs."""

from __future__ import annotations

import csv
import io
from typing import Any

import msgspec
import pytest

from gatewright.audit.chain import seal
from gatewright.audit.formats import Format, cloud_event, heading, writer
from tests.audit.parts import body


def a_line(number: int = 1, **more: Any) -> bytes:
    """One line of the record, without its newline."""
    return seal(number, [body(number, **more)], b"0" * 64)[0].removesuffix(b"\n")


def a_row(line: bytes) -> dict[str, str]:
    """What a reader of CSV makes of a heading and one line."""
    text = (heading("csv") + writer("csv", "gw")(line)).decode()
    (row,) = csv.DictReader(io.StringIO(text, newline=""))
    return row


def test_json_lines_are_the_recorded_bytes() -> None:
    line = a_line()
    assert writer("jsonl", "gw")(line) == line + b"\n"
    assert heading("jsonl") == b""


def test_a_row_has_every_member_and_the_details_as_json() -> None:
    row = a_row(a_line(7, details={"duration_ms": 1.5}, result={"is_error": False, "bytes": 3}))
    assert (row["seq"], row["actor.id"], row["target.tool_name"]) == ("7", "ann", "write_file")
    assert (row["result.is_error"], row["result.bytes"]) == ("false", "3")
    assert msgspec.json.decode(row["details"]) == {"duration_ms": 1.5}
    assert len(row["hash"]) == 64
    assert row["decision.reason"] == ""


@pytest.mark.parametrize(
    "text",
    [
        *("=1+2", "+cmd", "-2", "@SUM(A1)", "\t=1", "\r=1", "  =1", "|calc", "%x", "\n=1"),
        *("\uff1d1+2", "\uff0bcmd", "\uff0d2", "\uff20SUM(A1)", " \uff1d1"),
        *("\ufeff=1", "\u200b=1", "\u00a0=1", "\u3000@x", "\u2066+1"),
    ],
)
def test_no_cell_begins_like_a_formula(text: str) -> None:
    row = a_row(a_line(trace_id=text, actor={"type": "agent", "id": text}))
    assert (row["trace_id"], row["actor.id"]) == (f"'{text}", f"'{text}")


@pytest.mark.parametrize("text", ['a "b", c', "two\nlines", "ünïcode", "a;b"])
def test_any_text_comes_back_out_of_a_cell(text: str) -> None:
    assert a_row(a_line(trace_id=text))["trace_id"] == text


def test_an_event_is_cloudevents_1_0_with_the_record_as_its_data() -> None:
    line = a_line(42)
    event = msgspec.json.decode(writer("cloudevents", "gw")(line))
    record = msgspec.json.decode(line)
    assert event == {
        "specversion": "1.0",
        "id": "id-42",
        "source": "urn:gatewright:gw",
        "type": "dev.gatewright.mgp.tool_executed",
        "subject": "files/write_file",
        "time": "2026-09-21T12:00:00.000Z",
        "datacontenttype": "application/json",
        "sequence": "00000000000000000042",
        "traceid": "trace-42",
        "data": record,
    }


def test_a_name_in_reverse_domain_form_is_the_type_as_it_is() -> None:
    record = msgspec.json.decode(a_line(event_type="com.example.x", target={}))
    event = cloud_event(record, "gw")
    assert event["type"] == "com.example.x"
    assert "subject" not in event


def test_each_event_form_is_one_line_a_record() -> None:
    forms: tuple[Format, ...] = ("cloudevents", "ocsf")
    for form in forms:
        out = writer(form, "gw")(a_line(trace_id="two\nlines"))
        assert out.count(b"\n") == 1
        assert heading(form) == b""
