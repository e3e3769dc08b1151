"""`doctor`: every finding with its fix, exit code 0 or 8, and `--fix` for what is safe."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.cli.doctor import _each, examined
from gatewright.cli.errors import CliError
from gatewright.cli.finding import Finding
from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Done, Shell
from tests.servers.rig import SERVERS

CONFIG = f"""\
[gateway]
port = 0
{DEMO}[[grants]]
agent = "*"
server = "demo"
"""
BROKEN = f"""
[[servers]]
id = "broken"
command = {json.dumps(sys.executable)}
args = ["-c", "raise SystemExit('no licence was found')"]
"""


def levels(done: Done) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for one in done.document["findings"]:
        found.setdefault(one["check"], set()).add(one["level"])
    return found


def of(done: Done, check: str) -> list[dict[str, Any]]:
    return [one for one in done.document["findings"] if one["check"] == check]


def test_a_whole_installation_is_looked_at_and_found_well(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    with serving(shell):
        assert shell.run("tool", "call", "demo__echo", "text=hello").code == 0
        done = shell.run("doctor", "--json")
    assert (done.code, done.document["ok"]) == (0, True)
    checks = "config environment gateway state store host audit clock isolation server context"
    assert levels(done) == {check: {"ok"} for check in checks.split()}
    (server,) = of(done, "server")
    assert server["what"].startswith("8 tools, 1 prompt, 2 resources, 1 template of ")
    assert " tokens; MCP " in server["what"]
    assert "records, unbroken" in of(done, "audit")[0]["what"]


def test_a_broken_server_is_named_with_its_cause_and_the_others_are_well(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG + BROKEN)
    done = shell.run("doctor")
    assert (done.code, done.error["code"]) == (8, "problems")
    servers = {row[2]: row for row in done.rows if row[1] == "server"}
    assert servers["demo"][0] == "ok"
    level, _, _, what, why, fix = servers["broken"]
    assert (level, what, why) == (
        "problem",
        "exited with status 1",
        "its last words: no licence was found",
    )
    assert "by hand" in fix


def test_a_wrong_file_is_a_finding_and_the_rest_is_looked_at_all_the_same(shell: Shell) -> None:
    shell.write("mgp.toml", "[gateway]\nport = 'x'\n")
    done = shell.run("doctor", "--json")
    assert (done.code, done.document["ok"]) == (8, False)
    found = levels(done)
    assert found["config"] == {"problem"}
    assert found["clock"] == {"ok"}


def test_what_is_safe_is_mended_on_request_and_nothing_before(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    shell.state.mkdir(mode=0o755)
    file = shell.state / "keys.db.copy"
    file.write_text("")
    file.chmod(0o666)
    assert shell.run("doctor", "--no-servers").code == 8
    assert file.stat().st_mode & 0o777 == 0o666
    done = shell.run("doctor", "--fix", "--no-servers", "--json")
    assert (done.code, done.document["ok"]) == (0, True)
    assert [one["subject"] for one in done.document["findings"] if one["fixed"]] == [
        str(shell.state),
        str(file),
    ]
    assert (shell.state.stat().st_mode & 0o777, file.stat().st_mode & 0o777) == (0o700, 0o600)
    assert shell.run("doctor", "--no-servers").code == 0


def test_a_record_that_somebody_changed_is_found(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    with serving(shell):
        shell.run("tool", "call", "demo__echo", "text=hello")
    segment = min(shell.state.glob("audit-*.jsonl"))
    segment.write_bytes(segment.read_bytes().replace(b'"demo"', b'"dame"', 1))
    done = shell.run("doctor", "--no-servers", "--json")
    assert done.code == 8
    (audit,) = of(done, "audit")
    assert (audit["level"], "broken at" in audit["what"]) == ("problem", True)
    assert "evidence" in audit["fix"]


def test_a_host_that_was_connected_is_looked_at(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    assert shell.run("connect", "cursor", "--yes").code == 0
    (well,) = of(shell.run("doctor", "--no-servers", "--json"), "host")
    assert (well["subject"], well["level"], well["what"]) == (
        "Cursor",
        "ok",
        "starts gatewright as gatewright",
    )
    (shell.folder / ".cursor" / "mcp.json").write_text("{}")
    (gone,) = of(shell.run("doctor", "--no-servers", "--json"), "host")
    assert (gone["level"], "gatewright connect cursor" in gone["fix"]) == ("warning", True)


@pytest.mark.parametrize("flag", [(), ("--no-servers",)])
def test_servers_are_started_unless_told_otherwise(shell: Shell, flag: tuple[str, ...]) -> None:
    mark = shell.folder / "started"
    text = f"open({str(mark)!r}, 'w').close()"
    shell.write(
        "mgp.toml",
        f'[[servers]]\nid = "a"\ncommand = {json.dumps(sys.executable)}\n'
        f'args = ["-c", {json.dumps(text)}]\n',
    )
    shell.run("doctor", *flag)
    assert mark.exists() is not bool(flag)


def test_a_person_sees_cause_and_fix_below_each_problem(shell: Shell) -> None:
    shell.write("mgp.toml", BROKEN)
    done = shell.run_at_terminal("doctor")
    assert done.code == 8
    lines = [line.rstrip() for line in done.out.splitlines()]
    at = next(n for n, line in enumerate(lines) if line.startswith("problem") and "server" in line)
    assert "broken" in lines[at]
    assert lines[at + 1].strip() == "why: its last words: no licence was found"
    assert lines[at + 2].strip().startswith("fix: ")


def test_what_the_parts_log_is_shown_on_request_only(shell: Shell) -> None:
    shell.write("mgp.toml", BROKEN)
    assert "gatewright.servers" not in shell.run("doctor").err
    assert "gatewright.servers" in shell.run("doctor", "-v").err


def test_no_secret_of_a_server_is_in_what_is_found(shell: Shell) -> None:
    command = (
        f"command = {json.dumps(sys.executable)}\nargs = [{json.dumps(str(SERVERS / 'bad.py'))}"
    )
    shell.write(
        "mgp.toml",
        f'[[servers]]\nid = "a"\n{command}, "exit-at-start-hunter2"]\nenv = {{ T = "hunter2" }}\n'
        '[[servers]]\nid = "b"\nurl = "http://127.0.0.1:9/mcp?key=hunter2"\n'
        'headers = { Authorization = "Bearer hunter2" }\n',
    )
    done = shell.run("doctor", "--json")
    assert done.code == 8
    said = [one for one in done.document["findings"] if "last words" not in one["why"]]
    assert "hunter2" not in json.dumps(said) + done.err


def test_what_cannot_be_looked_at_is_a_finding_and_keeps_no_other_check_from_looking(
    shell: Shell,
) -> None:
    """As of a folder of another user."""
    shell.environment["GATEWRIGHT_STATE"] = "/" + "x" * 300
    done = shell.run("doctor", "--no-servers", "--json")
    assert done.code == 8
    (found,) = [one for one in of(done, "state") if one["what"] == "cannot be looked at"]
    assert found["fix"]
    assert {"config", "environment", "clock"} <= set(levels(done))


def fails(problem: Exception) -> Iterator[Finding]:
    yield Finding(check="x", subject="x", level="ok", what="well")
    raise problem


def test_a_check_that_breaks_off_is_a_finding_and_keeps_no_other_from_looking(
    tmp_path: Path,
) -> None:
    problems = [
        ValueError("no port"),
        KeyError("x"),
        UnicodeError("too long"),
        CliError("no gateway", code="x", exit_code=4, hint="start it"),
        PermissionError(13, "not yours"),
    ]
    checks = [lambda one=one: fails(one) for one in problems]
    found = list(_each(tmp_path, set(), *checks))
    assert [one.level for one in found] == ["ok", "problem"] * len(problems)
    told = [(one.why, bool(one.fix)) for one in found[1::2]]
    assert told[0] == ("ValueError: no port", True)
    assert told[3] == ("no gateway", True)
    assert found[7].fix == "start it"
    assert found[9].what == "cannot be looked at"


def test_a_gateway_that_runs_is_looked_at_without_its_servers_and_its_record(shell: Shell) -> None:
    """What it shows in its console: servers run already, and the record is verified when somebody asks."""
    config = shell.write("mgp.toml", CONFIG + BROKEN)
    with serving(shell):
        checks = {one.check for one in examined(config)}
    assert {"config", "environment", "gateway", "state", "store"} <= checks
    assert checks.isdisjoint({"server", "audit", "context"})


def test_a_configuration_that_cannot_be_read_is_a_finding(shell: Shell) -> None:
    config = shell.write("mgp.toml", "[gateway]\nport = -1\n")
    assert [one.level for one in examined(config) if one.check == "config"] == ["problem"]
