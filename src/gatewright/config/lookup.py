"""Finds and loads the configuration (option, variable, project, user, stdin), refuses unaccepted project files; locates the state folder.

`--config` alone; else `$MGP_CONFIG_PATH` alone; else the project's file over the user's. The
project's file is looked for from the working directory up to the root of its repository and no
further. It was found and not named, so it counts only once it was accepted (`trust`); and so does what a relative
`$MGP_CONFIG_PATH` leads to, which is another file in each folder.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import platformdirs

from gatewright.config.api import is_url
from gatewright.config.build import build, with_form
from gatewright.config.documents import MAX_BYTES, Document, is_there, parse, read
from gatewright.config.gh_aw_form import is_form, read_form
from gatewright.config.model import Server, Settings
from gatewright.config.own_places import own_places, user_files
from gatewright.config.problems import NotOfFile, Origin, Problem, SettingsError
from gatewright.config.trust import NotAccepted, check_accepted, is_taken_back

__all__ = [
    "PROJECT_NAMES",
    "STDIN",
    "candidates",
    "find",
    "given",
    "groups",
    "load",
    "state_directory",
    "user_file",
]

STDIN = Path("-")
"""`--config -`: what stands on standard input."""

PROJECT_NAMES = ("mgp.toml", "mcp.toml")
"""How a configuration in a project's folder is called."""


def load(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
    kept: dict[Path, Document] | None = None,
    again: bool = False,
) -> Settings:
    """Read and check the configuration. No file at all is fine: then everything is a default.

    Raises `SettingsError`, which names file, line, key and what to write instead; `NotAccepted` where a project's file
    was found that the user did not accept. Those that are accepted are put into `kept`; where it is read `again`, another is a
    warning: it counts as it was kept, or not at all. So does one beside the user's own that cannot be read or has errors.
    Once its acceptance is taken back, what was kept of a file counts no longer.
    """
    variables = os.environ if environ is None else environ
    if config == STDIN:
        # One byte more tells a text that is too long.
        return given(sys.stdin.buffer.read(MAX_BYTES + 1), variables)
    paths, ignored = find(config, environ=variables, cwd=cwd), list[Problem]()
    former = kept if again and kept is not None else None
    # A file that was named is used; one that was found, or named relative to wherever this runs, has to be accepted.
    if config is None and not Path(variables.get("MGP_CONFIG_PATH", "")).is_absolute():
        read_now, ignored = _accepted(paths, variables, former)
    else:
        read_now = [read(path) for path in paths]
    settings, documents, flawed = _built(read_now, variables, former)
    accepted = {one.path: one.accepted for one in documents if one.accepted is not None}
    if kept is not None:
        kept |= {one.path: one for one in documents if one.path in accepted}
    servers = tuple(_as_accepted(one, accepted) for one in settings.servers)
    warnings = (*settings.warnings, *ignored, *flawed)
    places = candidates(config, environ=variables, cwd=cwd)
    return msgspec.structs.replace(
        settings,
        servers=servers,
        accepted=accepted,
        warnings=warnings,
        own=own_places(variables, state_directory(variables), places, cwd),
    )


def _built(
    documents: Sequence[Document],
    variables: Mapping[str, str],
    kept: Mapping[Path, Document] | None,
) -> tuple[Settings, Sequence[Document], list[Problem]]:
    """The settings, of which documents they are, and why not of others: with `kept`, an accepted one beside the user's own in which
    something is wrong counts as it did last. Raises `SettingsError`."""
    state = state_directory(variables)
    try:
        return build(documents, variables, state), documents, []
    except SettingsError as problem:
        wrong = {one.origin.file for one in problem.problems}
        flawed = [one for one in documents if one.accepted is not None and one.path in wrong]
        if kept is None or not 0 < len(flawed) < len(documents):
            raise
        # Nobody's file keeps a user's own from being read again.
        others = [kept.get(one.path) if one in flawed else one for one in documents]
        documents = [one for one in others if one is not None]
        try:
            settings = build(documents, variables, state)
        except SettingsError:
            raise problem from None
        return settings, documents, [_ignored(problem, len(documents) == len(others))]


def _accepted(
    paths: Sequence[Path],
    variables: Mapping[str, str],
    kept: Mapping[Path, Document] | None,
) -> tuple[list[Document], list[Problem]]:
    """Those that count, each with what was accepted with it, and why what was found does not. Raises `SettingsError` for a user's
    own, and without `kept`; for the only one, which is accepted, where it cannot be read."""
    own, found, ignored = {*user_files(variables)}, list[Document](), list[Problem]()
    for path in paths:
        try:
            document = read(path)
            if path not in own:
                # What it names is read again by `build`, and may be another file by then.
                digests = check_accepted(document, variables)
                document = msgspec.structs.replace(document, accepted=digests)
            found.append(document)
        except SettingsError as problem:
            if kept is None or path in own:
                raise
            back = is_taken_back(path, variables)
            if len(paths) == 1 and not back and not isinstance(problem, NotAccepted):
                raise
            # Nobody's file keeps a user's own from being read again.
            counts = path in kept and not back
            ignored.append(_ignored(problem, counts))
            found += [kept[path]] if counts else []
    return found, ignored


