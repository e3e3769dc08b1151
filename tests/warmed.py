"""A gateway that is started, asked and stopped once in a process that forks, before it does: what the first calls make is there for all.

Automata of patterns, decoders, caches of what never changes, and the interpreter's own notes beside the bytecode: a gateway of a test
would make them anew, in pages that it shares with nobody then. What belongs to one gateway ends with it; threads end before a fork.
"""

from __future__ import annotations

import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["serve_once"]

_PATIENCE_S = 30.0
_ECHO = Path(__file__).resolve().parent / "tool_servers" / "echo.py"
_TIMES = 3
_CALL: dict[str, Any] = {"name": "echo", "arguments": {"message": "hello"}}
_MODERN = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "warm", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}


def serve_once() -> None:
    """Serve one client, in the main thread of a process that has no other."""
    from gatewright.app.run import run  # noqa: PLC0415 - only in a process that forks
    from gatewright.config import FileSource  # noqa: PLC0415
    from gatewright.secret_scanning import HELD  # noqa: PLC0415

    threshold = gc.get_threshold()
    with tempfile.TemporaryDirectory(prefix="gatewright-") as folder:
        file = Path(folder) / "mgp.toml"
        file.write_text(_configuration(Path(folder)), encoding="utf-8")
        source = FileSource(file, port=0, environ={"PATH": os.environ["PATH"]}, cwd=Path(folder))
        client = _Client()
        late = threading.Timer(_PATIENCE_S, _stop)
        late.start()
        with _signals_as_before():
            try:
                run(source.load(), on_ready=lambda ready: client.begin(ready.url), source=source)
            finally:
                late.cancel()
                late.join()
                client.thread.join()
    HELD.clear()
    gc.set_threshold(*threshold)
    gc.unfreeze()
    if client.problem is not None:
        raise client.problem
    _alone()


def _configuration(folder: Path) -> str:
    return f"""\
[storage]
path = {json.dumps(str(folder / "state"))}
[gateway]
anonymous = "allow"
[[servers]]
id = "echo"
command = {json.dumps(sys.executable)}
args = [{json.dumps(str(_ECHO))}]
[[grants]]
agent = "*"
server = "echo"
"""


@contextmanager
def _signals_as_before() -> Iterator[None]:
    """A loop of uvloop that is closed still catches what it was told to: a process that is forked would not end of a hangup, and where
    `nohup` has it ignored, a gateway would take that for its own terminal's."""
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    try:
        yield
    finally:
        for number, had in before.items():
            if had is not None and signal.getsignal(number) != had:
                signal.signal(number, had)


def _stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def _alone() -> None:
    """Wait for threads that were told to end. One that a fork leaves behind may hold a lock that nobody gives back."""
    until = time.monotonic() + _PATIENCE_S
    while threading.active_count() > 1 and time.monotonic() < until:
        time.sleep(0.001)
    assert threading.active_count() == 1, threading.enumerate()


class _Client:
    """Asks a few things of both eras, and has the gateway stop."""

    def __init__(self) -> None:
        self.problem: BaseException | None = None
        self.thread = threading.Thread(target=_stop)

    def begin(self, url: str) -> None:
        """In a thread of its own."""
        self.thread = threading.Thread(target=self._run, args=(url,))
        self.thread.start()

    def _run(self, url: str) -> None:
        try:
            self._ask(url)
        except BaseException as problem:  # noqa: BLE001 - raised where it is waited for
            self.problem = problem
        finally:
            _stop()

    def _ask(self, url: str) -> None:
        whole = urlsplit(url)
        line = HTTPConnection(whole.hostname or "", whole.port, timeout=_PATIENCE_S)
        line.connect()
        ask = self._asker(line, whole.path)
        about = {"protocolVersion": "2025-11-25", "capabilities": {}}
        session = ask("initialize", {**about, "clientInfo": {"name": "warm", "version": "1"}}, {})
        legacy = {"MCP-Protocol-Version": "2025-11-25", "MCP-Session-Id": session}
        for _ in range(_TIMES):
            ask("tools/list", {}, legacy)
            ask("tools/call", {**_CALL, "name": "echo__echo"}, legacy)
        for _ in range(_TIMES):
            for method, params in (
                ("tools/list", {}),
                ("tools/call", {**_CALL, "name": "echo__echo"}),
            ):
                head = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
                head |= {"Mcp-Name": params["name"]} if params else {}
                ask(method, {**params, "_meta": _MODERN}, head)
        line.close()

    @staticmethod
    def _asker(line: HTTPConnection, path: str) -> Callable[..., str]:
        def ask(method: str, params: dict[str, Any], head: dict[str, str]) -> str:
            body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
            accept = "application/json, text/event-stream"
            line.request(
                "POST", path, body, {"Content-Type": "application/json", "Accept": accept, **head}
            )
            answer = line.getresponse()
            said = answer.read()
            if answer.status != 200 or b'"result"' not in said:
                raise AssertionError(f"{method}: {answer.status} {said!r}")
            return answer.getheader("MCP-Session-Id") or ""

        return ask
