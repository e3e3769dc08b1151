"""The state folder and what is in it: each way to be wrong is found, and what is safe can be mended."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from gatewright.cli.checks.state import check_audit, check_folder, check_gateway, check_store
from gatewright.config import Settings
from gatewright.config.groundhog import Protocol, Transport
from gatewright.config.model import Gateway, Storage
from gatewright.storage.opening import open_state
from tests.storage.former_folders import AT_HEAD, former_folder


def settings(folder: Path, port: int = 0) -> Settings:
    return Settings(storage=Storage(path=folder), gateway=Gateway(port=port))


def test_a_folder_that_is_not_there_yet_is_well(tmp_path: Path) -> None:
    (found,) = check_folder(tmp_path / "none")
    assert (found.level, "not there yet" in found.what) == ("ok", True)


def test_what_others_may_read_is_a_problem_that_can_be_mended(tmp_path: Path) -> None:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o755)
    file = folder / "keys.db"
    file.write_text("")
    file.chmod(0o644)
    wide = [one for one in check_folder(folder) if one.level == "problem"]
    assert [(one.subject, one.what) for one in wide] == [
        (str(folder), "others may use it: mode 755"),
        (str(file), "others may use it: mode 644"),
    ]
    for one in wide:
        assert one.mend is not None
        one.mend()
    assert [one.level for one in check_folder(folder)] == ["ok", "ok"]
    assert file.stat().st_mode & 0o777 == 0o600


def test_a_file_in_place_of_the_folder_is_a_problem(tmp_path: Path) -> None:
    file = tmp_path / "state"
    file.write_text("")
    (found,) = check_folder(file)
    assert (found.level, found.what) == ("problem", "is not a folder")


def test_a_port_that_somebody_else_listens_on_is_a_problem(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        (found,) = check_gateway(settings(tmp_path, port))
        assert (found.level, found.subject) == ("problem", f"127.0.0.1:{port}")
        assert "[gateway] port" in found.fix
        protocol = Protocol(transport=Transport(host="127.0.0.1", port=port))
        both = check_gateway(msgspec.structs.replace(settings(tmp_path), protocol=protocol))
        free, taken = both
        assert (free.level, taken.level) == ("ok", "problem")
        assert "[mcp.protocol.transport] port" in taken.fix
    assert [one.level for one in check_gateway(settings(tmp_path))] == ["ok"]


def gateway_file(folder: Path, pid: int, url: str) -> Path:
    body = {"url": url, "pid": pid, "operator_token": "o", "local_token": "l", "version": "0.0.1"}
    path = folder / "gateway.json"
    path.write_text(json.dumps(body))
    return path


def test_what_a_dead_gateway_left_is_found_and_can_be_removed(tmp_path: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait(30)
    path = gateway_file(tmp_path, ended.pid, "http://127.0.0.1:1/mcp")
    stale, _ = check_gateway(settings(tmp_path))
    assert (stale.level, str(ended.pid) in stale.why) == ("warning", True)
    assert stale.mend is not None
    stale.mend()
    assert not path.exists()


def test_a_gateway_that_lives_and_does_not_answer_is_a_problem(tmp_path: Path) -> None:
    gateway_file(tmp_path, os.getpid(), "http://127.0.0.1:1/mcp")
    (found,) = check_gateway(settings(tmp_path))
    assert (found.level, "does not answer" in found.what) == ("problem", True)


@pytest.mark.parametrize(
    "url", ["http://[::1/mcp", "http://127.0.0.1:port/mcp", f"http://{'a' * 64}.b/", "http://a\tb/"]
)
def test_a_gateway_file_whose_url_is_none_is_a_problem(tmp_path: Path, url: str) -> None:
    gateway_file(tmp_path, os.getpid(), url)
    (found,) = check_gateway(settings(tmp_path))
    assert (found.level, "does not answer" in found.what) == ("problem", True)
    assert found.why


def test_an_address_whose_host_can_be_none_is_a_problem(tmp_path: Path) -> None:
    gateway = Gateway(host=f"{'a' * 64}.b", port=1)
    found = check_gateway(msgspec.structs.replace(settings(tmp_path), gateway=gateway))
    assert "cannot be listened on" in [one.what for one in found if one.level == "problem"]


def test_a_gateway_file_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "gateway.json").write_text("{")
    (found,) = check_gateway(settings(tmp_path))
    assert (found.level, found.what) == ("problem", "cannot be read")


def test_a_store_that_is_no_database_is_a_problem(tmp_path: Path) -> None:
    assert [one.what for one in check_store(tmp_path)] == ["no key was made yet"]
    (tmp_path / "state.db").write_bytes(b"this is no database" * 1000)
    (found,) = check_store(tmp_path)
    assert (found.level, found.what) == ("problem", "cannot be used")
    assert found.why


def test_a_folder_of_a_former_version_is_said_to_be_one_and_left_as_it_is(tmp_path: Path) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    former, keys = check_store(folder)
    assert (former.level, keys.level, keys.what) == ("ok", "ok", "2 keys, 1 of them in force")
    assert "of a former version: keys.db, grants.db" in former.what
    assert not (folder / "state.db").exists()
    (folder / "grants.db").write_bytes(b"this is no database" * 1000)
    assert [one.level for one in check_store(folder)] == ["ok", "problem"]


def test_a_former_file_beside_the_state_is_named(tmp_path: Path) -> None:
    folder = former_folder(tmp_path / "state", AT_HEAD)
    shutil.copyfile(folder / "keys.db", tmp_path / "keys.db")
    open_state(folder, lambda _: None).close()
    shutil.copyfile(tmp_path / "keys.db", folder / "keys.db")
    found, _ = check_store(folder)
    assert (found.level, found.what) == (
        "warning",
        "files of a former version lie beside it: keys.db",
    )


def test_a_record_that_cannot_be_read_is_a_problem(tmp_path: Path) -> None:
    assert [one.what for one in check_audit(tmp_path)] == ["no record yet"]
    (tmp_path / "audit.db").write_bytes(b"this is no database" * 1000)
    (found,) = check_audit(tmp_path)
    assert (found.level, found.what) == ("problem", "the record cannot be read")
    assert msgspec.json.encode(found.document())