def _ignored(problem: SettingsError, counts: bool) -> Problem:
    first = problem.problems[0]
    what, instead = first.what, first.instead
    if isinstance(problem, NotAccepted):
        what, instead = problem.what, problem.instead
    said = "what was accepted before counts" if counts else "it does not count"
    return Problem(first.origin, "", f"{what}: {said}", instead)


def _as_accepted(server: Server, accepted: Mapping[Path, Mapping[str, str]]) -> Server:
    """A server whose document is believed as it was accepted, and not as it stands there when it is read again."""
    digests = accepted.get(server.origin.file)
    if digests is None or not server.openapi or is_url(server.openapi):
        return server
    return msgspec.structs.replace(server, accepted=digests.get(server.openapi, "not accepted"))


def given(content: bytes, variables: Mapping[str, str]) -> Settings:
    """The configuration that a program hands over: TOML, or the form of `gh_aw_form`. Nobody reads
    warnings there, so what is not defined or not known at the top is an error. Raises `SettingsError`.
    """
    if len(content) > MAX_BYTES:
        raise _wrong(f"the configuration has more than {MAX_BYTES} bytes", "send less")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise _wrong("this is not UTF-8", "send UTF-8") from None
    state = state_directory(variables)
    document, form = read_form(text, STDIN) if is_form(text) else (parse(text, STDIN), None)
    settings = build([document], variables, state)
    errors = [server.problem for server in settings.servers if server.problem is not None]
    errors += [one for one in settings.warnings if one.key in document.data]
    if errors:
        raise SettingsError(errors)
    return settings if form is None else with_form(settings, form, variables)


def find(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> list[Path]:
    """The files that count, highest first."""
    variables = os.environ if environ is None else environ
    if config is not None:
        return [config]
    if named := variables.get("MGP_CONFIG_PATH"):
        path = Path(named)
        if not is_there(path, plain=False):
            problem = Problem(
                Origin(path), "MGP_CONFIG_PATH", "there is no such file", "correct or unset it"
            )
            raise NotOfFile([problem])
        return [path]
    project = next(_project(Path.cwd() if cwd is None else cwd), None)
    return [path for path in (project, user_file(variables)) if path is not None]


def user_file(environ: Mapping[str, str]) -> Path | None:
    """The user's own file, which counts in every folder; None where there is none."""
    return next((path for path in user_files(environ) if is_there(path)), None)


def candidates(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> list[Path]:
    """The files that count where they are there."""
    return [path for group in groups(config, environ=environ, cwd=cwd) for path in group]


def groups(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> list[list[Path]]:
    """The same in groups: of each the first file that is there counts, and no other."""
    variables = os.environ if environ is None else environ
    if config is not None:
        return [[config]]
    if named := variables.get("MGP_CONFIG_PATH"):
        return [[Path(named)]]
    places = _project_places(Path.cwd() if cwd is None else cwd)
    return [[path for path, _ in places], [*user_files(variables)]]


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where the gateway keeps its state unless the file says otherwise; absolute. Raises `SettingsError` for a relative
    `GATEWRIGHT_STATE`: it would be another folder wherever a command runs, and a stranger's in a stranger's folder."""
    named = environ.get("GATEWRIGHT_STATE")
    found = Path(named) if named else platformdirs.user_state_path("gatewright")
    if named and not found.is_absolute():
        what = f"GATEWRIGHT_STATE is relative: {named}"
        raise _wrong(what, f"write the whole path, e.g. {found.absolute()}")
    return found.absolute()


def _wrong(what: str, instead: str) -> SettingsError:
    return SettingsError([Problem(Origin(STDIN), "", what, instead)])


def _project(start: Path) -> Iterator[Path]:
    for path, foreign in _project_places(start):
        if is_there(path):
            if foreign:
                _check_owner(path)
            yield path


def _project_places(start: Path) -> Iterator[tuple[Path, bool]]:
    """Where the project's file may be, the nearest first, and whether that is above `start`."""
    here = start.absolute()
    above = [here, *here.parents]
    # Without a repository no folder above is looked at: it may be anybody's (`/tmp`).
    root = next(
        (n for n, directory in enumerate(above) if is_there(directory / ".git", plain=False)), 0
    )
    for directory in above[: root + 1]:
        for name in PROJECT_NAMES:
            yield directory / name, directory != here


def _check_owner(path: Path) -> None:
    """A file above the working directory must be ours: it names programs that will be started."""
    getuid = getattr(os, "getuid", None)
    try:
        owner = path.stat().st_uid
    except OSError as why:  # whose it is has to be known before it is read
        what = f"cannot be read: {why.strerror}"
        raise SettingsError([Problem(Origin(path), "", what, "check the path")]) from None
    if getuid is not None and owner not in {0, getuid()}:
        problem = Problem(
            Origin(path), "", "the file belongs to somebody else", f"pass --config {path} to use it"
        )
        raise NotOfFile([problem])
