"""The process that forks for `python script.py`: it has imported what tool servers of tests import, and each process that it makes runs one script.

    python -m tests.forked_script ORDERS

The argument is the descriptor of the socket that orders come from. What a script finds is what Python gives it: itself as
`__main__`, its folder first on the path, its arguments; and it ends as Python would end it.
"""

from __future__ import annotations

import builtins
import gc
import os
import signal
import socket
import sys
from collections.abc import Mapping, Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NoReturn

from tests.forked_process import leave
from tests.forking import forked

__all__ = ["main"]

_SERVERS = Path(__file__).resolve().parent / "tool_servers"
_IMPORTED = (
    *("argparse", "asyncio", "base64", "binascii", "contextlib", "csv", "dataclasses", "hashlib", "hmac", "http", "io"),
    *("http.server", "itertools", "json", "os", "re", "signal", "threading", "time", "typing", "encodings.idna"),
    *("tests.tool_servers.wires", "tests.tool_servers.webwires"),
)  # fmt: skip


def main() -> NoReturn:
    """Fork for whoever holds the other end of the socket."""
    orders = socket.socket(fileno=int(sys.argv[1]))
    for name in _IMPORTED:
        import_module(name)
    compiled = {str(one): _code(str(one)) for one in _SERVERS.glob("[!t]*.py")}
    sys.argv[:] = forked(orders)["arguments"]
    ours = [name for name in sys.modules if name.partition(".")[0] == "tests"]
    sys.meta_path.insert(0, _Imported({name: sys.modules.pop(name) for name in ours}))
    leave(_ran(compiled), _emptied)


class _Imported(MetaPathFinder, Loader):
    """Modules of the tests that are imported already: a script finds them where Python would find them on its path, and else not."""

    def __init__(self, modules: Mapping[str, ModuleType]) -> None:
        self._modules = modules

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        module = self._modules.get(fullname)
        found = None if module is None else PathFinder.find_spec(fullname, path)
        known = None if module is None else module.__spec__
        if found is None or known is None or _place(found) != _place(known):
            return None
        found.loader = self
        return found

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return self._modules[spec.name]

    def exec_module(self, module: ModuleType) -> None:
        """It was."""


def _place(spec: ModuleSpec) -> tuple[str | None, list[str]]:
    return spec.origin, list(spec.submodule_search_locations or ())


def _code(script: str) -> CodeType:
    loader = SourceFileLoader("__main__", script)
    return compile(loader.get_data(script), script, "exec", dont_inherit=True)


def _ran(compiled: dict[str, CodeType]) -> SystemExit:
    """How the script ended."""
    script = sys.argv[0]
    where = Path(script).absolute()
    sys.path[0] = str(where.parent)
    if not {"LC_ALL", "LC_CTYPE", "LANG"} & {*os.environ}:
        os.environ["LC_CTYPE"] = "C.UTF-8"  # PEP 538
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    vars(module).update(__file__=str(where), __cached__=None, __builtins__=builtins)
    # Frames that are not the script's: one of running it, two of compiling it.
    ours = 2
    try:
        code = compiled.get(script) or _code(script)
        ours = 1
        exec(code, vars(module))  # noqa: S102 - what Python does
    except SystemExit as said:
        return _said(said)
    except BaseException as problem:  # noqa: BLE001 - whatever it is, Python says it and ends with 1
        return _told(problem, ours)
    return SystemExit(0)


def _told(problem: BaseException, ours: int) -> SystemExit:
    frames = problem.__traceback__
    for _ in range(ours):
        frames = frames.tb_next if frames else None
    sys.excepthook(type(problem), problem.with_traceback(frames), frames)
    if isinstance(problem, KeyboardInterrupt):
        sys.stderr.flush()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        signal.raise_signal(signal.SIGINT)
    return SystemExit(1)


def _emptied() -> None:
    """What the script left open is written and closed."""
    vars(sys.modules["__main__"]).clear()
    gc.collect()


def _said(said: SystemExit) -> SystemExit:
    if said.code is None or isinstance(said.code, int):
        return said
    print(said.code, file=sys.stderr)  # noqa: T201 - as Python does
    return SystemExit(1)


if __name__ == "__main__":
    main()
