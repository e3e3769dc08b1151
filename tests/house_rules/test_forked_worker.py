"""The fork server starts worker processes as Python does: same answers, same end, nothing of who forks them."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest

from gatewright.app.worker import MODULE
from gatewright.audit import offload
from gatewright.audit.reader import AuditReader
from gatewright.servers.openapi import reader
from gatewright.transport.launch import child_environment
from gatewright.transport.workers import Workers, read_frame, write_frame
from tests import fork_server
from tests.audit.parts import fill

DEADLINE_S = 60.0
DEADLINE_MS = 60_000
SQL = json.dumps({"sql": "delete from t"}).encode()
SHELL = json.dumps({"command": "ls; rm -rf x"}).encode()
JUDGE: dict[str, Any] = {"do": "judge", "options": {}, "pointers": {}, "tool": "t"}
RESULT = json.dumps({"content": [{"type": "text", "text": "The user must send it."}]}).encode()
API = {
    "openapi": "3.1.0",
    "info": {"title": "t", "version": "1"},
    "paths": {"/a": {"get": {"operationId": "one", "responses": {"200": {"description": "a"}}}}},
}

ORDERS: dict[str, list[tuple[bytes, bytes]]] = {
    MODULE: [
        (json.dumps({**JUDGE, "names": "readonly"}).encode(), SQL),
        (json.dumps({**JUDGE, "names": "sandbox"}).encode(), SHELL),
        (b'{"do":"score"}', RESULT),
        (b'{"do":"dance"}', b""),
    ],
    offload.MODULE: [(b"", b"/nowhere"), (b"7", b"/nowhere")],
    reader.MODULE: [(b"[]", json.dumps(API).encode())],
}


@pytest.fixture(autouse=True)
def _forks() -> None:
    """It is there: until then workers are started as ever."""
    if hasattr(os, "pidfd_open"):
        assert fork_server._server("worker").is_ready(DEADLINE_MS)


def test_whoever_needs_a_worker_waits_for_nothing_that_is_still_to_be_compiled() -> None:
    server = fork_server._Started("worker")
    try:
        assert not server.is_ready()
        assert server.is_ready(DEADLINE_MS)
        assert server.is_ready()
    finally:
        server.close()
    assert server._process.returncode == 0


def _started(kind: type[subprocess.Popen[Any]], module: str) -> subprocess.Popen[Any]:
    command, pipe = [sys.executable, "-I", "-m", module], subprocess.PIPE
    own = child_environment({})
    return kind(command, bufsize=0, env=own, stdin=pipe, stdout=pipe, stderr=pipe)


def _pipes(process: subprocess.Popen[Any]) -> tuple[IO[bytes], IO[bytes]]:
    assert process.stdin is not None
    assert process.stdout is not None
    assert process.stdout.read(1) == b"!"
    return process.stdin, process.stdout


@pytest.mark.parametrize("module", fork_server.WORKERS)
def test_a_worker_answers_and_ends_the_same_both_ways(module: str) -> None:
    said = []
    for kind in (subprocess.Popen, fork_server.Popen):
        with _started(kind, module) as process:
            orders, answers = _pipes(process)
            found = []
            for head, load in ORDERS[module]:
                write_frame(orders.fileno(), head, load, 30)
                found.append(read_frame(answers)[:2])
            orders.close()
            said.append((found, process.wait(DEADLINE_S), process.stderr and process.stderr.read()))
    assert said[0] == said[1]
    assert said[0][1:] == (0, b"")


def test_a_worker_that_breaks_says_so_and_ends_the_same_both_ways() -> None:
    ends = []
    for kind in (subprocess.Popen, fork_server.Popen):
        with _started(kind, MODULE) as process:
            orders, _ = _pipes(process)
            write_frame(orders.fileno(), b"no JSON", b"", 30)
            assert process.stderr is not None
            ends.append((process.stderr.read().splitlines()[-1], process.wait(DEADLINE_S)))
    assert ends[0] == ends[1]
    assert ends[0][1] == 1


def test_the_alarm_of_an_order_ends_a_worker_both_ways() -> None:
    for module in fork_server.WORKERS:
        for kind in (subprocess.Popen, fork_server.Popen):
            with _started(kind, module) as process:
                _pipes(process)
                process.send_signal(signal.SIGALRM)
                assert process.wait(DEADLINE_S) == -signal.SIGALRM


def test_only_modules_of_workers_are_forked_and_only_alone() -> None:
    own = child_environment({})
    can = "worker" if fork_server.can_fork([sys.executable, "-m", "gatewright"], own) else None
    worker = [sys.executable, "-I", "-m", MODULE]
    assert fork_server.can_fork(worker, own) == can
    for other in (
        [sys.executable, "-I", "-m", "gatewright"],
        [sys.executable, "-I", "-m"],
        [sys.executable, "-m", MODULE],
        [*worker, "more"],
    ):
        assert fork_server.can_fork(other, own) is None


async def test_a_gateways_worker_is_forked_with_nothing_of_who_forks_it(tmp_path: Path) -> None:
    await fill(tmp_path, 5)
    workers = Workers(offload.MODULE, most=1)
    try:
        _, found = await workers.run("", b"", os.fsencode(tmp_path))
        assert json.loads(found) == msgspec.to_builtins(AuditReader(tmp_path).verify())
        (process,) = workers._alive
        can = hasattr(os, "pidfd_open") and not any(
            one.startswith("COVERAGE_") for one in os.environ
        )
        assert isinstance(process, fork_server.Popen)
        assert process.forked == can
        if sys.platform == "linux":  # its streams, and where it answers
            assert len(os.listdir(f"/proc/{process.pid}/fd")) == 4  # noqa: PTH208 - as above
        assert os.getsid(process.pid) == process.pid
        ours, its = (os.getpriority(os.PRIO_PROCESS, one) for one in (0, process.pid))
        assert its > ours or ours == 19
    finally:
        await workers.close()
    assert process.returncode == -signal.SIGKILL
