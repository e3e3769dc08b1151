"""`gatewright disconnect HOST…`: removes what `connect` recorded from hosts' files: replaced servers return, later edits stay."""

from __future__ import annotations

from pathlib import Path

from gatewright.cli.options import Json, group
from gatewright.cli.output import note, print_document, print_line, print_text
from gatewright.command_text import to_type
from gatewright.hosts.commands.changes import Change, agree, carry_out, show
from gatewright.hosts.commands.connect import DryRun, EntryName, Hosts, Project, Yes
from gatewright.hosts.commands.host_files import edited, known_host, places, records
from gatewright.hosts.edit import entries
from gatewright.hosts.entry_splices import take_back
from gatewright.hosts.host_table import Host
from gatewright.hosts.whole_file import read_text

__all__ = ["app", "disconnect", "planned"]

app = group("Take the gateway out of hosts again.")


@app.command()
def disconnect(
    hosts: Hosts,
    project: Project = False,
    name: EntryName = "gatewright",
    dry_run: DryRun = False,
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Take our entry out of the file of each HOST.

    The file is then as it was before `connect`, byte for byte; what was edited since stays.
    """
    chosen = [known_host(one) for one in dict.fromkeys(hosts)]
    changes = [planned(host, name, project=project) for host in chosen]
    # Asked before anything is written: only the record knows them, and it goes with the entry.
    back = [one for change in changes for one in _brought_back(change, name)]
    done = agree(changes, yes=yes, dry_run=dry_run)
    backups = carry_out(changes) if done else [None] * len(changes)
    documents = []
    for change, backup in zip(changes, backups, strict=True):
        documents.append(
            {
                "host": change.host.id,
                "file": str(change.file),
                "name": name,
                "action": change.action,
                "written": done and change.action != "unchanged",
                "diff": show(change),
                "backup": None if backup is None else str(backup),
            }
        )
        if not json:
            _say(change, backup, done=done)
    if json:
        print_document(documents)
    if done and back:
        note(
            f"back in the host, and still in mgp.toml: {', '.join(back)}; `{to_type('server rm {}', back[0])}`"
        )


def _brought_back(change: Change, name: str) -> list[str]:
    step = records().find(change.host.id, change.file).step(name)
    return [] if step is None or change.action == "unchanged" else list(step.taken)


def planned(host: Host, name: str, *, project: bool) -> Change:
    """The change for the file that our record knows, else for the one that has such an entry. Raises `CliError`."""
    files = places(host, project=project)
    known = [file for file in files if records().find(host.id, file).step(name)]
    file = next(iter(known or files))
    record = records().find(host.id, file)
    with edited(host, file):
        before = after = read_text(file)
        if before is None or name not in entries(host, before):
            record = record.without(name)
        else:
            after, record = take_back(host, before, record, name)
    return Change(host=host, file=file, before=before, after=after, record=record)


def _say(change: Change, backup: Path | None, *, done: bool) -> None:
    if change.action == "unchanged":
        note(f"{change.host.title}: our entry is not in {change.file}")
    if not done:
        print_text(show(change))
        return
    print_line((change.host.id, change.action, change.file))
    if backup is not None:
        note(f"{change.host.title}: other edits were kept; the file before all of them is {backup}")
