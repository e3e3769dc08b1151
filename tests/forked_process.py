"""What a process does that the fork server has made, before it runs its command and after that."""

from __future__ import annotations

import atexit
import gc
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, cast

__all__ = ["become", "leave"]


def become(order: Mapping[str, Any], streams: Sequence[int]) -> None:
    """What the operating system does for a program that is started."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if order["session"]:
        os.setsid()
    for number, one in enumerate(streams):
        os.dup2(one, number)
    for one in streams:
        os.close(one)
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    time.tzset()  # the zone is read when a program begins
    tempfile.tempdir = None  # found by the variables of who forks, where it has needed one
    os.umask(order["mask"])
    for number, *limits in order["limits"]:
        if resource.getrlimit(number) != tuple(limits):
            resource.setrlimit(number, tuple(limits))
    sys.dont_write_bytecode = bool(order["environment"].get("PYTHONDONTWRITEBYTECODE"))
    unbuffered = bool(order["environment"].get("PYTHONUNBUFFERED"))
    for text in (sys.stdout, sys.stderr):
        lines = text is sys.stderr or os.isatty(text.fileno())
        cast("Any", text).reconfigure(line_buffering=lines, write_through=unbuffered)
    sys.path[0] = order["folder"]


def leave(said: SystemExit, last: Callable[[], object] = gc.collect) -> NoReturn:
    """End as Python does, but without taking apart every module, which costs more than most commands: each page that was shared
    with the server would be copied for it."""
    code = int(said.code or 0)
    said.__traceback__ = None
    cast("Any", threading)._shutdown()
    cast("Any", atexit)._run_exitfuncs()
    last()  # what was left open says so
    for text in (sys.stdout, sys.stderr):
        try:
            text.flush()
        except OSError:
            code = 120
    os._exit(code)
