"""What the tests of the stores share: calls, a clock that only a test moves, trails to look at."""

from __future__ import annotations

import asyncio
import itertools
import os
import resource
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from gatewright.approvals.request import Approval, Asked
from gatewright.audit.call_records import context_of, end_of
from gatewright.audit.reader import AuditReader
from gatewright.audit.records import encode
from gatewright.audit.rows import Query
from gatewright.audit.segments import read_head, segment_numbers, segment_path
from gatewright.audit.trail import AuditLog, Sync
from gatewright.audit.verification import Verification
from gatewright.call import (
    Answer,
    Back,
    Call,
    Caller,
    Client,
    Event,
    Outcome,
    Question,
    Security,
    Target,
    Tool,
)

__all__ = [
    "ANSWER",
    "STAMP",
    "Clock",
    "LimitedDisk",
    "Nobody",
    "Server",
    "SmallDisk",
    "a_call",
    "a_disk",
    "a_log",
    "a_tool",
    "an_end",
    "approval",
    "body",
    "disks",
    "fill",
    "journal_lines",
    "noise",
    "records",
    "run",
    "until",
    "verified",
]

ANSWER = Answer(b'{"content":[]}')
STAMP = ("2026-09-21T14:13:20.250Z", "01a0f3de-0000-7000-a000-000000000001")


class Clock:
    """Seconds that only the test moves."""

    def __init__(self, now: float = 1_790_000_000.25) -> None:
        self.now = now

    def __call__(self) -> float:
        return self.now


def noise() -> Callable[[int], bytes]:
    """A source of bytes that are different each time and the same in each run."""
    numbers = itertools.count(1)
    return lambda size: (next(numbers) * 0x9E3779B97F4A7C15 % 2 ** (8 * size)).to_bytes(size, "big")


def a_tool(
    risk: Literal["safe", "moderate", "dangerous"] = "moderate", *, read_only: bool = False
) -> Tool:
    """The tool `write_file` of the server `files`."""
    security = Security(risk_level=risk)
    return Tool(
        Target("files", "write_file"), "files.write_file", {}, None, security, {}, read_only
    )


_TOOL = a_tool("dangerous")


def a_call(number: int = 1, tool: Tool | None = _TOOL, **more: Any) -> Call:
    """A tool call by the agent `ann`, which leaves two records; `more` replaces members."""
    call = Call(
        id=f"call-{number}",
        door="http",
        kind="tool",
        method="tools/call",
        name="files.write_file",
        params={"name": "files.write_file", "arguments": {"path": "/srv/a", "n": number}},
        caller=Caller("ann", "agent", "key00001"),
        client=Client("2025-11-25"),
        trace_id=f"trace-{number}",
        session="session-1",
        target=None if tool is None else tool.target,
        tool=tool,
    )
    return replace(call, **more)


def an_end(outcome: Outcome, *, forwarded: bool = True, **more: Any) -> dict[str, Any]:
    """The record of the end of a tool call, decoded."""
    call = a_call(1, **{"tool": a_tool(), **more})
    record = end_of(call, outcome, STAMP, context_of(call), forwarded, 12.5)
    found: dict[str, Any] = msgspec.json.decode(encode(record))
    return found


def a_log(folder: Path, **more: Any) -> AuditLog:
    """An audit trail in `folder` with a clock that stands still."""
    options: dict[str, Any] = {"clock": Clock(), "monotonic": Clock(5.0), "random": noise()}
    return AuditLog(folder, **{**options, **more})


def run(log: AuditLog, call: Call, outcome: Any = ANSWER) -> Any:
    """One call from open to close; returns what the caller sees."""
    trail = log.open(call)
    trail.intent(call)
    return trail.close(call, outcome)


