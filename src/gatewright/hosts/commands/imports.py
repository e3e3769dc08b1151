"""`gatewright import`: reads servers from any known configuration into mgp.toml, moves their secrets to the store, unpacks bundles.

The plan is made first and shown whole; then bundles are unpacked, secrets kept and the file written, in
this order, so that a file that names a secret or a folder never stands without it.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import MARKUP, Config, Json
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import takes_over
from gatewright.command_text import to_type
from gatewright.config import Settings, SettingsError, load
from gatewright.config.build import build
from gatewright.config.documents import Document
from gatewright.config.documents import read as read_document
from gatewright.config.edit import add_servers, editing
from gatewright.config.lookup import state_directory
from gatewright.hosts.bundle import unpack
from gatewright.hosts.commands.import_consent import Consent
from gatewright.hosts.commands.import_report import COLUMNS, comment, document, remarks, rows
from gatewright.hosts.commands.import_secrets import Store
from gatewright.hosts.commands.import_sources import Found, find_sources
from gatewright.hosts.installed import installed_version
from gatewright.hosts.model import CannotRead, Note, Reading
from gatewright.hosts.plan import Known, Plan, make_plan
from gatewright.hosts.read import read
from gatewright.secret_scanning.credentials import mask
from gatewright.servers.commands.edit import file_to_edit

__all__ = ["BroughtIn", "app", "bring_in", "import_servers"]

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)


@app.command()
def import_servers(  # noqa: PLR0913 - one argument for each option
    sources: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[PATH|HOST|URL]...", help="All known hosts unless given; - is stdin."
        ),
    ] = None,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Show the plan and write nothing.")
    ] = False,
    replace: Annotated[
        bool, typer.Option("--replace", help="Take the place of servers of the same name.")
    ] = False,
    only: Annotated[
        list[str] | None,
        typer.Option("--only", metavar="NAME", help="Just the server of this name."),
    ] = None,
    private: Annotated[
        bool, typer.Option("--private", help="Fetch URLs of private addresses, and http, as well.")
    ] = False,
    allow_env: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-env",
            metavar="NAME",
            help="Take servers that set this variable, e.g. LD_PRELOAD or PATH: it chooses what a program loads.",
        ),
    ] = None,
    allow_reference: Annotated[
        list[str] | None,
        typer.Option(
            "--allow-reference",
            metavar="secret:NAME",
            help="Take servers that are given this secret of yours, or this file (file:PATH).",
        ),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Read servers from a host, a file, a bundle or a registry entry into mgp.toml.

    Secrets in them move to the secret store; what they were trusted with becomes a suggestion.
    Columns: what happens, id, transport, command or url, secrets that move, from where.
    """
    settings = _settings(config)
    found = find_sources(sources or [], str(settings.storage.path / "bundles"), private=private)
    done = bring_in(
        found,
        config,
        replace=replace,
        only=only or (),
        dry_run=dry_run,
        permits=Consent([*(allow_env or ()), *(allow_reference or ())]),
    )
    if json:
        print_document(document(done.plan, done.path, done.store, dry_run=dry_run))
    else:
        _show(done, settings.storage.path, dry_run=dry_run)
    if done.plan.refused:
        raise CliError(
            f"{done.plan.refused} of what was named could not be imported",
            code="import",
            exit_code=Exit.PROBLEMS,
            hint="each is named above with what to do",
        )


class BroughtIn(msgspec.Struct, frozen=True):
    """What was written (or would be), into which file, and the secrets that it refers to."""

    plan: Plan
    path: Path
    store: Store


def bring_in(
    found: Sequence[Found],
    config: Path | None = None,
    *,
    replace: bool = False,
    only: Collection[str] = (),
    dry_run: bool = False,
    permits: Callable[[str, tuple[str, ...]], bool],
) -> BroughtIn:
    """Servers of these sources into mgp.toml, their secrets into the store; all of it or nothing.

    `only` are ids to choose from what was read; `permits` says whether a server may set variables that choose what
    a program loads, or be given what is there already. Raises `CliError` where the only source cannot be read,
    `SettingsError` where our file cannot be, `StoreError` and `OSError`.
    """
    settings = _settings(config)
    path = file_to_edit(config)
    store = Store(settings)
    readings = [_readable(one, alone=len(found) == 1) for one in found]
    # Chosen before the plan: what was not asked for must neither be asked about nor take a name or a secret's name.
    chosen = _chosen(readings, set(only)) if only else readings
    known = Known(
        tables=_tables(settings, path),
        secret=store.get,
        own=lambda name: store.is_for(name, path),
        urls=_own_urls(settings),
        folder=str(path.absolute().parent),
        version=lambda loose: installed_version(loose.name, loose.kind, Path.home()),
        flaw=_flaw,
        permits=permits,
        tool_rates=_tool_rates(settings),
        result_bytes=settings.limits.server_frame_bytes,
        isolation=settings.gateway.import_isolation,
    )
    plan = make_plan(chosen, known, replace=replace)
    if plan.servers:
        _write(plan, path, found, store, dry_run=dry_run)
    return BroughtIn(plan, path, store)


