"""`gatewright secret`: sets, lists, removes and tests the stored values of `${secret:NAME}`, and allows further configurations to use them.

A value comes from a prompt that shows nothing, or from standard input; never from the command line,
which the shell's history and every process list would show. No command prints one.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.completion_names import secret_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.key_input import hidden
from gatewright.cli.options import Config, Json, group
from gatewright.cli.output import is_terminal, note, print_document, print_line, print_rows
from gatewright.command_text import to_type
from gatewright.config import Settings, load
from gatewright.config.build import build
from gatewright.config.lookup import STDIN, state_directory
from gatewright.config.secret_rules import MAX_BYTES, check_name, check_value
from gatewright.config.secret_users import allow, configurations, disallow, for_new_value, users
from gatewright.config.secrets import Secrets, open_secrets
from gatewright.storage.errors import StoreError

__all__ = ["allow_secret", "app", "list_secrets", "remove", "set_secret", "try_secrets"]

app = group("Secrets by name, for ${secret:NAME} in the configuration.")

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="As in ${secret:NAME}.", autocompletion=secret_names)
]


@app.callback()
def _group() -> None:
    """Secrets by name, for ${secret:NAME} in the configuration."""


@app.command("set")
def set_secret(
    name: Name,
    extra: Annotated[list[str] | None, typer.Argument(hidden=True)] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Keep a secret. The value is asked for, or read from standard input where that is no terminal."""
    if extra:
        raise _misuse(
            "a value on the command line would stay in the shell's history",
            "leave it out: it is asked for, or read from standard input",
        )
    try:
        check_name(name)
        value = _value(name)
        check_value(value)
    except ValueError as problem:
        raise _misuse(str(problem), to_type("secret set --help")) from None
    settings = _settings(config)
    secrets = _opened(settings)
    known = name in secrets.names()
    files = configurations(settings.files, config)
    store = settings.storage.path
    former = users(os.environ, store, name)
    with for_new_value(os.environ, store, name, files):
        secrets.put(name, value)
    now = users(os.environ, store, name)
    if json:
        document = {"name": name, "where": secrets.where, "replaced": known}
        print_document(document | {"for": now})
        return
    note(f"{'replaced' if known else 'kept'} in {secrets.where}; write ${{secret:{name}}}")
    note(f"it is for {', '.join(now)} alone; others: `{to_type('secret allow {}', name)}`")
    if gone := [one for one in former if one not in now]:
        note(f"the new value is not for {', '.join(gone)}, which could use the old one")


@app.command("allow")
def allow_secret(name: Name, config: Config = None, json: Json = False) -> None:
    """Let a configuration use a secret that was set for another one: --config, else the one that is in force here."""
    settings = _settings(config)
    if name not in _opened(settings).names():
        raise _missing(name)
    files = configurations(settings.files, config)
    allow(os.environ, settings.storage.path, name, files)
    if json:
        print_document({"name": name, "for": users(os.environ, settings.storage.path, name)})
    else:
        note(f"{', '.join(map(str, files))} may use {name} now")


@app.command("list")
def list_secrets(config: Config = None, json: Json = False) -> None:
    """List the names.

    Columns: name, where it is kept, the configurations that may use it.
    """
    settings = _settings(config)
    secrets = _opened(settings)
    names = secrets.names()
    used = {name: users(os.environ, settings.storage.path, name) for name in names}
    if json:
        print_document(
            [{"name": name, "where": secrets.where, "for": used[name]} for name in names]
        )
        return
    print_rows(("name", "where", "for"), [(name, secrets.where, used[name]) for name in names])
    if not names:
        note(f"no secrets; `{to_type('secret set NAME')}` keeps one")


@app.command("rm")
def remove(name: Name, config: Config = None, json: Json = False) -> None:
    """Forget a secret."""
    settings = _settings(config)
    secrets = _opened(settings)
    if not secrets.remove(name):
        raise _missing(name)
    disallow(os.environ, settings.storage.path, name)
    if json:
        print_document({"name": name, "where": secrets.where})
    else:
        note(f"{name} is forgotten")


@app.command("test")
def try_secrets(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="[NAME]", help="Only this one; all unless given.", autocompletion=secret_names
        ),
    ] = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Try to read secrets, without showing them; exit code 8 if one cannot be.

    Columns: name, ok or why not.
    """
    secrets = _opened(_settings(config))
    names = secrets.names()
    if name is not None and name not in names:
        raise _missing(name)
    found = {one: _tried(secrets, one) for one in (names if name is None else [name])}
    if json:
        print_document([{"name": one, "ok": not why, "message": why} for one, why in found.items()])
    else:
        for one, why in found.items():
            print_line((one, why or "ok"))
    failed = sum(map(bool, found.values()))
    if failed:
        raise CliError(
            f"{failed} of {len(found)} secrets cannot be read",
            code="secret",
            exit_code=Exit.PROBLEMS,
            hint=f"set them again with `{to_type('secret set NAME')}`",
        )
    if not json:
        note(f"{secrets.where} answers")


def _tried(secrets: Secrets, name: str) -> str:
    try:
        return "" if secrets.get(name) else "its value is gone"
    except StoreError as problem:
        return str(problem)


def _settings(config: Path | None) -> Settings:
    """Those of a file; standard input is not read for it, because a value may come there."""
    if config == STDIN:
        return build([], os.environ, state_directory(os.environ))
    return load(config)


def _opened(settings: Settings) -> Secrets:
    place = settings.secrets
    return open_secrets(settings.storage.path, place.store, key_file=place.key_file)


def _value(name: str) -> str:
    if is_terminal(0):
        return hidden(f"value of {name} (not shown): ")
    # A line end (two bytes) is taken off, and one byte more tells a value that is too long.
    content = sys.stdin.buffer.read(MAX_BYTES + 3)
    try:
        return content.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        raise ValueError("the value is not UTF-8 text") from None


def _missing(name: str) -> CliError:
    return CliError(
        f"no secret {name!r}",
        code="not_found",
        exit_code=Exit.USAGE,
        hint=f"`{to_type('secret list')}` shows the names",
    )


def _misuse(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)
