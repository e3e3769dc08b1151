"""What a shell line does in its throw-away place is seen, whichever way it does it, and the machine stays as it is."""

from pathlib import Path

import pytest

from benchmarks.line_rooms import Room, ready

pytestmark = pytest.mark.traced


@pytest.fixture(scope="module", params=[False, True], ids=["inspect", "develop"])
def room(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Room:  # fmt: skip
    assert ready() == ""
    return Room(tmp_path_factory.mktemp("room"), writes=request.param)


@pytest.mark.parametrize("line", ["cat a.txt", "ls -la | wc -l", "git status -s", "git log --oneline", "sort a.txt b.txt", "false", "echo x > /dev/null"])  # fmt: skip
def test_what_only_reads_does_nothing(room: Room, line: str) -> None:
    assert room.run(line).is_harmless


@pytest.mark.parametrize("line", ["cp a.txt ../other/b.txt", "rm ~/notes.txt", "mkdir ~/new", "cd .. && touch other/new", "chmod 600 ../other/a.txt", "mv ~/a.txt a2.txt", "ln -s a.txt ~/link", "truncate -s 0 ~/a.txt"])  # fmt: skip
def test_what_is_changed_outside_is_seen_by_both_witnesses(room: Room, line: str) -> None:
    deeds = room.run(line)
    assert deeds.written
    assert deeds.changed


def test_the_next_line_finds_all_as_it_was(room: Room) -> None:
    assert room.run("rm -r ~/notes.txt ../other").changed
    assert room.run("cat ~/notes.txt ../other/notes.txt").status == 0


def test_what_fails_is_seen_as_well(room: Room) -> None:
    deeds = room.run("touch /usr/x")
    assert deeds.status != 0
    assert deeds.written
    assert not deeds.changed


def test_what_is_kept_in_the_temporary_folder_is_seen_where_nothing_may_be_written(tmp_path: Path) -> None:  # fmt: skip
    for writes in (False, True):
        folder = tmp_path / str(writes)
        folder.mkdir()
        room = Room(folder, writes=writes)
        assert room.run("echo x > /tmp/kept").is_harmless == writes
        assert room.run("echo x > new.txt").is_harmless == writes
        assert room.run("echo x > /tmp/kept; rm /tmp/kept").is_harmless


def test_a_connection_is_seen_and_reaches_nobody(room: Room) -> None:
    deeds = room.run(": < /dev/tcp/127.0.0.1/9")
    assert deeds.connections
    assert deeds.status != 0
    assert not room.run(": < /dev/udp/127.0.0.1/9").connections


def test_what_does_not_end_is_ended(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.line_rooms.SECONDS", 0.5)
    assert not room.run("sleep 30").ended


def test_nobody_is_more_than_a_guest(room: Room) -> None:
    assert room.run("test $(id -u) = 1000").status == 0
    assert room.run("test -w /usr -o -w /etc").status == 1
    assert room.run("ls /run/* /root/*").status != 0