def _show(done: BroughtIn, state: Path, *, dry_run: bool) -> None:
    plan, count = done.plan, len(done.plan.servers)
    servers = f"{count} server{'s' if count != 1 else ''}"
    print_rows(COLUMNS, rows(plan))
    for line in remarks(plan, done.store):
        note(line)
    if not plan.servers:
        note("nothing to import")
    elif dry_run:
        note(f"nothing was written; without --dry-run {done.path} gets {servers}")
    else:
        note(f"{servers} written to {done.path}; `{to_type('doctor')}` tries them")
        note(takes_over(done.path, state))


def _settings(config: Path | None) -> Settings:
    """What is in force; defaults alone where the file that was named is still to be made."""
    if config is None or config.exists():
        return load(config)
    return build([], os.environ, state_directory(os.environ))


def _readable(found: Found, *, alone: bool) -> Reading:
    """What a source says. One that says nothing ends the command where it is the only one."""
    try:
        if found.problem is not None:
            raise found.problem
        return read(found.content, found.place)
    except CannotRead as problem:
        name = found.place.file
        if alone:
            raise CliError(
                problem.what if name in problem.what else f"{name}: {problem.what}",
                code=problem.kind.replace("-", "_"),
                exit_code=Exit.USAGE,
                hint=problem.instead,
            ) from None
        return Reading(
            notes=(
                Note(
                    level="refused", server="", key=name, what=problem.what, instead=problem.instead
                ),
            )
        )


def _chosen(readings: Sequence[Reading], names: set[str]) -> list[Reading]:
    """What was read, of the named servers alone."""
    there = [one.id for reading in readings for one in reading.servers]
    told = {one.server for reading in readings for one in reading.notes}
    if missing := names - set(there) - told:
        raise CliError(
            f"no server {', '.join(sorted(missing))} was read",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"there are {', '.join(dict.fromkeys(there)) or 'none'}",
        )
    return [
        Reading(
            servers=tuple(one for one in reading.servers if one.id in names),
            notes=tuple(one for one in reading.notes if one.server in names or not one.server),
            suggestions=tuple(one for one in reading.suggestions if one.server in names),
        )
        for reading in readings
    ]


def _tables(settings: Settings, path: Path) -> dict[str, Mapping[str, Any]]:
    """Servers that are there, by id; those of other files without their words."""
    found: dict[str, Mapping[str, Any]] = {server.id: {} for server in settings.servers}
    if path.exists():
        listed = read_document(path).data.get("servers", [])
        found |= {one["id"]: one for one in listed if isinstance(one, dict) and "id" in one}
    return found


def _tool_rates(settings: Settings) -> dict[str, int]:
    """How often any tool may be called, by the keys of a rate."""
    calls = settings.limits.calls
    if calls is None or calls.tool is None:
        return {}
    said: dict[str, int | None] = msgspec.structs.asdict(calls.tool)
    return {span: most for span, most in said.items() if most is not None}


def _own_urls(settings: Settings) -> set[str]:
    host = settings.gateway.host
    hosts = {f"[{host}]" if ":" in host else host, "127.0.0.1", "localhost", "[::1]"}
    paths = ["", "/mcp", "/sse", *(f"/mcp/{name}" for name in settings.profiles)]
    return {f"http://{host}:{settings.gateway.port}{path}" for host in hosts for path in paths}


def _flaw(table: Mapping[str, Any]) -> str:
    """What would keep a file with this server alone from being loaded; no value of it is repeated."""
    # No secret is looked up for this: one that is not set keeps a server down and breaks no file.
    data = {"servers": [dict(table)], "secrets": {"store": "file"}}
    document = Document(Path("mgp.toml"), data, {})
    try:
        build([document], os.environ, state_directory(os.environ))
    except SettingsError as found:
        return mask(f"{found.problems[0].key}: {found.problems[0].instead}")
    return ""


def _write(plan: Plan, path: Path, found: Sequence[Found], store: Store, *, dry_run: bool) -> None:
    """Everything, or nothing where the file cannot be written. A dry run tries the file in memory."""
    undo: list[Callable[[], object]] = []
    try:
        if not dry_run:
            undo.extend(
                partial(shutil.rmtree, folder, ignore_errors=True)
                for folder in _unpack(plan, found)
            )
            for name, value in plan.secrets.items():
                undo.append(store.put(name, value, path))
        with editing(path, new="", write=not dry_run) as draft:
            tables = [one.table for one in plan.servers]
            comments = {one.id: comment(one) for one in plan.servers}
            add_servers(draft, tables, replace=True, notes=comments)
    except BaseException:
        for step in reversed(undo):
            step()
        raise


def _unpack(plan: Plan, found: Sequence[Found]) -> Iterator[Path]:
    """Bundles to where their servers are started; the folders that are new."""
    zips = (one.content for one in found if one.content.startswith(b"PK"))
    contents = {hashlib.sha256(content).hexdigest(): content for content in zips}
    for planned in plan.servers:
        folder = Path(str(planned.table.get("cwd", "")))
        # The folder is called by the digest of the bundle: one that is there is this bundle.
        if planned.source.format != "mcpb" or folder.exists():
            continue
        # Not by where it was read: two URLs that differ in their query alone are shown alike.
        content = contents.get(planned.source.sha256)
        # Else the source was the manifest of a bundle that is unpacked already.
        if content is not None:
            unpack(content, folder)
            yield folder
