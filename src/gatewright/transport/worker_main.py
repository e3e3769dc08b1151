"""Main loop of a worker process: reads jobs from stdin, answers on stdout; a timer ends it where a job takes too long."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.transport.workers import read_frame, write_frame

__all__ = ["answer_orders"]

_NICE = 5


def answer_orders(answered: Callable[[bytes, bytes], tuple[dict[str, Any], bytes]]) -> int:
    """Answer until the other side hangs up: `answered` takes head and load of an order, and gives those of its answer."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICE)
    answers = os.dup(1)
    os.dup2(2, 1)  # nothing that a library prints becomes an answer
    os.write(answers, b"!")
    while True:
        try:
            head, load, seconds = read_frame(sys.stdin.buffer)
        except EOFError:
            return 0
        signal.alarm(seconds)
        said, text = answered(head, load)
        signal.alarm(0)
        write_frame(answers, msgspec.json.encode(said), text)
