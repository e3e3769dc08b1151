"""The disk of the whole gateway is full: nothing that was answered is lost, calls are refused, and taken again when there is room."""

from __future__ import annotations

import asyncio
import resource
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import aiohttp
import pytest

from tests.audit.parts import a_disk, disks
from tests.behaviour.access_house import OFFER
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import Host, RpcError, host

pytestmark = pytest.mark.timeout(180)
SOON_S = 30.0


class Disk(Protocol):
    """A disk that can be full."""

    def fill(self) -> None: ...

    def free(self) -> None: ...


class _Bounded:
    """A gateway whose files may not grow: what a full disk is to it where nobody may mount one."""

    def __init__(self, gateway: Gateway) -> None:
        self._gateway = gateway
        self._before = resource.prlimit(gateway.pid, resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        """Leave room for a part of one more record."""
        state = self._gateway.folder / "state"
        size = max(path.stat().st_size for path in state.glob("audit-*.jsonl"))
        resource.prlimit(self._gateway.pid, resource.RLIMIT_FSIZE, (size + 100, self._before[1]))

    def free(self) -> None:
        """Let them grow again."""
        resource.prlimit(self._gateway.pid, resource.RLIMIT_FSIZE, self._before)


@contextmanager
def _on_a_disk(kind: str, folder: Path) -> Iterator[tuple[Gateway, Disk]]:
    content = config(server("echo"))
    if kind == "limited":
        with running(folder, content) as gateway:
            yield gateway, _Bounded(gateway)
        return
    with a_disk(kind, folder / "state") as disk, running(folder, content) as gateway:
        yield gateway, disk


async def _called(client: Host, answered: list[str]) -> int:
    """The code with which a call is refused; 0 where it is answered."""
    trace = str(uuid.uuid4())
    params = {"name": "echo__echo", "arguments": {"message": "m" * 200}, "trace_id": trace}
    try:
        await client.request("tools/call", params)
    except RpcError as problem:
        return problem.code
    answered.append(trace)
    return 0


async def _until(client: Host, answered: list[str], *, refused: bool) -> None:
    async with asyncio.timeout(SOON_S):
        while (code := await _called(client, answered)) != (3001 if refused else 0):
            assert code in (0, 3001)


async def _ready(gateway: Gateway, status: int) -> None:
    """Wait until the gateway says of itself how it is."""
    url = gateway.url.removesuffix("/mcp") + "/readyz"
    async with aiohttp.ClientSession() as http, asyncio.timeout(SOON_S):
        while True:
            async with http.get(url) as answer:
                if answer.status == status:
                    return


@pytest.mark.parametrize("kind", disks())
async def test_calls_are_refused_while_the_disk_is_full_and_taken_again_without_a_restart(
    tmp_path: Path, kind: str
) -> None:
    """Fault test 4, on a file system of three mebibytes where one may be mounted, and under a limit on the size of files."""
    answered: list[str] = []
    with _on_a_disk(kind, tmp_path) as (gateway, disk):
        async with host(gateway, can=OFFER) as client:
            for _ in range(20):
                assert await _called(client, answered) == 0
            disk.fill()
            await _until(client, answered, refused=True)
            await _ready(gateway, 503)
            disk.free()
            await _until(client, answered, refused=False)
            await _ready(gateway, 200)
        assert gateway.process.poll() is None
        kept = {one["trace_id"] for one in gateway.audit("--event", "TOOL_EXECUTED")}
        assert set(answered) - kept == set()
        assert len(answered) > 20
        assert "ok" in gateway.cli("audit", "verify")
