"""The process that forks for `python -m gatewright`: it has imported the package, and each process that it makes runs one command.

    python -m tests.forked_command ORDERS SCRIPTS WORKERS

The arguments are descriptors of sockets: the one that orders come from, and those over which its processes have scripts and worker processes started.
"""

from __future__ import annotations

import select
import socket
import sys
from pathlib import Path
from typing import NoReturn

from gatewright import __main__
from gatewright.validators import registry
from tests import fork_server
from tests.forked_process import leave
from tests.forking import forked
from tests.huge_pages import own, written_by
from tests.preloaded import preload
from tests.prepared_noted import begin_to_note
from tests.warmed import serve_once

__all__ = ["main"]


def main() -> NoReturn:
    """Fork for whoever holds the other end of the first socket."""
    orders, scripts, workers = (socket.socket(fileno=int(one)) for one in sys.argv[1:])
    for one in (scripts, workers):
        one.set_inheritable(False)
    preload()
    select.select([workers], [], [])  # until they can be forked: nothing else is ever said there
    sys.argv[:] = [str(__main__.__file__)]
    of_gateways: list[int] = []
    sys.argv += forked(orders, lambda: of_gateways.extend(written_by(serve_once)))["arguments"]
    begin_to_note()
    if "serve" in sys.argv:
        own(of_gateways)
    if any(Path.cwd().glob("*-info")):  # where `-m` has plug-ins looked for as well
        registry.plugged.cache_clear()
        registry.preparer.cache_clear()
    fork_server.adopt(scripts, workers)
    from gatewright.cli import main as command  # noqa: PLC0415 - in the new process

    try:
        command()
    except SystemExit as said:
        leave(said)
    raise AssertionError("a command ends by itself")


if __name__ == "__main__":
    main()
