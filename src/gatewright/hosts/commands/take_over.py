"""`gatewright connect HOST --take-over`: imports a host's own servers into mgp.toml and says which entries may then leave the host's file.

A server leaves only when it is in our file: what cannot be said there stays where it is.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.output import note, one_line
from gatewright.hosts.commands.import_consent import Consent
from gatewright.hosts.commands.import_report import remarks
from gatewright.hosts.commands.import_sources import Found
from gatewright.hosts.commands.imports import BroughtIn, bring_in
from gatewright.hosts.edit import document, entries
from gatewright.hosts.host_table import Host
from gatewright.hosts.read import Place
from gatewright.secret_scanning.credentials import mask

__all__ = ["Originals", "Permits", "TakeOver", "read_originals"]

Permits = Callable[[str, tuple[str, ...]], bool]
"""Whether a server may set variables that choose what a program loads, or be given what is there already."""


class Originals(msgspec.Struct, frozen=True, kw_only=True):
    """Servers of one host's file, ours aside, and the document that says them."""

    host: Host
    file: Path
    names: Mapping[str, str]
    """Where a server stands in the document → what it is called."""
    content: bytes
    workspace: str | None = None


def read_originals(
    host: Host, file: Path, text: str, ours: Sequence[str], *, workspace: str | None
) -> Originals:
    """What could be taken over. Raises `Unreadable`."""
    whole = document(host, text)
    kept = {name: one for name, one in entries(host, text).items() if name not in ours}
    inside: Any = list(kept.values()) if host.listed else kept
    key = ".".join(host.container)
    places = range(len(kept)) if host.listed else kept
    for part in reversed(host.container):
        inside = {part: inside}
    return Originals(
        host=host,
        file=file,
        # Masked as `read` masks the keys that these are compared with.
        names={mask(f"{key}.{place}"): name for place, name in zip(places, kept, strict=True)},
        # `default`: TOML and YAML have dates, JSON has none. `inputs` say what the placeholders of VS Code ask for.
        content=json.dumps({**inside, "inputs": whole.get("inputs")}, default=str).encode(),
        workspace=workspace,
    )


class TakeOver:
    """The servers of some hosts on their way into our file."""

    def __init__(
        self,
        originals: Sequence[Originals],
        config: Path | None,
        bundles: str,
        permits: Permits | None = None,
    ) -> None:
        self._originals = [one for one in originals if one.names]
        self._config = config
        self._found = [
            Found(
                content=one.content,
                place=Place(
                    file=str(one.file), workspace=one.workspace, host=one.host.id, bundles=bundles
                ),
            )
            for one in self._originals
        ]
        self._permits = permits or Consent()
        # Asks for consent, and says what may leave the host's file before anything is written anywhere.
        self._planned = self._bring(dry_run=True)

    @property
    def file(self) -> Path | None:
        """Our file, which may not exist yet; None where nothing is written into it."""
        return self._planned.path.absolute() if self._planned is not None else None

    @property
    def planned(self) -> BroughtIn | None:
        """What goes into our file; None where nothing does."""
        return self._planned

    def taken(self, host: Host) -> list[str]:
        """The servers that may leave the file of a host."""
        ours = _places(self._planned)
        return [
            name
            for one in self._originals
            if one.host is host
            for key, name in one.names.items()
            if (str(one.file), key) in ours
        ]

    def tell(self) -> None:
        """Say what goes where."""
        if self._planned is None:
            note("there is no server to take over")
            return
        for one in self._planned.plan.servers:
            secrets = f"; its secrets move to {', '.join(one.secrets)}" if one.secrets else ""
            note(f"{one_line(one.source.key)} goes into {self._planned.path} as {one.id}{secrets}")
        for line in remarks(self._planned.plan, self._planned.store):
            note(line)

    def carry_out(self) -> None:
        """Write the servers into our file. Raises what `import` raises, and `CliError` where our file was changed since so
        that not all of them could be: what `taken` said must not leave the host's file then."""
        done = self._bring(dry_run=False)
        left = _places(self._planned) - _places(done)
        if left:
            raise CliError(
                f"{self.file} was changed in the meantime and did not take {', '.join(sorted(one_line(key) for _, key in left))}",
                code="changed",
                exit_code=Exit.PROBLEMS,
                hint="nothing left the host's file; run the command again",
            )

    def _bring(self, *, dry_run: bool) -> BroughtIn | None:
        if not self._found:
            return None
        return bring_in(self._found, self._config, dry_run=dry_run, permits=self._permits)


def _places(done: BroughtIn | None) -> set[tuple[str, str]]:
    """File and key of the servers that are in our file by this, or were before."""
    plan = None if done is None else done.plan
    ours = [] if plan is None else [*(server.source for server in plan.servers), *plan.held]
    return {(source.file, source.key) for source in ours}