async def fill(folder: Path, count: int, *, sync: Sync = "process", **more: Any) -> None:
    """A closed trail in `folder` with `count` records more: half intents, half ends."""
    log = a_log(folder, sync=sync, random=os.urandom, **more)
    for number in range(count // 2):
        run(log, a_call(number))
    await log.close()


def body(number: int = 0, **more: Any) -> bytes:
    """A record without its place in the chain, as the journal takes it."""
    return msgspec.json.encode(
        {
            "id": f"id-{number}",
            "time": "2026-09-21T12:00:00.000Z",
            "event_type": "TOOL_EXECUTED",
            "outcome": "success",
            "actor": {"type": "agent", "id": "ann"},
            "target": {"server_id": "files", "tool_name": "write_file"},
            "trace_id": f"trace-{number}",
            **more,
        }
    )


def journal_lines(folder: Path) -> list[bytes]:
    """Every line of the journal with its newline."""
    return [
        line
        for number in segment_numbers(folder)
        for line in segment_path(folder, number).read_bytes().splitlines(keepends=True)
    ]


def records(folder: Path, **query: Any) -> list[dict[str, Any]]:
    """What a reader finds, oldest first."""
    return list(AuditReader(folder).query(Query(newest_first=False, **query)))


def verified(folder: Path) -> Verification:
    """What `audit verify` finds."""
    return AuditReader(folder).verify()


class LimitedDisk:
    """A full disk that needs no rights: a limit of this process on the size of its files.

    The writer sees the same: a write that ends short, then an error.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill(self) -> None:
        """Leave room for a part of one more record in the journal."""
        sizes = [path.stat().st_size for path in self.folder.glob("audit-*.jsonl")]
        resource.setrlimit(resource.RLIMIT_FSIZE, (max(sizes) + 100, self._before[1]))

    def free(self) -> None:
        """Give the room back."""
        resource.setrlimit(resource.RLIMIT_FSIZE, self._before)


class SmallDisk:
    """A real disk of three mebibytes, for whoever may mount one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir()
        _mount("-t", "tmpfs", "-o", "size=3m,mode=700", "gatewright-test", str(folder))

    def fill(self) -> None:
        """Use every byte."""
        with (self.folder / "ballast").open("ab", buffering=0) as ballast:
            for size in (1 << 20, 4096, 1):
                with suppress(OSError):
                    while ballast.write(b"x" * size) == size:
                        pass

    def free(self) -> None:
        """Give the room back."""
        (self.folder / "ballast").unlink(missing_ok=True)

    def unmount(self) -> None:
        """Let it go."""
        subprocess.run(["umount", "-l", str(self.folder)], check=True, timeout=20)


def disks() -> list[str]:
    """The full disks that can be made here."""
    with TemporaryDirectory() as place:
        try:
            disk = SmallDisk(Path(place) / "disk")
        except (OSError, subprocess.SubprocessError):
            return ["limited"]
        disk.unmount()
    return ["limited", "small"]


@contextmanager
def a_disk(kind: str, folder: Path) -> Iterator[LimitedDisk | SmallDisk]:
    """A disk at `folder` that can be full; all is as before at the end."""
    if kind == "limited":
        limited = LimitedDisk(folder)
        try:
            yield limited
        finally:
            limited.free()
        return
    small = SmallDisk(folder)
    try:
        yield small
    finally:
        small.unmount()


def _mount(*arguments: str) -> None:
    subprocess.run(["mount", *arguments], check=True, timeout=20, capture_output=True)


async def until(condition: Callable[[], bool], seconds: float = 20.0) -> None:
    """Wait for what another thread does; fails after `seconds`."""
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.005)


class Nobody:
    """A caller that cannot be asked and does not listen."""

    def emit(self, event: Event) -> None:
        """Drop it."""

    async def ask(self, question: Question) -> dict[str, Any]:
        """Never called here."""
        raise AssertionError(question)


class Server:
    """A dispatch that notes what was on disk when a call reached it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.on_disk: list[int] = []

    async def __call__(self, call: Call, back: Back) -> Outcome:
        head = read_head(self.folder)
        self.on_disk.append(0 if head is None else head.seq)
        return ANSWER


def approval(asked: Asked, **more: Any) -> Approval:
    """A request that waits."""
    facts = {"id": "ap_1", "arguments": "{}", "risk": "safe", "reason": "", "quorum": 1}
    given = {**msgspec.structs.asdict(asked), **facts, "requested": 1.0, "expires": 2.0, **more}
    return Approval(**given)
