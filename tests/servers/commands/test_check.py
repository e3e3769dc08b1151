"""`server check` and `inspect`: servers are started for a look, and the exit code says how it went."""

import pytest

from tests.cli.gateways import DEMO
from tests.cli.shell import Shell

CONFIG = f"""\
{DEMO}[servers.tools.delete_all_notes]
risk_level = "dangerous"
"""
BROKEN = '[[servers]]\nid = "absent"\ncommand = "no-such-program-here"\n'
OFF = '[[servers]]\nid = "off"\ncommand = "no-such-program-here"\nenabled = false\n'


def test_servers_that_start_are_counted_and_the_exit_code_is_0(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG + OFF)
    done = shell.run("server", "check")
    assert done.code == 0
    demo, off = done.rows
    assert (demo[:3], demo[5]) == (["demo", "ready", "8"], "")
    assert (demo[3], int(demo[4]) > 0) == ("2025-11-25", True)
    assert off == ["off", "disabled", "", "", "", ""]


def test_a_server_that_is_down_makes_it_8_and_is_named_with_its_cause(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG + BROKEN)
    done = shell.run("server", "check", "--json")
    assert (done.code, done.error["code"]) == (8, "server_down")
    assert done.error["message"] == "1 of 2 servers are down: absent"
    demo, absent = done.document
    assert (demo["state"], demo["tools"], demo["prompts"]) == ("ready", 8, 1)
    assert absent["state"] == "down"
    assert "'no-such-program-here' is not on PATH" in absent["reason"]


def test_only_the_named_servers_are_started(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG + BROKEN)
    done = shell.run("server", "check", "demo")
    assert (done.code, [row[0] for row in done.rows]) == (0, ["demo"])


@pytest.mark.parametrize("command", ["check", "inspect", "show"])
def test_a_server_that_nobody_knows_is_wrong_use(shell: Shell, command: str) -> None:
    shell.write("mgp.toml", CONFIG)
    done = shell.run("server", command, "nonsense")
    assert (done.code, done.error["code"]) == (2, "not_found")


def test_no_server_at_all_is_no_failure_and_says_so(shell: Shell) -> None:
    done = shell.run("server", "check", "--json")
    assert (done.code, done.document) == (0, [])
    assert "[[servers]]" in shell.run("server", "check").err


def test_everything_that_a_server_offers_is_shown_granted_or_not(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    done = shell.run("server", "inspect", "demo")
    assert done.code == 0
    kinds = [row[0] for row in done.rows]
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "tool": 8,
        "prompt": 1,
        "resource": 2,
        "template": 1,
    }
    assert ["tool", "delete_all_notes", "dangerous", "Throw every note away."] in done.rows
    assert "A notebook to try things with." in done.err
    document = shell.run("server", "inspect", "demo", "--json").document
    assert len(document["tools"]) == 8
    assert document["tools"][0]["definition"]["inputSchema"]["type"] == "object"


@pytest.mark.parametrize(("name", "why"), [("absent", "not on PATH"), ("off", "enabled = false")])
def test_a_server_that_does_not_start_cannot_be_inspected(
    shell: Shell, name: str, why: str
) -> None:
    shell.write("mgp.toml", BROKEN + OFF)
    done = shell.run("server", "inspect", name)
    assert (done.code, why in done.error["message"]) == (4, True)


def test_the_time_a_hello_may_take_can_be_given(shell: Shell) -> None:
    shell.write("mgp.toml", '[[servers]]\nid = "mute"\ncommand = "sleep"\nargs = ["60"]\n')
    done = shell.run("server", "check", "--timeout", "0.5")
    assert (done.code, done.rows[0][5]) == (8, "no hello within 0.5 s")
