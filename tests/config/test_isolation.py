"""`isolation` and `[servers.sandbox]`: levels, their defaults, and what cannot be meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.config import Server, Settings, SettingsError
from gatewright.config.build import build
from gatewright.config.documents import parse
from gatewright.config.isolation import Isolation

FILE = Path("/project/mgp.toml")
PROGRAM = '[[servers]]\nid = "a"\ncommand = "x"\n'


def settings(text: str, **variables: str) -> Settings:
    return build([parse(text, FILE)], variables, Path("/state"))


def server(text: str, **variables: str) -> Server:
    (found,) = settings(text, **variables).servers
    return found


def problem(text: str) -> str:
    with pytest.raises(SettingsError) as caught:
        settings(text)
    (found,) = caught.value.problems
    return str(found)


def test_a_server_is_not_isolated_unless_somebody_says_so() -> None:
    assert server(PROGRAM).confinement == Isolation()
    standard = server(PROGRAM + '[servers.mgp]\ntrust_level = "standard"\n')
    assert standard.confinement.level == "none"


def test_sandboxed_trust_is_strict_isolation() -> None:
    """MGP-2.3-3 MGP-15.4-2"""
    found = server(PROGRAM + '[servers.mgp]\ntrust_level = "sandboxed"\n').confinement
    assert (found.level, found.network, found.write) == ("strict", False, ())
    assert (found.memory_bytes, found.processes) == (512 << 20, 32)


@pytest.mark.parametrize("level", ["none", "confined", "strict"])
def test_the_operator_decides_before_the_trust_level(level: str) -> None:
    text = f'{PROGRAM}isolation = "{level}"\n[servers.mgp]\ntrust_level = "sandboxed"\n'
    read = settings(text)
    assert read.servers[0].confinement.level == level
    said = [str(one) for one in read.warnings]
    assert len(said) == (level == "none")
    assert all("/project/mgp.toml:4: servers.a.isolation: " in one for one in said)
    assert all('runs without isolation; write isolation = "strict" unless' in one for one in said)


def test_a_confined_server_has_the_network_and_what_is_named() -> None:
    found = server(
        PROGRAM + 'isolation = "confined"\n[servers.sandbox]\nread = ["docs", "/opt/data"]\n'
        'write = ["${PLACE}"]\nmemory_bytes = 100000000\ncpu_s = 5\n',
        PLACE="/work",
    ).confinement
    assert found.network
    assert found.read == (Path("/project/docs"), Path("/opt/data"))
    assert found.write == (Path("/work"),)
    assert (found.memory_bytes, found.cpu_s, found.file_bytes) == (100000000, 5, None)


def test_its_network_can_be_taken() -> None:
    text = 'isolation = "confined"\n[servers.sandbox]\nnetwork = "none"\n'
    assert not server(PROGRAM + text).confinement.network


def test_a_folder_that_is_written_as_cwd_can_be_read_and_that_of_the_file_cannot() -> None:
    assert server(PROGRAM + 'isolation = "strict"\n').confinement.read == ()
    found = server(PROGRAM + 'isolation = "strict"\ncwd = "server"\n').confinement
    assert found.read == (Path("/project/server"),)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('isolation = "strict"\n[servers.sandbox]\nwrite = ["x"]\n', "changes nothing"),
        ('isolation = "strict"\n[servers.sandbox]\nnetwork = "open"\n', "no network"),
        ('isolation = "tight"\n', '"none", "confined", "strict"'),
        ('isolation = "strict"\n[servers.sandbox]\nmemory_bytes = 10\n', "16777216"),
    ],
)
def test_what_a_level_does_not_give_is_an_error(text: str, what: str) -> None:
    assert what in problem(PROGRAM + text)


def test_only_a_program_is_isolated() -> None:
    remote = '[[servers]]\nid = "a"\nurl = "http://127.0.0.1:1/mcp"\nisolation = "strict"\n'
    assert "a http server is not started here" in problem(remote)
    trusted = remote.replace('isolation = "strict"\n', '[servers.mgp]\ntrust_level = "sandboxed"\n')
    assert server(trusted).confinement.level == "none"


def test_a_sandbox_without_isolation_is_odd() -> None:
    (warning,) = settings(PROGRAM + '[servers.sandbox]\nread = ["x"]\n').warnings
    assert "no effect without isolation" in str(warning)


def test_a_variable_that_is_not_there_keeps_the_server_down() -> None:
    text = 'isolation = "confined"\n[servers.sandbox]\nread = ["${NOWHERE}"]\n'
    found = server(PROGRAM + text)
    assert found.problem is not None
    assert "NOWHERE" in str(found.problem)
