"""`ServedHosts`: `connect`, `disconnect` and `import` as the running gateway's console offers them: shown first, then exactly that is done."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from gatewright.cli.output import CliError
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
)
from gatewright.hosts.whole_file import CannotEdit, Unreadable, read_text
from gatewright.storage.errors import StoreError

if TYPE_CHECKING:
    from gatewright.hosts.commands.changes import Change
    from gatewright.hosts.commands.imports import BroughtIn

__all__ = ["NAME", "ServedHosts"]

NAME = "gatewright"
"""What our entry is called, as it is unless `connect --name` says otherwise."""


class ServedHosts(HostFiles):
    """Of the gateway that was started with this configuration. The commands are loaded by whoever asks."""

    def __init__(self, config: Path | None) -> None:
        self._config = config

    def hosts(self) -> list[HostState]:
        """Those that have a file, or a folder where they would have one."""
        from gatewright.hosts.commands.changes import places  # noqa: PLC0415 - see the class's text

        found: list[HostState] = []
        for host in HOSTS.values():
            file = next(iter(places(host, project=False)), None)
            if file is not None and file.parent.is_dir():
                found.append(_state(host, file))
        return sorted(found, key=lambda one: (not one.there, one.title))

    def connecting(self, host: str) -> HostChange:
        return self._connected(host, None)

    def connect(self, host: str, digest: str) -> HostChange:
        return self._connected(host, digest)

    def _connected(self, name: str, digest: str | None) -> HostChange:
        from gatewright.hosts.commands.changes import known_host  # noqa: PLC0415
        from gatewright.hosts.commands.connect import planned  # noqa: PLC0415
        from gatewright.hosts.commands.gateway_entry import Wish  # noqa: PLC0415

        with _said():
            found = planned(
                known_host(name), Wish(name=NAME, config=self._config), load(self._config)
            )
            return _carried_out(found.change, digest, found.told.remarks)

    def disconnecting(self, host: str) -> HostChange:
        return self._disconnected(host, None)

    def disconnect(self, host: str, digest: str) -> HostChange:
        return self._disconnected(host, digest)

    @staticmethod
    def _disconnected(name: str, digest: str | None) -> HostChange:
        from gatewright.hosts.commands.changes import known_host  # noqa: PLC0415
        from gatewright.hosts.commands.disconnect import planned  # noqa: PLC0415

        with _said():
            return _carried_out(planned(known_host(name), NAME, project=False), digest)

    def importing(self, host: str, only: Sequence[str] = ()) -> ImportPlan:
        return self._imported(host, only, None)

    def bring_in(self, host: str, digest: str, only: Sequence[str] = ()) -> ImportPlan:
        return self._imported(host, only, digest)

    def _imported(self, name: str, only: Sequence[str], digest: str | None) -> ImportPlan:
        from gatewright.hosts.commands.changes import known_host  # noqa: PLC0415
        from gatewright.hosts.commands.import_sources import find_sources  # noqa: PLC0415
        from gatewright.hosts.commands.imports import bring_in  # noqa: PLC0415

        with _said():
            known = known_host(name)
            bundles = str(load(self._config).storage.path / "bundles")
            found = find_sources([known.id], bundles, private=False)

            def done(*, dry_run: bool) -> ImportPlan:
                made = bring_in(
                    found,
                    self._config,
                    only=only,
                    dry_run=dry_run,
                    permits=lambda *_: (
                        False
                    ),  # nobody is asked here: the command names what to pass
                )
                return _plan(known, made)

            plan = done(dry_run=True)
            if digest is None:
                return plan
            _check(plan.digest, digest, plan.file)
            return done(dry_run=False)


def _state(host: Host, file: Path) -> HostState:
    others: list[str] = []
    connected, problem = False, ""
    try:
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


def _carried_out(change: Change, digest: str | None, remarks: Sequence[str] = ()) -> HostChange:
    from gatewright.hosts.commands.changes import carry_out, show  # noqa: PLC0415

    ours = _digest([str(change.file), change.before, change.after])
    backup = None
    if digest is not None:
        _check(ours, digest, str(change.file))
        (backup,) = carry_out([change])
    return HostChange(
        host=change.host.id,
        title=change.host.title,
        file=str(change.file),
        action=change.action,
        diff=show(change),
        digest=ours,
        remarks=list(remarks),
        backup="" if backup is None else str(backup),
    )


def _plan(host: Host, made: BroughtIn) -> ImportPlan:
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
        source=host.title,
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
    """What can go wrong, in the words of the commands."""
    try:
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
