"""The process that forks for the fork server's clients: takes orders from a socket, forks for each, says what it started and how that ended.

An order is one message with four descriptors: the three standard streams, and where to say which process it is and how it
ended. So several processes may order over one socket.
"""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from tests.forked_process import become
from tests.huge_pages import collapse

__all__ = ["MOST", "SAID", "forked"]

MOST = 1 << 17
"""The bytes of an order, environment and all."""
SAID = struct.Struct("!ci")
"""`p` and the number of a process that has started, then `e` and its exit code."""
_DESCRIPTORS = 4
_GRACE_S = 3.0
"""How long what a run has left may take to end when it is told to."""


def forked(control: socket.socket, settled: Callable[[], object] = lambda: None) -> dict[str, Any]:
    """Fork for whoever holds the other end of the socket: in each new process what it is to do. The one that forks does not come back.
    `settled` is called before the first, when the memory that all have is what it stays."""
    gc.collect()
    gc.freeze()
    collapse()
    settled()
    order = _Forking(control).next()
    if order is None:
        os._exit(0)
    return order


class _Forking:
    """Forks for each order and says how what it started has ended."""

    def __init__(self, control: socket.socket) -> None:
        # It ends with whoever holds the other end, and says until then what ended.
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, signal.SIG_IGN)
        self._control = control
        self._waiting = select.poll()
        self._waiting.register(control, select.POLLIN)
        self._children: dict[int, tuple[int, int]] = {}
        """Descriptor of a process → its number, and where its end is said."""

    def next(self) -> dict[str, Any] | None:
        """In a new process what it is to do; None, in the server alone, when nobody orders any more."""
        while True:
            for at, _ in self._waiting.poll():
                if at != self._control.fileno():
                    self._ended(at)
                elif (order := self._received()) is None:
                    self._end_all()
                    return None
                elif (mine := self._forked(*order)) is not None:
                    return mine

    def _received(self) -> tuple[dict[str, Any], list[int]] | None:
        try:
            body, found, _, _ = socket.recv_fds(self._control, MOST, _DESCRIPTORS)
        except ConnectionResetError:  # closed, with something unread that was said there
            return None
        return (json.loads(body), found) if body else None

    def _forked(self, order: dict[str, Any], found: list[int]) -> dict[str, Any] | None:
        *streams, told_at = found
        pid = os.fork()
        if pid == 0:
            self._leave()
            become(order, streams)
            os.write(told_at, SAID.pack(b"p", os.getpid()))
            os.close(told_at)
            return order
        for one in streams:
            os.close(one)
        child = os.pidfd_open(pid)
        self._children[child] = pid, told_at
        self._waiting.register(child, select.POLLIN)
        return None

    def _end_all(self) -> None:
        """Nobody is left who would: a run of tests that is killed leaves no gateway behind."""
        self._waiting.unregister(self._control)
        for pid, _ in self._children.values():
            os.kill(pid, signal.SIGTERM)
        until = time.monotonic() + _GRACE_S
        while self._children and (left_s := until - time.monotonic()) > 0:
            for at, _ in self._waiting.poll(left_s * 1000):
                self._ended(at)
        # One that was stopped, hangs, or does not listen.
        for pid, _ in self._children.values():
            os.kill(pid, signal.SIGKILL)

    def _leave(self) -> None:
        """A new process keeps nothing of the server's."""
        self._control.close()
        for child, (_, told_at) in self._children.items():
            os.close(child)
            os.close(told_at)

    def _ended(self, child: int) -> None:
        pid, told_at = self._children.pop(child)
        self._waiting.unregister(child)
        os.close(child)
        _, status = os.waitpid(pid, 0)
        with suppress(BrokenPipeError):  # nobody waits for it
            os.write(told_at, SAID.pack(b"e", os.waitstatus_to_exitcode(status)))
        os.close(told_at)
