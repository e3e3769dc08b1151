"""Which host and file a command edits: host by name, its files (no linked project file), kept records; errors of files as `CliError`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from gatewright.cli.errors import CliError, Exit
from gatewright.command_text import to_type
from gatewright.config import state_directory
from gatewright.hosts.commands.import_sources import places_of
from gatewright.hosts.host_table import HOSTS, Host, find_host
from gatewright.hosts.model import CannotRead
from gatewright.hosts.records import Records
from gatewright.hosts.whole_file import CannotEdit, Unreadable
from gatewright.schemas.nearest import closest

__all__ = ["edited", "host_ids", "known_host", "linked", "places", "records"]


def host_ids(incomplete: str) -> list[str]:
    """Hosts, for completion."""
    return [id for id in HOSTS if id.startswith(incomplete)]


def known_host(name: str) -> Host:
    """The host of that name. Raises `CliError` with those there are."""
    host = find_host(name)
    if host is None:
        near = closest(name, HOSTS)
        raise CliError(
            f"no host is called {name!r}",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"did you mean {' or '.join(near)}?" if near else f"hosts: {', '.join(HOSTS)}",
        )
    return host


def records() -> Records:
    """Where it is remembered what was done."""
    return Records(state_directory(os.environ) / "hosts")


def places(host: Host, *, project: bool) -> list[Path]:
    """Where the host's file may be, the place to use first. Raises `CliError`, also for a project's file that leads
    somewhere else."""
    if project:
        if not host.project:
            raise CliError(
                f"{host.title} has no file for a project",
                code="usage",
                exit_code=Exit.USAGE,
                hint="leave --project out; its servers are the user's",
            )
        file = Path.cwd() / host.project
        if what := linked(file, Path.cwd()):
            raise CliError(
                f"{what}; nothing was read or written",
                code="host_file",
                exit_code=Exit.PROBLEMS,
                hint="put a plain file of this project there, or leave --project out",
            )
        return [file]
    return sorted(places_of(host), key=lambda file: (not file.exists(), not file.parent.exists()))


def linked(file: Path, project: Path) -> str:
    """Why the file of a project in this folder is another one; empty where it is its own. It came with the project: through a
    link in it something else would be read, shown and changed."""
    # The folder itself, the last of them, may be a link: the person chose to stand in it.
    below = [one for one in (file, *file.parents) if one.is_relative_to(project)]
    link = next((one for one in below[:-1] if one.is_symlink()), None)
    if link is not None:
        return f"{link} is a link to {os.path.realpath(link)}"
    # Git makes no hard links: whoever made one may want another file to be shown or changed under this name.
    if file.is_file() and file.stat().st_nlink > 1:
        return f"{file} is a hard link: another name of a file that may not belong to this project"
    return ""


@contextmanager
def edited(host: Host, file: Path) -> Iterator[None]:
    """What can be wrong with a host's file, as an error of a command that names it."""
    try:
        yield
    except (CannotRead, Unreadable, CannotEdit) as problem:
        what = problem.what if isinstance(problem, CannotRead) else f"{file}: {problem}"
        raise CliError(
            f"{what}; nothing was written",
            code="host_file",
            exit_code=Exit.PROBLEMS,
            hint=f"correct the file, or add the entry by hand: {to_type('connect {} --print', host.id)}",
        ) from None
