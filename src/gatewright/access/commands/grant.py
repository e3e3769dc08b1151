"""Commands `list`, `show`, `add`, `revoke` of `gatewright grant`: show configured and issued grants, edit issued ones in the state database.

Grants of the configuration are shown and not changed. Others are
issued, straight in the store; a running gateway follows within a second. That is an operator's: see
`cli.operators`.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import msgspec
import typer

from gatewright.access.grants import EVERYBODY, Decision, Grant, Grants, Key, Layer, is_about
from gatewright.access.issued_grants import Issued
from gatewright.cli.completion_names import grant_targets, key_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.state_access import opened, seen
from gatewright.cli.timestamps import ahead
from gatewright.cli.tool_names import no_server, seen_subject, spelled, subject_of
from gatewright.cli.unknown_agent import note_unknown
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.mcp.wire.permissions import canonical_permission
from gatewright.timestamps import as_shown

__all__ = ["Word", "add", "app", "list_grants", "revoke", "show", "words_of"]

app = group("Who may use what, until when and why.")

_COLUMNS = ("agent", "server", "tool", "permission", "state", "expires", "by", "origin", "why")

Agent = Annotated[
    str,
    typer.Argument(
        metavar="AGENT",
        help="The name in the agent's key; a host, e.g. cursor; anonymous; or * for everybody.",
        autocompletion=key_names,
    ),
]
Where = Annotated[
    str,
    typer.Argument(
        metavar="SERVER[/TOOL]",
        help="A whole server, or one tool: SERVER/TOOL, or as `tool list` shows it.",
        autocompletion=grant_targets,
    ),
]


class Word(NamedTuple):
    """A grant and where it stands: `issued`, or the file and line that have it."""

    grant: Grant
    origin: str


class _Desk(NamedTuple):
    settings: Settings
    issued: Issued
    by: str


@app.callback()
def _group() -> None:
    """Who may use what, until when and why."""


@app.command("list")
def list_grants(
    agent: Annotated[
        str | None, typer.Option("--agent", help="Only what counts for this agent.")
    ] = None,
    server: Annotated[str | None, typer.Option("--server", help="Only of this server.")] = None,
    tool: Annotated[
        str | None, typer.Option("--tool", help="Only what counts for this tool, by any name.")
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """List all grants, those of the configuration and those that were issued.

    Columns: agent, server, tool, permission, state, expires, by, origin, why.
    """
    settings = load(config)
    meant = None if tool is None else seen_subject(settings, tool)
    if tool is not None and (meant is None or meant.tool is None):
        raise _misuse(f"{tool!r} is no tool of a configured server")
    words = [
        word
        for word in words_of(settings)
        if agent is None or is_about(word.grant, agent)
        if server in (None, word.grant.server)
        if meant is None
        or (word.grant.server == meant.server and word.grant.tool in {None, meant.tool})
    ]
    if json:
        print_document([_entry(word) for word in words])
        return
    _print(words)
    if not words:
        note(f"no grants; `{to_type('grant add AGENT SERVER')}` issues one")


@app.command()
def show(agent: Agent, where: Where, config: Config = None, json: Json = False) -> None:
    """Show what holds for an agent on a server or a tool, and all words about it.

    The tool is taken to be what it was when it was granted; `gatewright policy explain` asks the gateway.
    """
    settings = load(config)
    found = seen_subject(settings, where)
    _, server, tool = key = _key(agent, where) if found is None else (agent, *found)
    if found is None and not any(word.grant.server == server for word in words_of(settings)):
        raise no_server(settings, server)
    words = [
        word
        for word in words_of(settings)
        if is_about(word.grant, agent)
        and word.grant.server == server
        and word.grant.tool in {None, tool}
    ]
    said = _decision(settings, words, key)
    if json:
        print_document(
            {**msgspec.to_builtins(said), "grants": [_entry(word) for word in words]}
            | {"agent_id": agent, "server_id": server, "tool_name": tool}
        )
        return
    print_rows(("permission", "source", "by"), [(said.permission, said.source, said.granted_by)])
    _print(words)


@app.command()
def add(  # noqa: PLR0913, PLR0917 - one argument for each option
    agent: Agent,
    where: Where,
    deny: Annotated[bool, typer.Option("--deny", help="Forbid it instead.")] = False,
    permission: Annotated[
        list[str] | None,
        typer.Option("--permission", "-p", metavar="NAME", help="Goes with it: network.outbound."),
    ] = None,
    expires: Annotated[
        str | None, typer.Option("--expires", help="12h, 30d from now, or a date; else never.")
    ] = None,
    why: Annotated[str, typer.Option("--why", help="For whoever asks later.")] = "",
    allow_unknown: Annotated[
        bool,
        typer.Option("--allow-unknown", help="Also for a server or tool that there is not yet."),
    ] = False,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Issue a grant, in place of one that was issued for the same. It holds within a second.

    One for a tool is for what that tool is now: when its definition changes, the grant no longer counts.
    """
    settings = load(config)
    grant = Grant(
        *(_any_key if allow_unknown else _known_key)(settings, agent, where, config),
        "deny" if deny else "allow",
        expires_at=None if expires is None else _to_come(expires),
        justification=why,
        permissions=tuple(canonical_permission(one) or one for one in permission or ()),
    )
    with _desk(config, key) as desk:
        try:
            made = desk.issued.grant(msgspec.structs.replace(grant, granted_by=desk.by), by=desk.by)
        except ValueError as problem:
            raise _misuse(str(problem)) from None
        _warn(desk.settings, made)
        note_unknown(desk.settings, made.agent)
    if json:
        print_document(_entry(Word(made, "issued")))
    else:
        what = "may not use" if deny else "may use"
        note(f"{agent} {what} {_spelled(settings, made.key)}{_until(made)}")


