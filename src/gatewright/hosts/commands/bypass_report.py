"""Finds servers in a host's files that bypass the gateway; reports them as text or JSON with the `connect` or `import` command to move each.

Names in these files are somebody else's words: they are shown on one line, short, and with secrets masked.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import msgspec
import typer

from gatewright.cli.errors import CliError
from gatewright.cli.global_options import KEY_FILE
from gatewright.cli.output import one_line
from gatewright.cli.running import read_running
from gatewright.command_text import line_to_type, to_type
from gatewright.config import Settings, is_loopback
from gatewright.config.documents import is_there
from gatewright.hosts.commands.host_files import places, records
from gatewright.hosts.commands.import_sources import further_of, places_of
from gatewright.hosts.entry_splices import Step
from gatewright.hosts.further_places import further_beside
from gatewright.hosts.host_table import Host
from gatewright.hosts.model import CannotRead
from gatewright.hosts.other_servers import Beside, beside
from gatewright.hosts.whole_file import Unreadable, read_text
from gatewright.secret_scanning.credentials import mask

__all__ = [
    "UNSAYABLE",
    "Left",
    "command",
    "command_of",
    "elsewhere",
    "left_beside",
    "listed",
    "local_urls",
    "own_urls",
]

_SHOWN = 12
_LONG = 80
_ASIDE = {
    "off": "switched off there, and beside the gateway once switched on",
    "gateway": "leads to a gateway as well, whose rules hold for it",
    "unknown": "this file cannot be read, so nobody can say which servers in it go past the gateway",
}
UNSAYABLE = "switch it off in the host; `mgp.toml` has no words for it, as said above"
_NOT_AGAIN = {"config", "hosts", "dry_run", "json", "print_", "take_over"}


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """What stands beside our entries in the files of one host. `ways` are what moves it out of a file, where that is
    not what `connect` without further words would do."""

    host: Host
    found: Sequence[tuple[Path, Beside]]
    ways: Mapping[Path, str] = {}
    further: Collection[Path] = ()
    """Files that `connect` edits never, whose servers are imported by path."""

    def documents(self) -> list[dict[str, Any]]:
        """For `--json`: what is not governed, and the command that moves it."""
        return [
            {
                "name": mask(one.name)[:_LONG],
                "file": str(file),
                "folder": one.folder,
                "state": one.state,
                "move": "" if one.state == "unknown" else self.way(file, one),
            }
            for file, one in self.found
            if one.state != "gateway"
        ]

    def messages(self) -> Iterator[str]:
        """What to know, and the command to run."""
        title = self.host.title
        for (file, way), some in self.ungoverned().items():
            stay = "1 server stays" if len(some) == 1 else f"{len(some)} servers stay"
            what = "its grants, approvals and record do not hold there"
            yield f"{title}: {stay} beside the gateway, and {what}: {listed(some)} ({file})"
            yield f"  behind the gateway: {way}"
        for state, says in _ASIDE.items():
            for file in dict.fromkeys(file for file, _ in self.found):
                some = [one for path, one in self.found if path == file and one.state == state]
                if some:
                    names = "" if state == "unknown" else f": {listed(some)}"
                    yield f"{title}: {says}{names} ({file})"

    def ungoverned(self) -> dict[tuple[Path, str], list[Beside]]:
        """What is on, by file and by what moves it."""
        found: dict[tuple[Path, str], list[Beside]] = {}
        for file, one in self.found:
            if one.state == "on":
                found.setdefault((file, self.way(file, one)), []).append(one)
        return found

    def way(self, file: Path, one: Beside) -> str:
        """What moves an entry. `--take-over` moves those of the file that `connect` edits, and no others."""
        host = self.host
        imports = f"{to_type('import {}', str(file))} # then take it out of {host.title}"
        if file in self.further:
            return imports
        if not one.folder and file in self.ways:
            return self.ways[file]
        if not one.folder and file == places(host, project=False)[0]:
            return to_type("connect {} --take-over", host.id)
        if host.project and file not in places_of(host):
            folder = file.parents[len(Path(host.project).parts) - 1]
            go = "" if folder == Path.cwd() else f"cd {shlex.quote(str(folder))} && "
            return go + to_type("connect {} --project --take-over", host.id)
        return imports


def left_beside(
    host: Host,
    urls: Collection[str],
    written: Mapping[Path, tuple[str, Collection[str]]],
    ways: Mapping[Path, str],
) -> Left:
    """Everything beside the gateway in every file of a host. `written` are files as they are now, or will be: the text and
    the names of our entries in it."""
    found = []
    projects = _projects(Path.cwd())
    own = dict.fromkeys([*written, *places_of(host), *_project_files(host, projects)])
    for file in own:
        text, ours = written[file] if file in written else (_text(file), _ours(host, file))
        some = (
            [Beside(name="", state="unknown")] if text is None else beside(host, text, ours, urls)
        )
        found += [(file, one) for one in some]
    further = [one for one in further_of(host, projects) if one.file not in own]
    for place in further:
        found += [(place.file, one) for one in further_beside(host, place, urls)]
    files = frozenset(one.file for one in further)
    return Left(host=host, found=found, ways=ways, further=files)


def elsewhere(url: str) -> str:
    """Why no command here moves servers behind the gateway at `url`; empty if it is on this machine."""
    if is_loopback(urlsplit(url).hostname or ""):
        return ""
    return f"nothing here does; whoever runs {url} can add them there"


def _projects(here: Path) -> list[Path]:
    """This folder and those above it, up to the root of its repository."""
    above = [here, *here.parents]
    # Without a repository only this folder: nobody knows whose the folders above it are.
    root = next((n for n, one in enumerate(above) if is_there(one / ".git", plain=False)), 0)
    return above[: root + 1]


def _project_files(host: Host, projects: Sequence[Path]) -> list[Path]:
    """The project's file of a host in each of these folders."""
    user = set(places_of(host))
    files = [one / host.project for one in projects if host.project]
    return [file for file in files if file not in user]


