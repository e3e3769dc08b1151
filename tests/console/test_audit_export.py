"""A file of records is what the command would write."""

from __future__ import annotations

import asyncio
import csv
import io
import json
from pathlib import Path
from unittest.mock import patch

from gatewright.audit.reader import AuditReader
from gatewright.audit.rows import Query
from gatewright.call import Refusal
from gatewright.console import audit_export
from gatewright.console.audit_export import AuditExport, download
from tests.audit.parts import ANSWER, a_call, a_log, a_tool, run


def _trail(folder: Path) -> None:
    log = a_log(folder)
    for number in range(25):
        outcome = Refusal("flow", "no", gate="flow") if number % 5 == 0 else ANSWER
        run(log, a_call(number, a_tool("safe")), outcome)
    asyncio.run(log.close())


def test_pieces_add_up_to_every_line(tmp_path: Path) -> None:
    _trail(tmp_path)
    expected = b"".join(
        line + b"\n" for line in AuditReader(tmp_path).lines(Query(newest_first=False))
    )
    with patch.object(audit_export, "_PIECE", 7):
        found = download(tmp_path, AuditExport(), "gw", 0.0)
        assert b"".join(found.pieces) == expected
    assert found.name == "audit.jsonl"


def test_what_the_store_has_no_column_for_restricts_too(tmp_path: Path) -> None:
    _trail(tmp_path)
    asked = AuditExport(rule="flow", agent="ann", form="csv")
    rows = [
        *csv.DictReader(io.StringIO(b"".join(download(tmp_path, asked, "gw", 0.0).pieces).decode()))
    ]
    assert [row["decision.reason"] for row in rows] == ["flow"] * 5


def test_events_are_of_the_form_that_is_asked_for(tmp_path: Path) -> None:
    _trail(tmp_path)
    lines = b"".join(
        download(tmp_path, AuditExport(form="ocsf", outcome="denied"), "gw", 0.0).pieces
    )
    assert {json.loads(line)["class_uid"] for line in lines.splitlines()} == {6003}
