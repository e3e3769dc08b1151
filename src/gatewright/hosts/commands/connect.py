"""`gatewright connect HOST`: adds the gateway to hosts' configuration files (`--take-over` moves their servers); lists servers bypassing it.

`disconnect` takes it out again, byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from gatewright.cli.errors import CliError
from gatewright.cli.key_input import key_given
from gatewright.cli.options import Config, Json, ProfileName, Url, group
from gatewright.cli.output import note, print_document, print_line, print_text
from gatewright.cli.running import read_running
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.hosts.commands.bypass_report import (
    UNSAYABLE,
    Left,
    command,
    elsewhere,
    left_beside,
    own_urls,
)
from gatewright.hosts.commands.changes import Change, agree, carry_out, masked, show
from gatewright.hosts.commands.gateway_entry import Told, Wish, tell
from gatewright.hosts.commands.host_files import edited, host_ids, known_host, places, records
from gatewright.hosts.edit import add_entry, entries
from gatewright.hosts.entry_splices import apply, take_back
from gatewright.hosts.host_table import HOSTS, Host
from gatewright.hosts.whole_file import read_text

if TYPE_CHECKING:
    from gatewright.hosts.commands.take_over import Permits, TakeOver

__all__ = [
    "DryRun",
    "EntryName",
    "Hosts",
    "Planned",
    "Project",
    "Yes",
    "app",
    "connect",
    "moving_of",
    "planned",
]

app = group("Point hosts at the gateway.")

Hosts = Annotated[
    list[str],
    typer.Argument(metavar="HOST...", help=f"Of {', '.join(HOSTS)}.", autocompletion=host_ids),
]
Project = Annotated[
    bool, typer.Option("--project", help="The file of the project in this folder, not the user's.")
]
EntryName = Annotated[
    str, typer.Option("--name", metavar="NAME", help="What the entry is called in the host.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the change and make none.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before changing something.")]


class Planned(msgspec.Struct, frozen=True):
    """An entry for one host, and the change of its file."""

    told: Told
    change: Change


@app.command()
def connect(  # noqa: PLR0913, PLR0917 - one argument for each option
    context: typer.Context,
    hosts: Hosts,
    project: Project = False,
    name: EntryName = "gatewright",
    profile: ProfileName = None,
    url: Url = None,
    key: Annotated[
        str | None,
        typer.Option(
            "--key",
            metavar="KEY",
            help="Write this API key into the entry; - reads it from standard input.",
            callback=key_given,
        ),
    ] = None,
    key_env: Annotated[
        str | None,
        typer.Option("--key-env", metavar="VAR", help="Name the variable that holds the API key."),
    ] = None,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Let the host start `gatewright bridge`; no URL.")
    ] = False,
    print_: Annotated[
        bool, typer.Option("--print", help="Print what belongs into the file; write nothing.")
    ] = False,
    take_over: Annotated[
        bool,
        typer.Option(
            "--take-over", help="Move the host's other servers behind the gateway: import them."
        ),
    ] = False,
    dry_run: DryRun = False,
    yes: Yes = False,
    config: Config = None,
    json: Json = False,
) -> None:
    """Write one entry that points at the gateway into the file of each HOST.

    Shows the exact change and asks first; `gatewright disconnect HOST` takes it back, byte for byte.
    """
    settings = load(config)
    wish = Wish(
        name=name,
        profile=profile,
        url=url,
        key=key,
        key_env=key_env,
        stdio=stdio,
        project=project,
        config=config,
    )
    chosen = [known_host(one) for one in dict.fromkeys(hosts)]
    if print_ and take_over:
        raise typer.BadParameter("--print writes nothing, so nothing can be taken over")
    if print_:
        _print(chosen, wish, settings, json=json)
        return
    moving = moving_of(chosen, wish, settings) if take_over else None
    if moving is not None:
        moving.tell()
        # The bridge is to serve the file that the servers move into, which may not be there yet.
        wish = msgspec.structs.replace(wish, config=config or moving.file)
    plans = [planned(host, wish, settings, moving) for host in chosen]
    changes = [plan.change for plan in plans]
    done = agree(changes, yes=yes, dry_run=dry_run)
    # Into our file first: a failure in between leaves a server in both files, never in neither.
    if done and moving is not None:
        moving.carry_out()
    backups = carry_out(changes) if done else [None] * len(changes)
    left = _left(plans, settings, context, wish, took=take_over)
    _report(plans, backups, wish, left, done=done, json=json)
    if done and any(change.action != "unchanged" for change in changes):
        _say_what_next(settings, wish)


def moving_of(
    hosts: Sequence[Host], wish: Wish, settings: Settings, permits: Permits | None = None
) -> TakeOver:
    """The servers that the hosts have; without `permits` whoever sits at the terminal is asked. The rest of the gateway is loaded
    for this alone."""
    from gatewright.hosts.commands.take_over import TakeOver, read_originals  # noqa: PLC0415

    workspace = str(Path.cwd()) if wish.project else None
    found = []
    for host in hosts:
        file = places(host, project=wish.project)[0]
        record = records().find(host.id, file)
        ours = [wish.name, *(step.name for step in record.steps)]
        with edited(host, file):
            text = read_text(file) or ""
            found.append(read_originals(host, file, text, ours, workspace=workspace))
    return TakeOver(found, wish.config, str(settings.storage.path / "bundles"), permits)


def planned(host: Host, wish: Wish, settings: Settings, moving: TakeOver | None = None) -> Planned:
    """What is to be done to a host's file. Raises `CliError`."""
    told = tell(host, wish, settings)
    file = places(host, project=wish.project)[0]
    record = records().find(host.id, file)
    with edited(host, file):
        before = text = read_text(file)
        taken = [] if moving is None else moving.taken(host)
        former = record.step(wish.name)
        if former is not None and text is not None and wish.name in entries(host, text):
            text, record = take_back(host, text, record, wish.name)
            # `take_back` has just put them into the text again; connecting anew must not leave them with the host.
            taken += [name for name in former.taken if name not in taken]
        record = record.without(wish.name)
        after, step = apply(host, text, wish.name, told.entry, taken)
    record = msgspec.structs.replace(record, steps=(*record.steps, step))
    change = Change(
        host=host,
        file=file,
        before=before,
        after=after,
        record=record,
        private=not wish.project,
    )
    return Planned(told, change)


