"""`audit export`: as a process, on a real trail."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import stat
import sys

import pytest

from gatewright.audit.segments import segment_numbers, segment_path
from tests.audit.parts import a_call, a_log, fill, run
from tests.cli.shell import Shell

MANY = 30_000


@pytest.fixture
def written(shell: Shell) -> Shell:
    """Twelve records by `ann`, half of them ends of calls."""
    shell.state.mkdir()
    asyncio.run(fill(shell.state, 12))
    return shell


def test_json_lines_are_the_trail_byte_for_byte(written: Shell) -> None:
    done = written.run("audit", "export")
    whole = b"".join(
        segment_path(written.state, each).read_bytes() for each in segment_numbers(written.state)
    )
    assert (done.code, done.out.encode()) == (0, whole)
    assert "12 records" in done.err


@pytest.mark.parametrize("form", ["jsonl", "csv", "cloudevents", "ocsf"])
def test_every_form_has_every_record_oldest_first(written: Shell, form: str) -> None:
    done = written.run("audit", "export", "--format", form)
    if form == "csv":
        found = [int(row["seq"]) for row in csv.DictReader(io.StringIO(done.out, newline=""))]
    else:
        records = [json.loads(line) for line in done.out.splitlines()]
        place = {"jsonl": "seq", "cloudevents": "sequence"}
        found = [
            one["metadata"]["sequence"] if form == "ocsf" else int(one[place[form]])
            for one in records
        ]
    assert found == list(range(1, 13))


def test_the_filters_are_those_of_query(written: Shell) -> None:
    done = written.run("audit", "export", "--event", "TOOL_EXECUTED", "--trace", "trace-3")
    assert [json.loads(line)["call"] for line in done.out.splitlines()] == ["call-3"]
    assert written.run("audit", "export", "--agent", "nobody").out == ""
    assert written.run("audit", "export", "--until", "2000-01-01T00:00:00Z").out == ""


def test_a_file_is_written_whole_and_for_its_owner_alone(written: Shell) -> None:
    target = written.write("out.csv", "what was there before")
    done = written.run("audit", "export", "--format", "csv", "--out", str(target))
    assert (done.code, done.out) == (0, "")
    assert len(target.read_text().splitlines()) == 13
    assert stat.S_IMODE(target.stat().st_mode) == 0o600
    assert not list(written.folder.glob(".out.csv.*"))


def test_a_file_that_cannot_be_written_is_said(written: Shell) -> None:
    done = written.run("audit", "export", "--out", str(written.folder / "none" / "x"))
    assert (done.code, done.error["code"]) == (2, "not_written")


def test_an_unknown_format_is_a_usage_error(written: Shell) -> None:
    assert written.run("audit", "export", "--format", "xml").code == 2


PEAK = """
import resource, sys
from gatewright.cli import main
sys.argv = ["gatewright", "audit", "export", "--format", sys.argv[1], "--out", sys.argv[2]]
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def _peak_kib(shell: Shell, form: str) -> int:
    """The most memory that the command ever had."""
    import subprocess  # noqa: PLC0415 - the only use

    script = shell.write("peak.py", PEAK)
    ended = subprocess.run(
        [sys.executable, str(script), form, str(shell.folder / "out")],
        capture_output=True,
        text=True,
        env=shell.environ(),
        cwd=shell.folder,
        timeout=60,
        check=True,
    )
    return int(ended.stdout.split()[-1])


def test_memory_does_not_grow_with_the_number_of_records(shell: Shell) -> None:
    """Records are written as they are read: thirty thousand take no more than a few."""
    shell.state.mkdir()
    asyncio.run(fill(shell.state, 2))
    few = _peak_kib(shell, "csv")
    log = a_log(shell.state)
    for number in range(MANY // 2):
        run(log, a_call(number))
    asyncio.run(log.close())
    assert _peak_kib(shell, "csv") < few + 16_384
