"""Commands that write bring a former folder to the form of this version; those that look leave it as it is."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from gatewright.cli.state_access import has_state, opened, seen
from gatewright.storage import lock
from gatewright.storage.errors import StoreBusyError, StoreDamagedError
from gatewright.storage.former_files import former_files
from gatewright.storage.lock import FolderLock
from tests.cli.shell import Shell
from tests.storage.former_folders import AT_HEAD, former_folder


def test_who_looks_sees_a_former_folder_and_leaves_it(tmp_path: Path) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    with seen(folder) as state:
        assert state.heads()["keys"].steps == 3
    assert len(former_files(folder)) == 8
    with opened(folder) as state:
        assert state.heads()["keys"].steps == 3
    assert former_files(folder) == []


def test_a_state_is_there_once_something_was_kept(tmp_path: Path) -> None:
    assert not has_state(tmp_path)
    with opened(tmp_path):
        assert has_state(tmp_path)
    assert has_state(former_folder(tmp_path / "former", AT_HEAD))


def test_who_writes_is_refused_while_a_former_gateway_runs_and_where_the_record_says_no(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_NAMED_S", 0.05)
    folder = former_folder(tmp_path / "state", AT_HEAD)
    gateway = FolderLock(folder)
    with ExitStack() as stack, pytest.raises(StoreBusyError, match="stop it"):
        stack.enter_context(opened(folder))
    gateway.release()
    (folder / "pins.db").unlink()
    with ExitStack() as stack, pytest.raises(StoreDamagedError, match=r"pins\.db is gone"):
        stack.enter_context(opened(folder))
    assert len(former_files(folder)) == 7


def test_commands_that_only_show_leave_a_former_folder_as_it_is_and_key_create_takes_it_over(
    shell: Shell,
) -> None:
    former_folder(shell.state, AT_HEAD)
    shell.run("doctor")
    shell.run("audit", "verify")
    shell.run("policy", "explain", "agent-1", "files__read")
    done = shell.run("key", "list", "--json")
    assert {one["name"] for one in done.document} == {"agent-1", "agent-2"}
    assert len(former_files(shell.state)) == 8
    shell.run_at_terminal("key", "create", "agent-3")
    assert former_files(shell.state) == []


def test_a_list_of_nothing_makes_nothing(shell: Shell) -> None:
    assert shell.run("key", "list", "--json").document == []
    assert not shell.state.exists()
