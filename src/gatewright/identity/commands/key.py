"""`gatewright key create|rotate|list|revoke`: manages API keys of agents and operators in the state database.

A running gateway notices within a second. Who may give them is in `cli/operators.py`, which also says what that keeps out and
what it does not. The first key of a state folder in which no gateway has run yet is free, so that an
installation can be prepared by a script; so is the first operator's key, at a terminal.
"""

from __future__ import annotations

import os
import shlex
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.audit.rows import DATABASE
from gatewright.call import UserContext
from gatewright.cli.completion_names import key_ids
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.operators import keys_alone
from gatewright.cli.operators import operator as operator_of
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import is_terminal, note, print_document, print_line, print_rows
from gatewright.cli.state_access import opened, seen
from gatewright.cli.timestamps import ahead
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.config.limits import Calls, Rates
from gatewright.hosts.local_agents import AGENTS
from gatewright.identity.commands.claims import (
    as_document,
    as_text,
    calls_blindly,
    takes_rights,
)
from gatewright.identity.keys import Key, KeyStore, NameTaken
from gatewright.timestamps import as_shown

__all__ = ["app", "create", "list_keys", "revoke", "rotate"]

app = group("API keys: create, list, rotate, revoke.")

_COLUMNS = ("id", "name", "kind", "state", "created", "expires", "last_used", "limits")


@app.callback()
def _group() -> None:
    """API keys: create, list, rotate, revoke."""


@app.command()
@takes_rights
def create(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The agent that the key speaks for.")],
    operator: Annotated[
        bool, typer.Option("--operator", help="For a person who runs the gateway, not an agent.")
    ] = False,
    expires: Annotated[
        str | None, typer.Option("--expires", help="12h, 30d from now, or a date; else never.")
    ] = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
    *,
    another: Annotated[
        bool, typer.Option("--another", help="Beside a key of this name that is in force.")
    ] = False,
    user: UserContext,
) -> None:
    """Make a key and print it. It is shown this once and kept nowhere."""
    with _store(config) as (callers, settings):
        by = _operator(callers, key, settings, first=operator)
        until = None if expires is None else ahead(expires, time.time())
        try:
            made, secret = callers.create(
                name,
                kind="operator" if operator else "agent",
                expires=until,
                user=user,
                by=by,
                another=another,
                hosts=AGENTS,
            )
        except NameTaken as taken:
            raise _taken(name, taken.keys) from None
        except ValueError as problem:
            raise _misuse(str(problem)) from None
    _hand_over(made, secret, settings if json else None)
    if calls_blindly(user):
        note("it may call tools, but see none of them: ToolRead(NAME) or ToolsListAll shows them")


