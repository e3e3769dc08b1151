"""`ServedHosts`: `connect`, `disconnect`, `import` for the running gateway's console: preview with a digest, then applies exactly that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gatewright.cli.errors import CliError
from gatewright.config import SettingsError, load
from gatewright.hosts.edit import entries
from gatewright.hosts.host_table import HOSTS, Host
from gatewright.hosts.model import CannotRead
from gatewright.hosts.offered import (
    CannotChange,
    HostChange,
    HostFiles,
    HostState,
    ImportedServer,
    ImportPlan,
    ImportSource,
)
from gatewright.hosts.read import Place
from gatewright.hosts.served_bounds import while_serving
from gatewright.hosts.whole_file import CannotEdit, Unreadable, read_text
from gatewright.storage.errors import StoreError

if TYPE_CHECKING:
    from gatewright.hosts.commands.changes import Change
    from gatewright.hosts.commands.import_sources import Found
    from gatewright.hosts.commands.imports import BroughtIn
    from gatewright.hosts.commands.take_over import TakeOver

__all__ = ["NAME", "ServedHosts"]

NAME = "gatewright"
"""What our entry is called, as it is unless `connect --name` says otherwise."""


class ServedHosts(HostFiles):
    """Of the gateway that was started with this configuration. The commands are loaded by whoever asks."""

    def __init__(self, config: Path | None) -> None:
        self._config = config

    def hosts(self) -> list[HostState]:
        """Those that have a file, or a folder where they would have one."""
        from gatewright.hosts.commands.host_files import places  # noqa: PLC0415 - see the class's text

        found: list[HostState] = []
        for host in HOSTS.values():
            file = next(iter(places(host, project=False)), None)
            if file is not None and file.parent.is_dir():
                found.append(_state(host, file))
        return sorted(found, key=lambda one: (not one.there, one.title))

    def connecting(self, host: str, *, take_over: bool = False) -> HostChange:
        return self._connected(host, None, take_over=take_over)

    def connect(self, host: str, digest: str, *, take_over: bool = False) -> HostChange:
        return self._connected(host, digest, take_over=take_over)

    def _connected(self, name: str, digest: str | None, *, take_over: bool) -> HostChange:
        from gatewright.hosts.commands.connect import moving_of, planned  # noqa: PLC0415
        from gatewright.hosts.commands.gateway_entry import Wish  # noqa: PLC0415
        from gatewright.hosts.commands.host_files import known_host  # noqa: PLC0415

        with _said():
            host, settings = known_host(name), load(self._config)
            wish = Wish(name=NAME, config=self._config)
            moving = moving_of([host], wish, settings, _nobody) if take_over else None
            if moving is not None:
                # The bridge is to serve the file that the servers move into.
                wish = msgspec.structs.replace(wish, config=wish.config or moving.file)
            found = planned(host, wish, settings, moving)
            return _carried_out(found.change, digest, found.told.remarks, moving)

    def disconnecting(self, host: str) -> HostChange:
        return self._disconnected(host, None)

    def disconnect(self, host: str, digest: str) -> HostChange:
        return self._disconnected(host, digest)

    @staticmethod
    def _disconnected(name: str, digest: str | None) -> HostChange:
        from gatewright.hosts.commands.disconnect import planned  # noqa: PLC0415
        from gatewright.hosts.commands.host_files import known_host  # noqa: PLC0415

        with _said():
            return _carried_out(planned(known_host(name), NAME, project=False), digest)

    def importing(self, source: ImportSource, only: Sequence[str] = ()) -> ImportPlan:
        return self._imported(source, only, None)

    def bring_in(self, source: ImportSource, digest: str, only: Sequence[str] = ()) -> ImportPlan:
        return self._imported(source, only, digest)

    def _imported(
        self, source: ImportSource, only: Sequence[str], digest: str | None
    ) -> ImportPlan:
        from gatewright.hosts.commands.imports import bring_in  # noqa: PLC0415

        with _said():
            title, found = _found(source, str(load(self._config).storage.path / "bundles"))

            def done(*, dry_run: bool) -> ImportPlan:
                made = bring_in(found, self._config, only=only, dry_run=dry_run, permits=_nobody)
                return _plan(title, made)

            plan = done(dry_run=True)
            if digest is None:
                return plan
            _check(plan.digest, digest, plan.file)
            return done(dry_run=False)


def _nobody(server: str, names: tuple[str, ...]) -> bool:
    """Nobody is asked here: the command names what to pass."""
    return False


def _found(source: ImportSource, bundles: str) -> tuple[str, list[Found]]:
    """What a source is called, and what is in it. Raises `CliError`, `CannotChange`."""
    from gatewright.hosts.commands.host_files import known_host  # noqa: PLC0415
    from gatewright.hosts.commands.import_sources import (  # noqa: PLC0415
        Found,
        find_sources,
        source_file,
    )

    if sum(map(bool, (source.host, source.path, source.text.strip()))) != 1:
        raise CannotChange(
            "servers are read from one place", "name a host, a path, or paste a text"
        )
    if source.host:
        known = known_host(source.host)
        return known.title, find_sources([known.id], bundles, private=False)
    if source.text:
        place = Place(file=_PASTED, bundles=bundles)
        return _PASTED, [Found(content=source.text.encode("utf-8", "replace"), place=place)]
    try:
        path = Path(source.path).expanduser()
    except RuntimeError:
        path = Path(source.path)
    if not path.is_absolute():
        said = "a path begins with / or ~: the gateway runs in a folder of its own"
        raise CannotChange(said, "name the whole path")
    return str(path), [source_file(path, bundles)]


_PASTED = "the text that was pasted"


def _state(host: Host, file: Path) -> HostState:
    others: list[str] = []
    connected, problem = False, ""
    try:
        with while_serving():
            names = list(entries(host, read_text(file) or ""))
        connected, others = NAME in names, [one for one in names if one != NAME]
    except (CannotRead, CannotEdit, Unreadable, OSError) as wrong:
        problem = str(wrong)
    return HostState(
        id=host.id,
        title=host.title,
        file=str(file),
        there=file.exists(),
        connected=connected,
        others=others,
        problem=problem,
    )


def _carried_out(
    change: Change,
    digest: str | None,
    remarks: Sequence[str] = (),
    moving: TakeOver | None = None,
) -> HostChange:
    from gatewright.hosts.commands.changes import carry_out, show  # noqa: PLC0415

    brought = None if moving is None else moving.planned
    plan = None if brought is None else _plan(change.host.title, brought)
    ours = _digest(
        [str(change.file), change.before, change.after, None if plan is None else plan.digest]
    )
    backup = None
    if digest is not None:
        _check(ours, digest, str(change.file))
        # Into our file first: a failure in between leaves a server in both files, never in neither.
        if moving is not None:
            moving.carry_out()
        (backup,) = carry_out([change])
    return HostChange(
        host=change.host.id,
        title=change.host.title,
        file=str(change.file),
        action=change.action,
        diff=show(change),
        digest=ours,
        remarks=[*remarks, *([] if plan is None else plan.remarks)],
        backup="" if backup is None else str(backup),
        moves=[] if plan is None else plan.servers,
        moves_to="" if plan is None else plan.file,
    )


def _plan(source: str, made: BroughtIn) -> ImportPlan:
    from gatewright.hosts.commands.import_report import document, remarks  # noqa: PLC0415

    shown = document(made.plan, made.path, made.store, dry_run=True)
    servers = [
        ImportedServer(
            id=one["id"],
            action=one["action"],
            transport=one["transport"],
            target=one["target"],
            secrets=one["secrets"],
        )
        for one in shown["servers"]
    ]
    return ImportPlan(
        source=source,
        file=str(made.path.absolute()),
        servers=servers,
        remarks=list(remarks(made.plan, made.store)),
        digest=_digest([one.table for one in made.plan.servers]),
    )


def _digest(parts: object) -> str:
    return sha256(msgspec.json.encode(parts)).hexdigest()


def _check(ours: str, shown: str, file: str) -> None:
    if ours != shown:
        raise CannotChange(f"{file} has changed since it was shown", "look at the change again")


@contextmanager
def _said() -> Iterator[None]:
    """What can go wrong, in the words of the commands. All of it is done beside calls."""
    try:
        with while_serving():
            yield
    except CliError as problem:
        raise CannotChange(problem.message, problem.hint) from None
    except SettingsError as problem:
        found = problem.problems[0]
        raise CannotChange(f"{found.origin}: {found.what}", found.instead) from None
    except StoreError as problem:
        raise CannotChange(str(problem)) from None
    except OSError as problem:
        raise CannotChange(f"{problem.filename}: {problem.strerror}") from None
