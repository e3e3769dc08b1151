from __future__ import annotations

import signal
import subprocess
import sys

import msgspec

from gatewright.transport.workers import HEAD, read_frame, write_frame

PROGRAM = """
import time
from gatewright.transport.worker_main import answer_orders
def answered(head, load):
    print("not an answer")
    if head == b"sleep":
        time.sleep(60)
    return {"of": head.decode()}, load[::-1]
raise SystemExit(answer_orders(answered))
"""


def started() -> subprocess.Popen[bytes]:
    command = [sys.executable, "-c", PROGRAM]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, bufsize=0)


def test_each_order_has_one_answer_and_the_end_of_orders_is_the_end() -> None:
    with started() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stdout.read(1) == b"!"
        for head in (b"one", b"two"):
            write_frame(process.stdin.fileno(), head, b"abc", 30)
            said, load, _ = read_frame(process.stdout)
            assert (msgspec.json.decode(said), load) == ({"of": head.decode()}, b"cba")
        process.stdin.close()
        assert process.wait() == 0


def test_an_order_that_takes_too_long_ends_the_process() -> None:
    with started() as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdout.read(1)
        write_frame(process.stdin.fileno(), b"sleep", b"", 1)
        assert process.wait() == -signal.SIGALRM
        assert HEAD.size == 9
