"""`gatewright key`: API keys for agents and operators, straight in the store.

A running gateway notices within a second. An agent that has a shell must not be able to give itself
a key: without a terminal these commands ask for an operator's key (`--key`), except for the very
first key of a fresh store.
"""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from gatewright.call import Caller
from gatewright.cli.moments import ahead, as_shown
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import (
    CliError,
    Exit,
    is_terminal,
    note,
    print_document,
    print_line,
    print_rows,
)
from gatewright.settings import load
from gatewright.stores.callers import Callers, Key

__all__ = ["app", "create", "list_keys", "revoke"]

app = group("API keys: create, list, revoke.")

_COLUMNS = ("id", "name", "kind", "state", "created", "expires", "last_used")


@app.callback()
def _group() -> None:
    """API keys: create, list, revoke."""


@app.command()
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
) -> None:
    """Make a key and print it. It is shown this once and kept nowhere."""
    with _store(config) as callers:
        by = _operator(callers, key)
        until = None if expires is None else ahead(expires, time.time())
        try:
            made, secret = callers.create(
                name, kind="operator" if operator else "agent", expires=until, by=by
            )
        except ValueError as problem:
            raise CliError(
                str(problem),
                code="usage",
                exit_code=Exit.USAGE,
                hint="gatewright key create --help",
            ) from None
    if json:
        print_document({**msgspec.to_builtins(made), "key": secret})
        return
    print_line((secret,))
    note(f"key {made.id} for {made.kind} {name}; it is not shown again")
    if is_terminal(2):
        note(f"use it: Authorization: Bearer …; end it: gatewright key revoke {made.id}")


@app.command("list")
def list_keys(config: Config = None, json: Json = False) -> None:
    """List the keys, without their secrets.

    Columns: id, name, kind, state, created, expires, last used.
    """
    with _store(config) as callers:
        keys = callers.keys()
    if json:
        print_document(keys)
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
        )
        for key in keys
    ]
    print_rows(_COLUMNS, rows)
    if not keys:
        note("no keys; `gatewright key create NAME` makes one")


@app.command()
def revoke(
    id: Annotated[str, typer.Argument(metavar="ID", help="As `key list` shows it.")],
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """End a key now. A running gateway refuses it within a second."""
    with _store(config) as callers:
        by = _operator(callers, key)
        try:
            ended = callers.revoke(id, by=by)
        except KeyError:
            raise CliError(
                f"no key {id!r}",
                code="not_found",
                exit_code=Exit.USAGE,
                hint="`gatewright key list` shows the ids",
            ) from None
    if json:
        print_document(ended)
    else:
        note(f"key {ended.id} of {ended.name} is revoked")


@contextmanager
def _store(config: Path | None) -> Iterator[Callers]:
    folder = load(config).storage.path
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    callers = Callers(folder / "keys.db", clock=time.time, random=os.urandom)
    try:
        yield callers
    finally:
        callers.close()


def _operator(callers: Callers, key: str | None) -> str:
    """Who does this, for the record. Raises `CliError` (exit code 6) for an agent with a shell."""
    if key is not None:
        found = callers.verify(key)
        if isinstance(found, Caller) and found.kind == "operator":
            return found.id
        raise CliError(
            "this is not the key of an operator",
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint="make one at a terminal: gatewright key create NAME --operator",
        )
    if is_terminal(0) or not callers.keys():
        return getpass.getuser()
    raise CliError(
        "without a terminal this needs an operator's key",
        code="permission_denied",
        exit_code=Exit.DENIED,
        hint="pass --key or GATEWRIGHT_KEY, or run it at a terminal",
    )


def _state(key: Key, now: float) -> str:
    if key.revoked is not None:
        return "revoked"
    return "expired" if key.expires is not None and key.expires <= now else "active"
