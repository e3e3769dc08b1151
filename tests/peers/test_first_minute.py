"""A new user's first minute, lived through with real servers: the file of Claude Desktop with three of them, one
broken, is imported and connected, and a call that the host makes is seen in the record."""

from __future__ import annotations

import pytest

from benchmarks.first_minute import BROKEN, Minute, live

pytestmark = [pytest.mark.peers, pytest.mark.timeout(150)]

COMMANDS = 5
SECONDS = 60
"""What the user is promised, from the installed clone to the record."""


@pytest.fixture(scope="module")
def minute(tmp_path_factory: pytest.TempPathFactory) -> Minute:
    """It is lived through once."""
    return live(tmp_path_factory.mktemp("minute"))


def test_a_minute_and_five_commands_are_enough(minute: Minute) -> None:
    assert len(minute.commands) <= COMMANDS
    assert minute.seconds <= SECONDS


def test_the_broken_server_is_named_with_its_cause_and_what_to_do(minute: Minute) -> None:
    for said in (minute.said("gatewright serve"), minute.said("gatewright server list")):
        assert f"broken: the command '{BROKEN}' is not on PATH; install it, or" in said.err


def test_the_other_servers_work(minute: Minute) -> None:
    rows = [line.split("\t") for line in minute.said("gatewright server list").out.splitlines()]
    assert {row[0]: row[1] for row in rows if row[0] != "broken"} == {
        "everything": "connected",
        "filesystem": "connected",
    }
    assert {name.partition("__")[0] for name in minute.tools} == {"everything", "filesystem"}


def test_what_the_host_calls_is_answered_and_seen_in_the_record(minute: Minute) -> None:
    texts = {name: answer["content"][0]["text"] for name, answer in minute.answers.items()}
    assert texts == {
        "everything__echo": "Echo: hello",
        "filesystem__read_text_file": "hello from a file\n",
    }
    seen = minute.said("gatewright audit tail").out.splitlines()
    executed = [line.split("\t")[3] for line in seen if "TOOL_EXECUTED" in line]
    assert executed == ["everything__echo", "filesystem__read_text_file"]


def test_the_file_of_the_host_has_our_entry_beside_its_own(minute: Minute) -> None:
    assert list(minute.entries) == ["everything", "filesystem", "broken", "gatewright"]
    assert "bridge" in minute.entries["gatewright"]["args"]
