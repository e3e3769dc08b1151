"""A command of the fork server with asyncio's streams on its pipes, as `asyncio.create_subprocess_exec` gives them."""

from __future__ import annotations

import asyncio
import subprocess
from asyncio.streams import FlowControlMixin
from collections.abc import Sequence
from typing import IO, Any

from tests import fork_server

__all__ = ["Streamed", "started"]


class Streamed:
    """A process whose input and output are streams."""

    def __init__(
        self,
        process: fork_server.Popen,
        stdin: asyncio.StreamWriter,
        stdout: asyncio.StreamReader,
        output: asyncio.BaseTransport,
    ) -> None:
        self._process = process
        self._output = output
        self.stdin = stdin
        self.stdout = stdout
        self.pid = process.pid
        self.terminate = process.terminate
        self.kill = process.kill

    @property
    def returncode(self) -> int | None:
        """How it ended, None while it runs."""
        return self._process.poll()

    async def wait(self) -> int:
        """How it ended, when it has."""
        ended = await asyncio.to_thread(self._process.wait)
        self.stdin.close()
        self._output.close()
        return ended


async def started(
    command: Sequence[str], stderr: int | IO[bytes] | None, *, limit: int = 1 << 16, **options: Any
) -> Streamed:
    """Start a command; a line that is read may have so many bytes."""
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "bufsize": 0}
    process = await asyncio.to_thread(
        lambda: fork_server.Popen(command, stderr=stderr, **pipes, **options)
    )
    assert process.stdin is not None
    assert process.stdout is not None
    loop = asyncio.get_running_loop()
    output = asyncio.StreamReader(limit)
    reading, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(output), process.stdout
    )
    writing, flow = await loop.connect_write_pipe(FlowControlMixin, process.stdin)
    return Streamed(process, asyncio.StreamWriter(writing, flow, None, loop), output, reading)
