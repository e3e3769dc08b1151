"""`deny` by itself; what it shares with `approve` is in test_approve."""

import os
import time

from gatewright.approvals.request import Asked
from tests.approvals.voting import Voting
from tests.cli.shell import Shell
from tests.storage.parts import state_in


def test_an_approval_that_nobody_used_yet_can_be_taken_back(shell: Shell) -> None:
    operator = shell.run("key", "create", "olga", "--operator").out.strip()
    queue = Voting(state_in(shell.state), clock=time.time, random=os.urandom)
    asked = Asked("bot", "files", "wipe", "a" * 64, "d" * 64, "p1")
    made = queue.ask(asked, arguments="{}", risk="dangerous", reason="", quorum=1, lasts_s=600)
    assert made is not None
    shell.run("approve", made.id, "--key", operator)
    done = shell.run("deny", made.id, environ={"GATEWRIGHT_KEY": operator})
    assert (done.code, done.err) == (0, f"{made.id} is denied\n")
    assert queue.redeem(asked) is None
    queue.close()
