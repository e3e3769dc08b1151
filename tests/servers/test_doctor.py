"""How a try of a server is put into words, without a word that could be a secret."""

from pathlib import Path

import pytest

from gatewright.config import Server, load
from gatewright.servers.doctor import check_isolation, check_servers, fix_for, offered
from gatewright.servers.preflight import Found

TEXT = """
[[servers]]
id = "local"
command = "program"
args = ["--token", "hunter2"]
[[servers]]
id = "far"
url = "http://127.0.0.1:1/mcp?token=hunter2"
[[servers]]
id = "unset"
command = "program"
env = { KEY = "${NO_SUCH_VARIABLE}" }
"""


def servers(folder: Path) -> dict[str, Server]:
    path = folder / "mgp.toml"
    path.write_text(TEXT)
    return {one.id: one for one in load(path, environ={}).servers}


def test_each_kind_of_server_has_its_way_out_and_no_secret_in_it(tmp_path: Path) -> None:
    known = servers(tmp_path)
    ways = {
        name: fix_for(Found(id=name, transport=one.transport, state="down", reason="ended"), one)
        for name, one in known.items()
    }
    assert "start program by hand" in ways["local"]
    assert "is http://127.0.0.1:1/mcp right" in ways["far"]
    assert "set NO_SUCH_VARIABLE" in ways["unset"]
    assert "hunter2" not in str(ways)


def test_a_reason_that_says_what_to_do_is_not_said_twice(tmp_path: Path) -> None:
    server = servers(tmp_path)["local"]
    for reason in (
        "… install it, or set `command` to its full path",
        "… gatewright server login x",
    ):
        assert (
            fix_for(Found(id="local", transport="stdio", state="down", reason=reason), server) == ""
        )


def test_a_server_that_is_down_tells_its_last_words(tmp_path: Path) -> None:
    found = Found(
        id="local", transport="stdio", state="down", reason="exited", last_words=("a", "no key")
    )
    (one,) = check_servers(found, servers(tmp_path)["local"])
    assert (one.level, one.what, one.why) == ("problem", "exited", "its last words: no key")


def test_a_server_that_is_disabled_or_ready_is_well(tmp_path: Path) -> None:
    server = servers(tmp_path)["local"]
    off, ready = (
        Found(id="local", transport="stdio", state=state, ready_ms=12.0)
        for state in ("disabled", "ready")
    )
    assert [(one.level, one.what) for one in check_servers(off, server)] == [("ok", "disabled")]
    assert offered(ready) == "nothing; MCP , 12 ms"


@pytest.mark.parametrize("wanted", [True, False])
def test_what_cannot_be_isolated_is_a_problem_where_a_server_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wanted: bool
) -> None:
    async def flaw(level: str) -> str:
        return "bwrap is not installed" if level == "strict" else ""

    monkeypatch.setattr("gatewright.transport.isolation.start.flaw", flaw)
    path = tmp_path / "mgp.toml"
    level = "strict" if wanted else "confined"
    path.write_text(f'[[servers]]\nid = "a"\ncommand = "x"\nisolation = "{level}"\n')
    confined, strict = check_isolation(load(path, environ={}))
    assert (confined.subject, confined.level, confined.why) == ("confined", "ok", "")
    assert (strict.subject, strict.level) == ("strict", "problem" if wanted else "ok")
    assert strict.why == "bwrap is not installed" + ("; kept down by it: a" if wanted else "")
