"""Hosts that were connected: entries that are gone, changed, or lead nowhere are found."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gatewright.hosts.doctor import check_hosts
from gatewright.hosts.entries import local_entry
from gatewright.hosts.entry_splices import Record, apply
from gatewright.hosts.host_table import HOSTS
from gatewright.hosts.whole_file import MAX_BYTES

URL = "http://127.0.0.1:8420/mcp"


def connected(folder: Path, host: str, entry: dict[str, Any]) -> Record:
    """A host's file with our entry, and what is remembered of it."""
    file = folder / "file.json"
    text, step = apply(HOSTS[host], None, "gatewright", entry)
    file.write_text(text)
    return Record(host=host, file=str(file), steps=(step,))


def found(record: Record, url: str = URL) -> tuple[str, str]:
    (one,) = check_hosts([record], url)
    assert one.fix or one.level == "ok"
    return one.level, one.what


def test_no_host_at_all_is_well() -> None:
    (one,) = check_hosts([], URL)
    assert (one.level, "none is connected" in one.what) == ("ok", True)


def test_a_bridge_that_is_there_is_well_and_one_that_is_gone_a_problem(tmp_path: Path) -> None:
    program = tmp_path / "gatewright"
    program.write_text("")
    entry = {"command": str(program), "args": ["bridge", "--as", "cursor"]}
    record = connected(tmp_path, "cursor", entry)
    assert found(record) == ("ok", "starts gatewright as gatewright")
    program.unlink()
    assert found(record) == ("problem", f"its entry starts {program}, which is not there")


@pytest.mark.parametrize("host", HOSTS)
def test_a_bridge_from_before_hosts_had_names_is_told_and_how_to_renew_it(
    tmp_path: Path, host: str
) -> None:
    program = tmp_path / "gatewright"
    program.write_text("")

    def told(words: list[str], env: dict[str, str] | None = None) -> str:
        entry = local_entry(HOSTS[host], "gatewright", [str(program), *words], env or {})
        (one,) = check_hosts([connected(tmp_path, host, entry)], URL)
        return f"{one.level}: {one.fix}"

    assert told(["bridge"]) == f"warning: gatewright connect {host}"
    assert told(["bridge", "--config", "/x"]) == f"warning: gatewright connect {host}"
    assert told(["bridge", "--as", host]) == "ok: "
    assert told(["bridge", "--url", "https://gw.example/mcp"]) == "ok: "
    assert told(["bridge"], {"GATEWRIGHT_KEY": "gw_1"}) == "ok: "


@pytest.mark.parametrize(
    ("written", "level"),
    [
        (URL, "ok"),
        (f"{URL}/small", "ok"),
        ("http://localhost:8420/mcp", "ok"),
        ("http://127.0.0.1:9999/mcp", "problem"),
        ("https://gateway.example.com/mcp", "ok"),
        ("http://[", "problem"),
    ],
)
def test_a_url_of_this_machine_has_to_be_that_of_the_gateway(
    tmp_path: Path, written: str, level: str
) -> None:
    record = connected(tmp_path, "cursor", {"url": written})
    assert found(record)[0] == level
    assert found(record, "")[0] == "ok"


def test_an_entry_that_somebody_changed_or_removed_is_told(tmp_path: Path) -> None:
    record = connected(tmp_path, "cursor", {"url": URL})
    file = Path(record.file)
    content = json.loads(file.read_text())
    content["mcpServers"]["gatewright"]["headers"] = {"X": "1"}
    file.write_text(json.dumps(content))
    assert found(record) == ("warning", "its entry gatewright was changed by somebody since")
    file.write_text("{}")
    level, what = found(record)
    assert (level, "no longer in" in what) == ("warning", True)
    file.write_text("{")
    assert found(record)[0] == "warning"
    file.unlink()
    assert found(record)[0] == "warning"


def test_a_command_that_is_a_list_is_understood(tmp_path: Path) -> None:
    entry = {"type": "local", "command": ["/no/such/gatewright", "bridge"]}
    assert found(connected(tmp_path, "opencode", entry))[0] == "problem"


@pytest.mark.parametrize("what", ["link", "device", "pipe", "long", "folder", "hard link", "bytes"])
def test_a_projects_file_that_has_become_something_else_is_told_and_not_read(
    tmp_path: Path, what: str
) -> None:
    """`connect --project` was told to use it; what the project makes of it later is the project's."""
    file = tmp_path / "project" / HOSTS["cursor"].project
    file.parent.mkdir(parents=True)
    text, step = apply(HOSTS["cursor"], None, "gatewright", {"url": URL})
    other = tmp_path / "other.json"
    other.write_text(text)
    if what == "link":
        file.symlink_to(other)
    elif what == "device":
        file.symlink_to("/dev/zero")
    elif what == "pipe":
        os.mkfifo(file)
    elif what == "folder":
        file.mkdir()
    elif what == "hard link":
        file.hardlink_to(other)
    else:
        file.write_bytes(b"\xff" if what == "bytes" else b" " * (MAX_BYTES + 1))
    (first, *_) = check_hosts([Record(host="cursor", file=str(file), steps=(step,))], URL)
    assert (first.level, "cannot be read" in first.what) == ("warning", True)


def test_a_project_that_is_linked_to_itself_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    file = tmp_path / "link" / HOSTS["cursor"].project
    file.parent.mkdir()
    text, step = apply(HOSTS["cursor"], None, "gatewright", {"url": URL})
    file.write_text(text)
    assert found(Record(host="cursor", file=str(file), steps=(step,)))[0] == "ok"