def _print(hosts: Sequence[Host], wish: Wish, settings: Settings, *, json: bool) -> None:
    documents: list[dict[str, Any]] = []
    for host in hosts:
        told = tell(host, wish, settings)
        file = places(host, project=wish.project)[0]
        snippet = add_entry(host, "", wish.name, told.entry)
        shown = "".join(f"{masked(line)}\n" for line in snippet.splitlines())
        documents.append(_document(host, file, wish, told, action="printed") | {"snippet": shown})
        if not json:
            note(f"{host.title}: {file}")
            print_text(shown)
    if json:
        print_document(documents)


def _report(
    plans: Sequence[Planned],
    backups: Sequence[Path | None],
    wish: Wish,
    left: Sequence[Left],
    *,
    done: bool,
    json: bool,
) -> None:
    documents = []
    for plan, backup, beside in zip(plans, backups, left, strict=True):
        change = plan.change
        document = _document(
            change.host,
            change.file,
            wish,
            plan.told,
            action=change.action,
            taken=change.record.steps[-1].taken,
        )
        documents.append(
            document
            | {
                "written": done and change.action != "unchanged",
                "diff": show(change),
                "backup": None if backup is None else str(backup),
                "ungoverned": beside.documents(),
            }
        )
        if json:
            continue
        if not done:
            print_text(show(change) or f"{change.file}: already connected")
        else:
            print_line((change.host.id, change.action, change.file))
            if backup is not None:
                note(f"{change.host.title}: the file as it was is {backup}")
    if json:
        print_document(documents)
    else:
        _remark([plan for plan in plans if plan.change.action != "unchanged"])
        for line in (line for beside in left for line in beside.messages()):
            note(line)


def _left(
    plans: Sequence[Planned], settings: Settings, context: typer.Context, wish: Wish, *, took: bool
) -> list[Left]:
    """What stays beside the gateway in each host."""
    way = elsewhere(wish.url or "http://localhost") or (UNSAYABLE if took else command(context))
    found = []
    for change in (plan.change for plan in plans):
        ours = [step.name for step in change.record.steps]
        written = {change.file: (change.after or "", ours)}
        urls = [*own_urls(settings), *([wish.url] if wish.url else [])]
        found.append(left_beside(change.host, urls, written, {change.file: way}))
    return found


def _remark(plans: Sequence[Planned]) -> None:
    """What is to be known, once for all hosts for which it holds."""
    holds: dict[str, list[str]] = {}
    for plan in plans:
        for remark in plan.told.remarks:
            holds.setdefault(remark, []).append(plan.change.host.title)
    for remark, titles in holds.items():
        note(f"{', '.join(titles)}: {remark}")


def _document(
    host: Host, file: Path, wish: Wish, told: Told, *, action: str, taken: Iterable[str] = ()
) -> dict[str, Any]:
    return {
        "host": host.id,
        "file": str(file),
        "name": wish.name,
        "way": told.way,
        "action": action,
        "taken": list(taken),
        "remarks": list(told.remarks),
    }


def _say_what_next(settings: Settings, wish: Wish) -> None:
    note("restart the host, or let it read its servers again")
    if wish.url is None:
        try:
            read_running(settings.storage.path)
        except CliError:
            note(f"no gateway is running yet: {to_type('serve')}")
