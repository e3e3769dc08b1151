"""Resolves arguments of `gatewright import` (file, host, URL, stdin, none) to bytes; fetches URLs (public https unless `--private`).

Without an argument only files of the user are looked for. A project's file came with the project, and
whoever wrote it would choose what runs here: it is named, and imported when it is asked for by path.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

import msgspec

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.output import note
from gatewright.command_text import to_type
from gatewright.hosts.further_places import Place as FurtherPlace
from gatewright.hosts.further_places import further_places
from gatewright.hosts.host_table import HOSTS, Host, Platform, find_host, user_files
from gatewright.hosts.model import CannotRead
from gatewright.hosts.read import Place
from gatewright.hosts.whole_file import MAX_BYTES, read_bytes, too_large

__all__ = ["Found", "fetch", "find_sources", "further_of", "places_of", "source_file"]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """One source: bytes, or why there are none."""

    content: bytes = b""
    place: Place
    problem: CannotRead | None = None


def find_sources(words: list[str], bundles: str, *, private: bool) -> list[Found]:
    """Everything that the words of the command line name. Raises `CliError` for a word that names nothing."""
    if not words:
        found = [one for host in HOSTS.values() for one in _of_host(host, bundles)]
        _tell_project_files()
        if not found:
            raise CliError(
                "no host's configuration was found",
                code="not_found",
                exit_code=Exit.USAGE,
                hint=f"name a file, a URL or one of {', '.join(HOSTS)}",
            )
        return found
    return [one for word in words for one in _of_word(word, bundles, private=private)]


def fetch(url: str, *, private: bool) -> bytes:
    """A document from a URL: https, no redirect, public addresses only unless `private`."""
    from gatewright.transport.safe_fetch import Egress, EgressFailed  # noqa: PLC0415 - 150 ms, for URLs alone

    if not private and not url.startswith("https://"):
        raise CannotRead("unreachable", "only https is fetched", "--private allows http as well")
    try:
        status, content = asyncio.run(Egress().ask(url, outside=not private))
    except (EgressFailed, ValueError) as problem:
        raise CannotRead("unreachable", str(problem), "check the URL, or download it") from None
    if status != 200:
        raise CannotRead("unreachable", f"the answer has status {status}", "check the URL")
    return content


def _of_word(word: str, bundles: str, *, private: bool) -> Iterator[Found]:
    if word.startswith(("https://", "http://")):
        # A query may carry a signature or a token, and this text is shown and written into mgp.toml.
        shown = word.partition("?")[0].partition("#")[0]
        place = Place(file=shown, bundles=bundles)
        try:
            yield Found(content=fetch(word, private=private), place=place)
        except CannotRead as problem:
            yield Found(place=place, problem=problem)
        return
    if word == "-":
        content, place = sys.stdin.buffer.read(MAX_BYTES + 1), Place(file="-", bundles=bundles)
        if len(content) > MAX_BYTES:
            yield Found(place=place, problem=too_large("standard input"))
        else:
            yield Found(content=content, place=place)
        return
    host = find_host(word)
    # A file that is called like a host is the file: there is no other way to name it.
    if host is None or Path(word).is_file():
        yield source_file(Path(word), bundles)
        return
    found = list(_of_host(host, bundles))
    if not found:
        places = ", ".join(map(str, places_of(host)))
        raise CliError(
            f"{host.title} keeps no servers here: there is no {places}",
            code="not_found",
            exit_code=Exit.USAGE,
            hint="name the file, if it is elsewhere",
        )
    yield from found


def places_of(host: Host) -> list[Path]:
    """Where a host keeps its servers on this machine, be the files there or not."""
    found = user_files(host, home=str(Path.home()), environ=os.environ, platform=_platform())
    return [Path(one) for one in found]


def further_of(host: Host, projects: Collection[Path]) -> list[FurtherPlace]:
    """Other files on this machine, and in these folders of projects, in which a host finds servers."""
    home, environ = str(Path.home()), os.environ
    return further_places(host, home=home, environ=environ, platform=_platform(), projects=projects)


def _platform() -> Platform:
    if sys.platform in {"darwin", "win32"}:
        return "darwin" if sys.platform == "darwin" else "win32"
    return "linux"


def _of_host(host: Host, bundles: str) -> Iterator[Found]:
    """The files of a host that are there."""
    for path in places_of(host):
        if path.exists():
            yield _read(path, Place(file=str(path), host=host.id, bundles=bundles))


def source_file(path: Path, bundles: str) -> Found:
    """A file by its path."""
    whole = path.absolute()
    known = (host.id for host in HOSTS.values() if whole in places_of(host))
    place = Place(
        file=str(whole), host=next(known, ""), workspace=_workspace(whole), bundles=bundles
    )
    return _read(whole, place)


def _read(path: Path, place: Place) -> Found:
    try:
        return Found(content=read_bytes(path), place=place)
    except CannotRead as problem:
        return Found(place=place, problem=problem)


def _workspace(path: Path) -> str | None:
    """The folder of the project whose file this is, by the place where hosts look for one."""
    for host in HOSTS.values():
        below = Path(host.project).parts
        if below and path.parts[-len(below) :] == below:
            root = path.parents[len(below) - 1]
            # In the home folder it is the user's own file, which belongs to no project.
            return None if root == Path.home() else str(root)
    return None


def _tell_project_files() -> None:
    for name in dict.fromkeys(host.project for host in HOSTS.values() if host.project):
        if Path(name).is_file():
            note(
                f"not read: {name} belongs to this project; `{to_type('import {}', name)}` reads it"
            )
