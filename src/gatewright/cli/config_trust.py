"""`gatewright config trust`, `untrust`: accept a configuration file, or withdraw that; `review`: shows an unaccepted one, asks to accept it."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Json
from gatewright.cli.output import is_terminal, note, print_document, visible
from gatewright.command_text import to_type
from gatewright.config import find
from gatewright.config.documents import read
from gatewright.config.lookup import PROJECT_NAMES
from gatewright.config.review import effects
from gatewright.config.trust import NotAccepted, accept, place_of, trust_of

__all__ = ["refused", "review", "trust", "untrust"]

_LINES = 200

File = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="The one found here unless given."),
]


def trust(file: File = None, json: Json = False) -> None:
    """Accept a configuration as it is now, so that it is used where it is found.

    Columns: what the file runs, imports, sends and uses. A change of any of that is shown and asked for again.
    """
    document = read(_file(file))
    lines = effects(document)
    accept(document, os.environ)
    path = document.path.absolute()
    if json:
        print_document({"file": str(path), "trusted": True, "effects": lines})
        return
    for line in lines:
        print(visible(line))
    back = to_type("config untrust {}", str(path))
    note(f"{path} is accepted as it is now; `{back}` takes that back")


def untrust(file: File = None, json: Json = False) -> None:
    """Take the acceptance of a configuration back, and with it the secrets that it may use.

    A file that is no more can be named as well, and so can its folder.
    """
    path = _file(file)
    known, forget = [path], trust_of(os.environ).forget
    if file is not None and not path.exists():  # it may have been a folder
        known += [file / name for name in PROJECT_NAMES]
    taken = [one for one in known if forget(place_of(one))]
    path = taken[0] if taken else path
    if not taken:
        raise CliError(
            f"{path} was not accepted",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"`{to_type('config path')}` shows which file is found here",
        )
    if json:
        print_document({"file": str(path.absolute()), "trusted": False})
    else:
        note(f"{path.absolute()} is not used any more where it is found, nor may it use any secret")


def review(problem: NotAccepted) -> bool:
    """Show a person the file that was found and ask whether to use it; remember a yes. False where nobody can be asked."""
    if not (is_terminal(0) and is_terminal(2)):
        return False
    document = problem.document
    lines = [f"{document.path.absolute()}: {problem.what}. {_heading(problem)}", *problem.lines]
    # Nobody reads that many before saying yes; `config trust` prints them all.
    if len(lines) > _LINES:
        return False
    sys.stderr.write("\n  ".join(map(visible, lines)) + "\n")
    if document.path.is_symlink():
        sys.stderr.write(visible(f"  It is a link to {document.path.resolve()}\n"))
    sys.stderr.flush()
    if not typer.confirm("Use it, now and from now on?", default=False, err=True):
        return False
    accept(document, os.environ)
    return True


def refused(problem: NotAccepted) -> CliError:
    """The end of a command that found a file which is not accepted."""
    return CliError(
        str(problem.problems[0]).removesuffix(f"; {problem.instead}"),
        code="config_not_accepted",
        exit_code=Exit.DENIED,
        hint=problem.instead,
    )


def _heading(problem: NotAccepted) -> str:
    return "What is different:" if problem.changed else "It:"


def _file(file: Path | None) -> Path:
    """The named file, else the project's that is found here. Raises `CliError`."""
    if file is not None:
        return file / "mgp.toml" if file.is_dir() else file
    found = find()
    if not found:
        raise CliError(
            "there is no configuration here",
            code="not_found",
            exit_code=Exit.USAGE,
            hint=f"name the file: `{to_type('config trust FILE')}`",
        )
    return found[0]
