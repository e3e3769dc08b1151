"""A configuration that changes 1,000 times under 200 calls a second: what is dropped, what is mixed.

Two configurations differ in facts that belong together, and every answer tells by which it was judged:
`p` may be called under A, where its schema is enforced, and not under B, where it is not; `q` the other
way round; `z` needs a permission that only the grant of the same configuration brings; a list shows
tools and their security by one of the two. Whatever fits neither was judged by a mixture. Every tenth
time the process behind `z` is replaced as well, while calls of it run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks.commands import echo_stdio, gatewright
from benchmarks.mcp_client import MODERN
from benchmarks.processes import Process, Trouble, children, resident_bytes, started
from benchmarks.rows import Options, Row, main

__all__ = ["Figures", "measure", "run"]

RELOADS = 1000
CALLS_A_SECOND = 200
PACE_S = 0.03
PATIENCE_S = 30.0
REPLACED_EVERY = 10
WARM_PART = 0.2
MOST_SECONDS = 90.0
MOST_GROWTH_MB = 16.0

_META = {
    "io.modelcontextprotocol/protocolVersion": MODERN,
    "io.modelcontextprotocol/clientCapabilities": {
        "mgp": {"version": "0.2.0", "extensions": ["security", "access_control"]}
    },
    "io.modelcontextprotocol/clientInfo": {"name": "benchmark", "version": "1"},
}
_SERVER = """
[[servers]]
id = "{name}"
command = {command}
args = {args}
schema = "{schema}"
"""
_CONFIG = """
[gateway]
anonymous = "allow"
[storage]
path = {state}
{servers}
[servers.env]
TURN = "{turn}"
[servers.tools.sleep]
permissions_required = ["com.example.{word}"]
[[grants]]
agent = "*"
server = "{open}"
[[grants]]
agent = "*"
server = "z"
permissions = ["com.example.{word}"]
"""


def _config(number: int, state: Path) -> str:
    """Configuration A for even numbers, B for odd ones."""
    a = number % 2 == 0
    command, *args = echo_stdio()
    modes = {"p": "enforce" if a else "off", "q": "off" if a else "enforce", "z": "enforce"}
    servers = "".join(
        _SERVER.format(name=name, schema=mode, command=json.dumps(command), args=json.dumps(args))
        for name, mode in modes.items()
    )
    return _CONFIG.format(
        state=json.dumps(str(state)),
        servers=servers,
        turn=number // REPLACED_EVERY,
        word="a" if a else "b",
        open="p" if a else "q",
    )


@dataclass
class Figures:
    """What happened. `judged` counts answers by the configuration that they show."""

    reloads: int = 0
    seconds: float = 0.0
    judged: Counter[str] = field(default_factory=Counter)
    dropped: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    calls_ms: list[float] = field(default_factory=list)
    reloads_ms: list[float] = field(default_factory=list)
    growth_mb: float = 0.0
    children: int = 0

    @property
    def calls(self) -> int:
        """All that were made."""
        return self.judged.total() + len(self.dropped) + len(self.mixed)


Verdict = str
"""`A`, `B`, `either`, or what is wrong."""


def _refused(reply: dict[str, Any]) -> str:
    data = reply.get("error", {}).get("data")
    return str(data.get("reason")) if isinstance(data, dict) else ""


def _of_p(reply: dict[str, Any], sent: str) -> Verdict:
    return {"invalid_args": "A", "access_denied": "B"}.get(_refused(reply), "")


def _of_q(reply: dict[str, Any], sent: str) -> Verdict:
    return {"invalid_args": "B", "access_denied": "A"}.get(_refused(reply), "")


def _of_z(reply: dict[str, Any], sent: str) -> Verdict:
    content = reply.get("result", {}).get("content") or [{}]
    return "either" if content[0].get("text") == sent else ""


def _of_list(reply: dict[str, Any], sent: str) -> Verdict:
    tools = {tool["name"]: tool for tool in reply.get("result", {}).get("tools", ())}
    needs = tools.get("z__sleep", {}).get("security", {}).get("permissions_required")
    shown = sorted({name.partition("__")[0] for name in tools}), needs
    known = {"A": (["p", "z"], ["com.example.a"]), "B": (["q", "z"], ["com.example.b"])}
    return next((word for word, one in known.items() if one == shown), "")


_Check = Callable[[dict[str, Any], str], Verdict]
_KINDS: tuple[tuple[str, str, _Check], ...] = (
    ("tools/call", "p__echo", _of_p),
    ("tools/call", "z__sleep", _of_z),
    ("tools/call", "q__echo", _of_q),
    ("tools/list", "", _of_list),
)
_NO_ANSWER = ("internal", "cancelled", "upstream_unavailable", "server_not_ready", "restarting")


class _Load:
    """Calls at a steady rate, however long each takes."""

    def __init__(self, http: aiohttp.ClientSession, url: str, figures: Figures) -> None:
        self._http = http
        self._url = url
        self._figures = figures
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, until: asyncio.Event) -> None:
        """Call until told to stop, and wait for every answer."""
        loop = asyncio.get_running_loop()
        began, number = loop.time(), 0
        while not until.is_set():
            task = loop.create_task(self._call(number))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
            number += 1
            await asyncio.sleep(max(0.0, began + number / CALLS_A_SECOND - loop.time()))
        await asyncio.gather(*self._tasks)

    async def _call(self, number: int) -> None:
        method, name, check = _KINDS[number % len(_KINDS)]
        began = time.perf_counter()
        try:
            reply = await self._ask(number, method, name)
        except (aiohttp.ClientError, OSError, TimeoutError, ValueError) as problem:
            self._figures.dropped.append(f"{method} {name}: {type(problem).__name__}: {problem}")
            return
        self._figures.calls_ms.append((time.perf_counter() - began) * 1e3)
        verdict = check(reply, f"n{number}")
        if verdict:
            self._figures.judged[verdict] += 1
        elif _refused(reply) in _NO_ANSWER:
            self._figures.dropped.append(f"{method} {name}: {json.dumps(reply)[:300]}")
        else:
            self._figures.mixed.append(f"{method} {name}: {json.dumps(reply)[:300]}")

    async def _ask(self, number: int, method: str, name: str) -> dict[str, Any]:
        params: dict[str, Any] = {"_meta": _META}
        headers = {
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": MODERN,
            "Mcp-Method": method,
        }
        if name:
            given = {"text": f"n{number}", "seconds": 0.02} if name == "z__sleep" else {}
            params |= {"name": name, "arguments": given}
            headers["Mcp-Name"] = name
        body = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        async with self._http.post(self._url, json=body, headers=headers) as answer:
            text = await answer.text()
        lines = [line[5:] for line in text.splitlines() if line.startswith("data:")]
        found: dict[str, Any] = json.loads(lines[-1] if lines else text)
        return found


class _Changes:
    """The configuration of a running gateway, written anew and taken over."""

    def __init__(self, process: Process, file: Path, state: Path) -> None:
        self._process = process
        self._file = file
        self._state = state
        self._said = process.log.stat().st_size

    async def take(self, number: int) -> float:
        """Write configuration `number` and return in how many milliseconds it was in force."""
        fresh = self._file.with_suffix(".new")
        fresh.write_text(_config(number, self._state), encoding="utf-8")
        fresh.replace(self._file)
        began = time.perf_counter()
        os.kill(self._process.pid, signal.SIGHUP)
        await _until(self._applied, f"reload {number}", self._process.log)
        return (time.perf_counter() - began) * 1e3

    def _applied(self) -> bool:
        if self._process.log.stat().st_size == self._said:
            return False
        with self._process.log.open("rb") as log:
            log.seek(self._said)
            text = log.read()
        if b"configuration applied" not in text or not text.endswith(b"\n"):
            return False
        self._said += len(text)
        return True


async def _until(true: Callable[[], bool], what: str, log: Path) -> None:
    loop = asyncio.get_running_loop()
    deadline = loop.time() + PATIENCE_S
    for _ in itertools.count():
        if true():
            return
        if loop.time() > deadline:
            raise Trouble(f"{what} did not come about; {_last_words(log)}")
        await asyncio.sleep(0.001)


def _last_words(log: Path) -> str:
    text = log.read_text(encoding="utf-8", errors="replace")
    return f"the gateway's last words:\n{text[-1500:]}"


def _echoes(process: Process) -> int:
    return sum("echo_stdio" in line for line in children(process.pid).values())


async def _measured(
    process: Process, file: Path, state: Path, reloads: int, pace_s: float
) -> Figures:
    figures, over = Figures(), asyncio.Event()
    changes = _Changes(process, file, state)
    warm, grown = max(2, int(reloads * WARM_PART)), 0
    timeout = aiohttp.ClientTimeout(total=PATIENCE_S)
    async with aiohttp.ClientSession(timeout=timeout) as http:
        load = asyncio.create_task(_Load(http, process.url, figures).run(over))
        began = asyncio.get_running_loop().time()
        try:
            for number in range(1, reloads + 1):
                figures.reloads_ms.append(await changes.take(number))
                figures.reloads = number
                if number == warm:
                    grown = resident_bytes(process.pid)
                due = began + number * pace_s - asyncio.get_running_loop().time()
                await asyncio.sleep(max(0.0, due))
            figures.seconds = asyncio.get_running_loop().time() - began
        finally:
            over.set()
            await load
    figures.growth_mb = (resident_bytes(process.pid) - grown) / 1e6

    def settled() -> bool:
        figures.children = _echoes(process)
        return figures.children == 3

    await _until(settled, "the end of every process that was replaced", process.log)
    return figures


def measure(folder: Path, stack: ExitStack, reloads: int, pace_s: float = PACE_S) -> Figures:
    """Change the configuration of a gateway so often under load. Raises `Trouble`."""
    file, state = folder / "mgp.toml", folder / "state"
    file.write_text(_config(0, state), encoding="utf-8")
    command = gatewright("serve", "--config", str(file), "--port", "0")
    process = stack.enter_context(started("gatewright", command, folder))
    return asyncio.run(_measured(process, file, state, reloads, pace_s))


def run(options: Options, stack: ExitStack) -> Iterator[Row]:
    """All rows."""
    found = measure(options.folder, stack, RELOADS)
    by = {
        "reloads": found.reloads,
        "calls": found.calls,
        "judged": dict(found.judged),
        "calls_per_second": round(found.calls / found.seconds, 1),
    }
    name = f"reload.{RELOADS}"
    yield Row(
        f"{name}.dropped",
        len(found.dropped),
        "calls",
        target=0,
        test="ours <=",
        extras=by | {"first": found.dropped[:1]},
    )
    yield Row(
        f"{name}.mixed",
        len(found.mixed),
        "calls",
        target=0,
        test="ours <=",
        extras={"first": found.mixed[:1]},
    )
    cuts = statistics.quantiles(found.calls_ms, n=100)
    extras = {
        "reload_p50_ms": round(statistics.median(found.reloads_ms), 1),
        "call_p50_ms": round(cuts[49], 1),
        "call_p99_ms": round(cuts[98], 1),
    }
    yield Row(
        f"{name}.seconds", found.seconds, "s", target=MOST_SECONDS, test="ours <=", extras=extras
    )
    yield Row(f"{name}.growth", found.growth_mb, "MB", target=MOST_GROWTH_MB, test="ours <=")
    yield Row(f"{name}.children", found.children, "", target=3, test="ours <=")


if __name__ == "__main__":
    sys.exit(main(run, __doc__ or ""))
