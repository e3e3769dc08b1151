"""The process that forks for `python -I -m MODULE`: it has imported what worker processes run, and each process that it makes is one.

    python -m tests.forked_worker ORDERS

The argument is the descriptor of the socket that orders come from. What a worker reads and compiles late is
there: each does one order or two in its life. Until then it says nothing on the socket, and workers are started as ever (`fork_server.Popen`):
some of those who wait for one wait for no more than seconds.
"""

from __future__ import annotations

import socket
import sys
from collections.abc import Callable
from importlib import import_module
from typing import NoReturn

from tests.fork_server import WORKERS
from tests.forked_process import leave
from tests.forking import forked
from tests.preloaded import preload_workers

__all__ = ["main"]


def main() -> NoReturn:
    """Fork for whoever holds the other end of the socket."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    modules = {name: import_module(name) for name in WORKERS}
    preload_workers()
    orders.send(b"!")
    module = modules[forked(orders)["arguments"][0]]
    del sys.path[0]  # as -I has it
    sys.argv[:] = [str(module.__file__)]
    leave(_ended(module.main))


def _ended(run: Callable[[], int]) -> SystemExit:
    try:
        return SystemExit(run())
    except BaseException:  # noqa: BLE001 - whatever it is, Python says it and ends with 1
        sys.excepthook(*sys.exc_info())
        return SystemExit(1)


if __name__ == "__main__":
    main()
