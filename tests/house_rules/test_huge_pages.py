"""Huge pages change nothing but what a fork costs."""

from __future__ import annotations

import subprocess
import sys

from tests.house_rules.tree import ROOT

PROGRAM = """
import hashlib, os
from tests.huge_pages import collapse
kept = [os.urandom(64) for _ in range(200_000)]
def digest():
    return hashlib.sha256(b"".join(kept)).hexdigest()
before = digest()
collapse()
if (pid := os.fork()) == 0:
    same = digest() == before
    kept[:] = [b"other"]
    os._exit(0 if same else 1)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), digest() == before)
"""


def test_what_a_process_holds_stays_and_is_its_own_after_a_fork() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert (done.stdout, done.stderr) == ("0 True\n", "")
