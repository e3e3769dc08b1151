"""Server settings `isolation` and `[servers.sandbox]`: what a stdio server may see, write, reach, use up; validates, completes them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, Protocol

import msgspec
from msgspec import Meta

from gatewright.config.bounds import BYTES, SECONDS
from gatewright.config.substitute import Undefined

if TYPE_CHECKING:
    from gatewright.config.check import Report
    from gatewright.config.toml_positions import KeyPath

__all__ = [
    "Isolated",
    "Isolation",
    "IsolationLevel",
    "SandboxTable",
    "complete_isolation",
    "isolation_of",
]

IsolationLevel = Literal["none", "confined", "strict"]

Place = Annotated[str, Meta(min_length=1, max_length=4096)]
_MIB = 1 << 20
Memory = Annotated[int, Meta(ge=16 * _MIB, le=2**40, extra=BYTES)]
Room = Annotated[int, Meta(ge=65536, le=2**40, extra=BYTES)]
Cpu = Annotated[int, Meta(ge=1, le=31_536_000, extra=SECONDS)]
Processes = Annotated[int, Meta(ge=1, le=65536)]
Files = Annotated[int, Meta(ge=16, le=65536)]


class SandboxTable(msgspec.Struct, frozen=True, kw_only=True):
    """What an isolated server may see, write, reach and use up (docs/isolation.md).

    It has no effect while the server's `isolation` is `none`.
    """

    read: tuple[Place, ...] = ()
    """Folders and files that the server may read, relative to the folder of this file. Programs of the system, the
    server's own interpreter, the folder of its script and a `cwd` that is written are readable without being named."""
    write: tuple[Place, ...] = ()
    """Folders and files that a `confined` server may change. A `strict` one changes nothing."""
    network: Literal["none", "open"] | None = None
    """Whether the server has the network of this machine, its loopback addresses too. Unless set, `open` where it is
    `confined`; a `strict` server has none."""
    memory_bytes: Memory | None = None
    """The memory of all its processes together, where control groups can be had, else of each; 536870912 (512 MiB)
    where it is `strict`, 2147483648 (2 GiB) where it is `confined`, unless set."""
    tmp_bytes: Room = 64 * _MIB
    """The size of its `/tmp`, which is in memory and gone when it ends; that of `/dev/shm` likewise."""
    processes: Processes | None = None
    """How many processes and threads it may have; 32 where it is `strict`, 512 where it is `confined`, unless set."""
    open_files: Files | None = None
    """How many files each of its processes may have open; 64 where it is `strict`, 4096 where it is `confined`, unless
    set."""
    file_bytes: Room | None = None
    """The largest file that it may write; 67108864 (64 MiB) where it is `strict`, any where it is `confined`, unless
    set."""
    cpu_s: Cpu | None = None
    """The processor time of each of its processes, after which that is killed; unlimited unless set."""


class Isolation(msgspec.Struct, frozen=True, kw_only=True):
    """How a server is kept to itself, with the defaults of its level put in. Paths are absolute."""

    level: IsolationLevel = "none"
    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    network: bool = True
    memory_bytes: int = 2048 * _MIB
    tmp_bytes: int = 64 * _MIB
    processes: int = 512
    open_files: int = 4096
    file_bytes: int | None = None
    """None: any."""
    cpu_s: int | None = None
    """None: any."""


_DEFAULTS = {
    "none": Isolation(),
    "confined": Isolation(level="confined"),
    "strict": Isolation(
        level="strict",
        network=False,
        memory_bytes=512 * _MIB,
        processes=32,
        open_files=64,
        file_bytes=64 * _MIB,
    ),
}


class Isolated(Protocol):
    """What the table of a server says of it (`file_tables.ServerTable`)."""

    @property
    def isolation(self) -> IsolationLevel | None:
        """The level; None where nothing is written."""

    @property
    def sandbox(self) -> SandboxTable | None:
        """What it may see and use up."""

    @property
    def cwd(self) -> str | None:
        """The folder that it starts in."""


def isolation_of(
    table: Isolated, transport: str, path: KeyPath, report: Report, *, sandboxed: bool
) -> Isolation:
    """The level and the bounds of one server; its folders come with `complete_isolation`. One that is `sandboxed` by its trust
    level is `strict` unless the operator says otherwise."""
    if transport != "stdio":
        if table.isolation not in (None, "none"):
            what = f"a {transport} server is not started here, so it cannot be isolated"
            report.error((*path, "isolation"), what, "remove this line")
        return Isolation()
    level = table.isolation or ("strict" if sandboxed else "none")
    if sandboxed and level == "none":
        what = "the server is sandboxed by its trust level, and runs without isolation"
        report.warn((*path, "isolation"), what, 'write isolation = "strict" unless that is meant')
    said = table.sandbox or SandboxTable()
    if level == "none" and table.sandbox is not None:
        what = "it has no effect without isolation"
        report.warn((*path, "sandbox"), what, 'write isolation = "confined"')
    if level == "strict":
        _check_strict(said, (*path, "sandbox"), report)
    given = {
        name: value
        for name in ("memory_bytes", "tmp_bytes", "processes", "open_files", "file_bytes", "cpu_s")
        if (value := getattr(said, name)) is not None
    }
    found = msgspec.structs.replace(_DEFAULTS[level], **given)
    if said.network is None or level == "strict":
        return found
    return msgspec.structs.replace(found, network=said.network == "open")


def _check_strict(said: SandboxTable, path: KeyPath, report: Report) -> None:
    instead = 'write isolation = "confined", or remove this line'
    if said.write:
        report.error((*path, "write"), "a strict server changes nothing", instead)
    if said.network == "open":
        report.error((*path, "network"), "a strict server has no network", instead)


def complete_isolation(
    isolation: Isolation, table: Isolated, text: Callable[..., str], folder: Path, cwd: Path
) -> Isolation:
    """With its folders, every variable replaced by `text`, which takes a key, what stands there, and the table it stands
    in. Raises `Undefined`, and `RuntimeError` where `~` is nobody's."""
    if isolation.level == "none":
        return isolation
    said = table.sandbox or SandboxTable()
    found = {
        name: tuple(
            folder / Path(text(number, one, f"sandbox.{name}")).expanduser()
            for number, one in enumerate(getattr(said, name))
        )
        for name in ("read", "write")
    }
    for name, places in found.items():
        if any("\0" in str(one) for one in places):
            raise Undefined(f"a path of {name} has a NUL", "remove it")
    # The folder of the configuration is where it starts, but nothing that it may see for that.
    own = (folder / cwd,) if table.cwd is not None else ()
    return msgspec.structs.replace(isolation, read=(*found["read"], *own), write=found["write"])