@app.command()
def revoke(
    agent: Agent,
    where: Where,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Take an issued grant back. Calls that needed it end within a second."""
    wanted, as_written = _any_key(load(config), agent, where), _key(agent, where)
    with _desk(config, key) as desk:
        issued = {one.key for one in desk.issued.grants()}
        # The tool may be gone, or listed by another name than when it was granted.
        meant = as_written if wanted not in issued and as_written in issued else wanted
        try:
            gone = desk.issued.revoke(meant, by=desk.by)
        except KeyError:
            raise _not_issued(desk.settings, wanted, agent, where) from None
    if json:
        print_document(_entry(Word(gone, "issued")))
    else:
        note(f"the grant of {_spelled(desk.settings, gone.key)} to {agent} is gone")


def words_of(settings: Settings) -> list[Word]:
    """Every grant there is, those of the configuration first. Raises `StoreError`."""
    written = [
        Word(
            Grant(
                one.agent,
                one.server,
                one.tool,
                one.permission,
                granted_by="config",
                expires_at=None if one.expires_at is None else one.expires_at.timestamp(),
                justification=one.justification,
                permissions=one.permissions,
            ),
            str(one.origin),
        )
        for one in settings.grants
    ]
    with seen(settings.storage.path) as state:
        issued = Issued(state, clock=time.time).grants()
    return [*written, *(Word(one, "issued") for one in issued)]


@contextmanager
def _desk(config: Path | None, key: str | None) -> Iterator[_Desk]:
    settings = load(config)
    folder = settings.storage.path
    by = require_operator(settings, key)
    with opened(folder) as state:
        yield _Desk(settings, Issued(state, clock=time.time), by)


def _key(agent: str, where: str) -> Key:
    server, slash, tool = where.partition("/")
    if not agent or not server or (slash and not tool):
        raise _misuse(f"{where!r} is neither SERVER nor SERVER/TOOL")
    return agent, server, tool or None


def _any_key(settings: Settings, agent: str, where: str, config: Path | None = None) -> Key:
    """The same, of a tool by any of its names; also of what there is not."""
    as_written = _key(agent, where)
    found = seen_subject(settings, where)
    return as_written if found is None else (agent, *found)


def _known_key(settings: Settings, agent: str, where: str, config: Path | None) -> Key:
    """The same, of a server and a tool that there are."""
    _key(agent, where)
    try:
        return agent, *subject_of(settings, where, config)
    except CliError as problem:
        problem.hint += "; --allow-unknown grants it all the same"
        raise


def _spelled(settings: Settings, key: Key) -> str:
    _, server, tool = key
    return spelled(server, tool, settings)


def _decision(settings: Settings, words: Sequence[Word], key: Key) -> Decision:
    agent, server, tool = key
    defaults = {one.id: one.default_policy for one in settings.servers}
    # No server is connected here, so no digest can be compared.
    plain = [(msgspec.structs.replace(one, tool_digest=None), origin) for one, origin in words]
    written = [one for one, origin in plain if origin != "issued"]
    issued = Layer(one for one, origin in plain if origin == "issued")
    return Grants(written, defaults, issued).decide(agent, server, tool or "", time.time())


def _entry(word: Word) -> dict[str, Any]:
    grant = word.grant
    return {
        **{("by" if name == "granted_by" else name): value for name, value in _members(grant)},
        "entry_type": grant.entry_type,
        "state": _state(grant),
        "origin": word.origin,
    }


def _members(grant: Grant) -> Sequence[tuple[str, Any]]:
    return [(name, getattr(grant, name)) for name in grant.__struct_fields__]


def _print(words: Sequence[Word]) -> None:
    rows = [
        (
            one.agent,
            one.server,
            "*" if one.tool is None else one.tool,
            one.permission,
            _state(one),
            as_shown(one.expires_at),
            one.granted_by,
            origin,
            one.justification,
        )
        for one, origin in words
    ]
    print_rows(_COLUMNS, rows)


def _state(grant: Grant) -> str:
    return "active" if grant.holds(time.time()) else "expired"


def _until(grant: Grant) -> str:
    return "" if grant.expires_at is None else f" until {as_shown(grant.expires_at)}"


def _to_come(text: str) -> float:
    moment = ahead(text, now := time.time())
    if moment <= now:
        raise _misuse(f"{text!r} is over already")
    return moment


def _warn(settings: Settings, grant: Grant) -> None:
    """What may be a slip, and may be meant."""
    if settings.server(grant.server) is None:
        note(f"no server {grant.server!r} is configured; the grant waits for one")
    against = [
        one
        for one in settings.grants
        if one.agent in {grant.agent, EVERYBODY}
        and (one.server, one.tool, one.permission) == (grant.server, grant.tool, "deny")
    ]
    if grant.permission == "allow" and against:
        note(f"{against[0].origin} denies it, and deny goes over allow: change that as well")


def _not_issued(settings: Settings, key: Key, agent: str, where: str) -> CliError:
    written = [one for one in settings.grants if (one.agent, one.server, one.tool) == key]
    hint = f"`{to_type('grant list')}` shows what was"
    if written:
        hint = f"it is written at {written[0].origin}: take it out there, or issue a --deny"
    return CliError(
        f"no grant of {where} was issued to {agent}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=hint,
    )


def _misuse(message: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=to_type("grant add --help"))
