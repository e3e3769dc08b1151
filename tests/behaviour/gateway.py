"""A real gateway in a process of its own, and what it was configured with."""

from __future__ import annotations

import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests import fork_server

__all__ = ["COMMAND", "ROOT", "Gateway", "Pipes", "as_toml", "config", "running", "server", "write"]

ROOT = Path(__file__).resolve().parents[2]
COMMAND = [sys.executable, "-m", "gatewright"]
DEADLINE = 60.0


def server(name: str, ident: str | None = None, *arguments: str, **more: Any) -> dict[str, Any]:
    """A `[[servers]]` entry for one of the test servers."""
    script = str(ROOT / "tests" / "tool_servers" / f"{name}.py")
    return {"id": ident or name, "command": sys.executable, "args": [script, *arguments], **more}


def config(*servers: dict[str, Any], grants: Any = None, **tables: Any) -> dict[str, Any]:
    """A configuration in which everybody may use everything, unless `grants` says otherwise."""
    every = [{"agent": "*", "server": one["id"]} for one in servers]
    return {
        **tables,
        "gateway": {"anonymous": "allow", **tables.get("gateway", {})},
        "servers": list(servers),
        "grants": every if grants is None else grants,
    }


class Gateway:
    """A running gateway. `url` is its MCP endpoint."""

    def __init__(
        self, process: subprocess.Popen[bytes], folder: Path, ready: str, own_children: bool = False
    ) -> None:
        self.process = process
        self._own_children = own_children
        self.folder = folder
        self.file = folder / "mgp.toml"
        words = ready.split()
        self.url = words[1]
        self.urls = dict(word.split("=", 1) for word in words[2:])

    @property
    def pid(self) -> int:
        return self.process.pid

    def children(self) -> set[int]:
        """The processes that it has started, also those that have ended and that it has not heard of yet."""
        assert self._own_children, (
            "ask for `own_children`: others may be children of the fork server"
        )
        found = set()
        for task in Path(f"/proc/{self.pid}/task").iterdir():
            found |= {int(one) for one in (task / "children").read_text().split()}
        return found

    @property
    def operator_token(self) -> str:
        """The token of whoever runs the gateway."""
        body = json.loads((self.folder / "state" / "gateway.json").read_text())
        token: str = body["operator_token"]
        return token

    def cli(self, *words: str, check: bool = True, timeout: float = 60.0) -> str:
        """What a command prints, run against this gateway."""
        done = fork_server.run(
            [*COMMAND, *words, "--config", str(self.file)],
            capture_output=True,
            timeout=timeout,
            cwd=self.folder,
            check=False,
        )
        assert not check or done.returncode == 0, done.stderr.decode()
        return done.stdout.decode()

    def said(self) -> list[str]:
        """What it has written to standard error, line by line."""
        return (self.folder / "gateway.log").read_text().splitlines()

    def reload(self, content: dict[str, Any] | str, *, told: str = "configuration") -> str:
        """Give it another configuration, and return the line that it says about it."""
        text = content if isinstance(content, str) else as_toml(self.folder, content)
        fresh = self.file.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(self.file)
        before = len(self.said())
        self.process.send_signal(signal.SIGHUP)
        return self.hears(told, before)

    def hears(self, words: str, before: int = 0) -> str:
        """The first line with these words after so many others."""
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline:
            found = next((line for line in self.said()[before:] if words in line), None)
            if found is not None:
                return found
            select.select([], [], [], 0.005)
        raise AssertionError(f"{words!r} was not said; it said: {self.said()}")

    def audit(self, *words: str) -> list[dict[str, Any]]:
        """The records that `audit query` finds."""
        text = self.cli("audit", "query", "--json", "--limit", "100000000", *words)
        return [json.loads(line) for line in text.splitlines()]


class Pipes(Gateway):
    """One that a host starts for itself, on pipes: what it was configured with and has recorded is in its folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.file = folder, folder / "mgp.toml"

    @property
    def operator_token(self) -> str:
        return ""  # no credential is shown on pipes


def write(folder: Path, content: dict[str, Any]) -> Path:
    """Write an mgp.toml."""
    path = folder / "mgp.toml"
    path.write_text(as_toml(folder, content))
    return path


def as_toml(folder: Path, content: dict[str, Any]) -> str:
    """The text of an mgp.toml; TOML's inline tables are near enough to JSON for that."""
    content = {"storage": {"path": str(folder / "state")}, **content}
    return "".join(_table((name,), value) for name, value in content.items())


def _table(path: tuple[str, ...], value: Any) -> str:
    dotted = ".".join(json.dumps(part) for part in path)
    if isinstance(value, list):
        return "".join(f"[[{dotted}]]\n{_entries(path, one)}" for one in value)
    return f"[{dotted}]\n{_entries(path, value)}"


def _entries(path: tuple[str, ...], table: dict[str, Any]) -> str:
    plain = {k: v for k, v in table.items() if not _is_table(v)}
    text = "".join(f"{json.dumps(k)} = {_value(v)}\n" for k, v in plain.items())
    nested = {k: v for k, v in table.items() if _is_table(v)}
    return text + "".join(_table((*path, k), v) for k, v in nested.items())


def _is_table(value: Any) -> bool:
    return isinstance(value[0] if isinstance(value, list) and value else value, dict)


def _value(value: Any) -> str:
    return json.dumps(value, ensure_ascii=True)


@contextmanager
def running(
    folder: Path, content: dict[str, Any], *options: str, own_children: bool = False
) -> Iterator[Gateway]:
    """A gateway with this configuration, until the block ends; then it has gone, with all it started. With `own_children` its tool
    servers are that to the operating system, too (`fork_server.OWN_CHILDREN`)."""
    path = write(folder, content)
    log = (folder / "gateway.log").open("wb")
    process = fork_server.Popen(
        [*COMMAND, "serve", "--config", str(path), "--port", "0", *options],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=log,
        cwd=folder,
        env={
            **os.environ,
            "PYTHONUNBUFFERED": "1",
            **({fork_server.OWN_CHILDREN: "1"} if own_children else {}),
        },
    )
    try:
        yield Gateway(process, folder, _ready(process, folder), own_children)
    finally:
        if process.poll() is None:
            process.terminate()
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        if process.stdout is not None:
            process.stdout.close()
        log.close()


def _ready(process: subprocess.Popen[bytes], folder: Path) -> str:
    lines: queue.Queue[bytes] = queue.Queue()
    stdout = process.stdout
    assert stdout is not None
    threading.Thread(target=lambda: lines.put(stdout.readline()), daemon=True).start()
    try:
        line = lines.get(timeout=DEADLINE).decode()
    except queue.Empty:
        line = ""
    assert line.startswith("ready "), (folder / "gateway.log").read_text()
    return line
