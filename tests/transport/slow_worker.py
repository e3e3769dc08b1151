"""A worker process for tests: does what the head of an order says. `python -m tests.transport.slow_worker` needs a path, so it is
run as a file by `WORKER`."""

from __future__ import annotations

import os
import signal
import sys
import time

from gatewright.transport.workers import read_frame, write_frame


def main() -> int:
    os.write(1, b"!")
    while True:
        try:
            head, load, seconds = read_frame(sys.stdin.buffer)
        except EOFError:
            return 0
        signal.alarm(seconds)
        if head == b"hang":
            while True:
                pass
        if head == b"sleep":
            time.sleep(60)
        if head == b"die":
            os._exit(3)
        signal.alarm(0)
        write_frame(1, str(os.getpid()).encode(), load[::-1])


if __name__ == "__main__":
    sys.exit(main())