@app.command()
def rotate(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID|NAME",
            help="As `key list` shows it; a name where one key of it is in force.",
            autocompletion=key_ids,
        ),
    ],
    expires: Annotated[
        str | None, typer.Option("--expires", help="When the new key ends; else never.")
    ] = None,
    overlap: Annotated[
        str | None,
        typer.Option("--overlap", help="How long both are good: 10m, 24h; else the old one ends."),
    ] = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Put a new key in the place of one that is in force, and end the old one, now or after an overlap.

    The new key is for the same agent and says the same of it.
    """
    with _store(config) as (callers, settings):
        by = _operator(callers, key, settings)
        now = time.time()
        until = None if expires is None else ahead(expires, now)
        beside = 0.0 if overlap is None else ahead(overlap, now) - now
        try:
            old = _one(callers.held(id), id)
            made, secret = callers.rotate(old, expires=until, overlap_s=beside, by=by)
        except KeyError:
            raise _no_key(id) from None
        except ValueError as problem:
            raise _misuse(str(problem)) from None
    _hand_over(made, secret, settings if json else None)


@app.command("list")
def list_keys(config: Config = None, json: Json = False) -> None:
    """List the keys, without their secrets.

    Columns: id, name, kind, state, created, expires, last used, what limits it.
    """
    settings = load(config)
    with seen(settings.storage.path) as state:
        keys = KeyStore(state, clock=time.time, random=os.urandom).keys()
    if json:
        print_document([_shown(key, settings) for key in keys])
        return
    now = time.time()
    rows = [
        (
            key.id,
            key.name,
            key.kind,
            _state(key, now),
            as_shown(key.created),
            as_shown(key.expires),
            as_shown(key.last_used),
            as_text(key.user),
        )
        for key in keys
    ]
    print_rows(_COLUMNS, rows)
    if not keys:
        note(f"no keys; `{to_type('key create NAME')}` makes one")


@app.command()
def revoke(
    id: Annotated[
        str,
        typer.Argument(
            metavar="ID|NAME",
            help="As `key list` shows it; a name where one key of it is in force.",
            autocompletion=key_ids,
        ),
    ],
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """End a key now. A running gateway refuses it within a second."""
    with _store(config) as (callers, settings):
        by = _operator(callers, key, settings)
        try:
            ended = callers.revoke(_named(callers, id), by=by)
        except KeyError:
            raise _no_key(id) from None
    if json:
        print_document(_shown(ended, settings))
    else:
        note(f"key {ended.id} of {ended.name} is revoked")
        if ended.kind == "operator":
            granted = to_type("grant list")
            note(
                f"its votes and unused approvals count no more; what was granted stays: `{granted}`"
            )


def _named(callers: KeyStore, word: str) -> str:
    """The id of the key to end, by its id or the name of its agent. Raises `CliError` where a name has several in force."""
    held = callers.held(word)
    if len(held) > 1:
        raise _ambiguous(word, held, "key revoke {}")
    return held[0].id if held else word


def _ambiguous(word: str, held: Sequence[Key], command: str) -> CliError:
    return CliError(
        f"{word} has {len(held)} keys in force: {', '.join(key.id for key in held)}",
        code="ambiguous",
        exit_code=Exit.USAGE,
        hint=f"name one by its id: {to_type(command, held[-1].id)}",
    )


def _one(held: Sequence[Key], word: str) -> str:
    """The id of the one key that is meant. Raises `CliError` where a name has several, `KeyError` where there is none."""
    # What was replaced and goes on for a while has a successor of the same name.
    found = [key for key in held if key.replaced_by is None] or [*held]
    if not found:
        raise KeyError(word)
    if len(found) > 1:
        raise _ambiguous(word, found, "key rotate {}")
    return found[0].id


def _taken(name: str, keys: Sequence[Key]) -> CliError:
    ids = ", ".join(f"{key.id} ({key.kind})" for key in keys)
    which = shlex.quote(name) if len(keys) == 1 else keys[-1].id
    return CliError(
        f"{name} has a key in force already: {ids}",
        code="exists",
        exit_code=Exit.USAGE,
        hint=f"put a new one in its place: {to_type('key rotate {}', which)}; or make one beside it: --another",
    )


def _hand_over(made: Key, secret: str, settings: Settings | None) -> None:
    """Print a fresh key, the only time that anybody sees it; as a document with the limits that `settings` have for it."""
    if settings is not None:
        print_document({**_shown(made, settings), "key": secret})
        return
    print_line((secret,))
    note(f"key {made.id} for {made.kind} {made.name}; it is not shown again")
    if is_terminal(2):
        note(f"use it: Authorization: Bearer …; end it: {to_type('key revoke {}', made.id)}")


def _shown(key: Key, settings: Settings) -> dict[str, Any]:
    """A key as a JSON document: what it says of its caller stands beside the rest, and how often it may be used."""
    found: dict[str, Any] = msgspec.to_builtins(key)
    del found["user"]
    calls = settings.limits.calls or Calls()
    rates = calls.keys.get(key.id, calls.key) or Rates()
    limit = {"requests_per_minute": rates.per_minute, "requests_per_hour": rates.per_hour}
    made = {"created_at": found.pop("created"), "rate_limit": limit}
    return {**found, **made, **as_document(key.user)}


def _no_key(id: str) -> CliError:
    return CliError(
        f"no key {id!r}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"`{to_type('key list')}` shows the ids",
    )


def _misuse(message: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=to_type("key create --help"))


@contextmanager
def _store(config: Path | None) -> Iterator[tuple[KeyStore, Settings]]:
    settings = load(config)
    with (
        opened(settings.storage.path) as state,
        closing(KeyStore(state, clock=time.time, random=os.urandom)) as callers,
    ):
        yield callers, settings


def _operator(
    callers: KeyStore, key: str | None, settings: Settings, *, first: bool = False
) -> str:
    """Who does this. `first` says that it makes an operator's key: the first one needs no other."""
    folder, only_keys, now = settings.storage.path, keys_alone(settings), time.time()
    # Rows of the audit trail mean that a gateway has run: a lost key table must not make the next key free.
    fresh = not callers.keys() and not (folder / DATABASE).exists()
    if only_keys and not fresh and first and is_terminal(0):
        held = [one.kind for one in callers.keys() if _state(one, now) == "active"]  # noqa: SIM118 - no dictionary
        fresh = "operator" not in held
    return operator_of(callers, key, folder, fresh=fresh, only_keys=only_keys)


def _state(key: Key, now: float) -> str:
    if key.revoked is not None:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now else "active"
