"""`audit accept` and what comes before it: a gateway that does not start without the words of an operator that were lost."""

from __future__ import annotations

import shutil
import time

from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell

CONFIG = f"""\
[gateway]
port = 0
{DEMO}[[grants]]
agent = "*"
server = "demo"
"""


OLDER = "grants in state.db is an older copy: it has 0 changes, the record knows 1"


def test_a_deny_that_is_lost_lets_nobody_in_until_an_operator_says_so(shell: Shell) -> None:
    """`state.db` is put back between two runs; the grant of the configuration alone would let the bot in."""
    shell.write("mgp.toml", CONFIG)
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    bot = shell.run("key", "create", "bot", "--key", operator).out.strip()
    shutil.copyfile(shell.state / "state.db", shell.state / "early")
    shell.run("grant", "add", "bot", "demo/add", "--deny", "--key", operator)
    call = ("tool", "call", "demo__add", "a=1", "b=2", "--key", bot)
    with serving(shell):
        assert shell.run(*call).code == 6
    (shell.state / "early").rename(shell.state / "state.db")
    refused = shell.run("serve")
    assert (refused.code, refused.error["code"]) == (1, "store")
    assert "grants in state.db is an older copy" in refused.error["message"]
    doctor = shell.run("doctor", "--json").document
    said = [one["what"] for one in doctor["findings"] if one["level"] == "problem"]
    assert OLDER in said
    assert shell.run("audit", "accept").code == 6
    done = shell.run("audit", "accept", "--key", operator, "--json").document
    assert (done["by"], done["accepted"][0]) == ("root", OLDER)
    assert shell.run("audit", "accept", "--key", operator, "--json").document["accepted"] == []
    with serving(shell):
        assert shell.run(*call).code == 0


def test_a_gateway_that_runs_takes_no_call_without_its_state(shell: Shell) -> None:
    shell.write("mgp.toml", CONFIG)
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    bot = shell.run("key", "create", "bot", "--key", operator).out.strip()
    shell.run("grant", "add", "bot", "demo/add", "--key", operator)
    call = ("tool", "call", "demo__add", "a=1", "b=2", "--key", bot)
    with serving(shell):
        assert shell.run(*call).code == 0
        shutil.move(shell.state / "state.db", shell.state / "away.db")
        deadline = time.monotonic() + 30
        done = shell.run(*call)
        while done.code == 0 and time.monotonic() < deadline:  # it looks four times a second
            done = shell.run(*call)
        assert "behind its record" in done.err
