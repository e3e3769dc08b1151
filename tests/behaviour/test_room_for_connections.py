"""Whoever opens as many connections as a process has descriptors ends neither the process nor anybody else's calls."""

from __future__ import annotations

import contextlib
import resource
import socket
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import host

FILES = 256


@contextlib.contextmanager
def descriptors(count: int) -> Iterator[None]:
    """What is started meanwhile may open so many files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_others_are_served_and_servers_started_whoever_opens_all_that_there_is(
    tmp_path: Path,
) -> None:
    with contextlib.ExitStack() as stack:
        with descriptors(FILES):
            gateway = stack.enter_context(running(tmp_path, config(server("echo"))))
        assert resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE)[0] == FILES
        where = urlsplit(gateway.url)
        for number in range(3 * FILES):
            silent = socket.create_connection((where.hostname, where.port), timeout=10)
            stack.callback(silent.close)
            if number % 2:
                silent.sendall(b"POST /mcp HTTP/1.1\r\nHost")
        async with host(gateway) as client:
            assert await client.text("echo__echo", message="hello") == "hello"
        gateway.cli("server", "restart", "echo")
        async with host(gateway) as client:
            assert await client.text("echo__echo", message="again") == "again"
        said = "\n".join(gateway.said())
    assert "Too many open files" not in said
