"""The process that forks for `python -m gatewright`: it has imported the package, and each process that it makes runs one command.

    python -m tests.forked_command ORDERS SCRIPTS

The arguments are descriptors of sockets: the one that orders come from, and the one over which its processes have scripts started.
"""

from __future__ import annotations

import socket
import sys
from typing import NoReturn

from gatewright import __main__
from tests import fork_server
from tests.forked_process import leave
from tests.forking import forked
from tests.preloaded import preload

__all__ = ["main"]


def main() -> NoReturn:
    """Fork for whoever holds the other end of the first socket."""
    orders, scripts = (socket.socket(fileno=int(one)) for one in sys.argv[1:])
    scripts.set_inheritable(False)
    preload()
    sys.argv[:] = [str(__main__.__file__)]
    sys.argv += forked(orders)["arguments"]
    fork_server.adopt(scripts)
    from gatewright.cli import main as command  # noqa: PLC0415 - in the new process

    try:
        command()
    except SystemExit as said:
        leave(said)
    raise AssertionError("a command ends by itself")


if __name__ == "__main__":
    main()