def own_urls(settings: Settings) -> list[str]:
    """Where the gateway of these settings is, or would be, in the ways to write it on this machine."""
    try:
        url = read_running(settings.storage.path).url
    except CliError:
        url = f"http://127.0.0.1:{settings.gateway.port}/mcp" if settings.gateway.port else ""
    return local_urls(url)


def local_urls(url: str) -> list[str]:
    """The ways to write a gateway's URL on its own machine."""
    if not url:
        return []
    port = urlsplit(url).port
    here = (f"http://{name}:{port}/mcp" for name in ("127.0.0.1", "localhost", "[::1]"))
    return [url, *here]


def command_of(host: Host, step: Step, *, project: bool) -> str:
    """The command line that made an entry of ours, as far as the entry says it, with `--take-over`."""
    words = [host.id, *(["--project"] if project else [])]
    words += [] if step.name == "gatewright" else ["--name", step.name]
    args = step.entry.get(host.local.args or host.local.command, [])
    if host.remote is not None and (url := step.entry.get(host.remote.url)):
        words += ["--url", str(url)]
    elif isinstance(args, list) and "bridge" in args:
        stdio = [] if host.remote is None else ["--stdio"]
        more = [*map(str, args[args.index("bridge") + 1 :])]
        if "--as" in more:  # `connect` says itself which host it is
            del more[more.index("--as") : more.index("--as") + 2]
        words += [*stdio, *more]
    # The entry had a key, which is not repeated: it is asked for.
    if any(said in str(step.entry) for said in ("Authorization", "GATEWRIGHT_KEY")):
        words += ["--key", "-"]
    return line_to_type("connect", *words, "--take-over")


def command(context: typer.Context) -> str:
    """The command line that is running, with `--take-over`; a key that stood in it is read from standard input."""
    words = [*context.params["hosts"]]
    for param in context.command.params:
        name, value = param.name or "", context.params.get(param.name or "")
        # The line is shown: what was typed as the key must not be in it.
        if name == "key" and value is not None:
            file = context.meta.get(KEY_FILE)
            words += ["--key", "-"] if file is None else ["--key-file", file]
            continue
        if name in _NOT_AGAIN or value is None or value == param.get_default(context, call=True):
            continue
        option = max(param.opts, key=len)
        words += [option] if value is True else [option, str(value)]
    return line_to_type("connect", *words, "--take-over")


def listed(entries: Sequence[Beside]) -> str:
    """Names, as many as anybody reads."""
    shown = [_shown(one) for one in entries[:_SHOWN]]
    more = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")


def _shown(one: Beside) -> str:
    folder = f" in {one_line(one.folder)[:_LONG]}" if one.folder else ""
    return one_line(mask(one.name))[:_LONG] + folder


def _ours(host: Host, file: Path) -> list[str]:
    return [step.name for step in records().find(host.id, file).steps]


def _text(file: Path) -> str | None:
    """The text of a file, empty where there is none; None where it cannot be read."""
    try:
        return read_text(file) or ""
    except (CannotRead, Unreadable):
        return None
