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

OWNED = """
import hashlib, os
from pathlib import Path
from tests.huge_pages import collapse, own, written_by
size = 1 << 24
kept = bytearray(os.urandom(size))
def digest():
    return hashlib.sha256(kept).hexdigest()
def write():
    kept[: size // 2] = bytes(size // 2)
before = digest()
collapse()
places = written_by(write)
unwritten = digest() == before
if (pid := os.fork()) == 0:
    own(places)
    same = digest() == before
    write()
    os._exit(0 if same and digest() != before else 1)
ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
print(ended, unwritten, digest() == before, Path("/proc/self/pagemap").exists() == (3 <= len(places) < 8))
"""


def said(program: str) -> tuple[str, str]:
    """What it writes, and what it complains of."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return done.stdout, done.stderr


def test_what_a_process_holds_stays_and_is_its_own_after_a_fork() -> None:
    assert said(PROGRAM) == ("0 True\n", "")


def test_huge_pages_that_much_is_written_of_are_found_and_had_with_all_that_stands_there() -> None:
    assert said(OWNED) == ("0 True True True\n", "")
