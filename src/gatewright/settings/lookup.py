"""Where configuration is looked for (MGP §15.2, decision C-18), and `load`, which reads it.

`--config` alone; else `$MGP_CONFIG_PATH` alone; else the project's file over the user's. The
project's file is looked for from the working directory up to the root of its repository and no
further: a file that somebody else left in a directory above must not start programs here.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec
import platformdirs

from gatewright.settings.build import build
from gatewright.settings.documents import read
from gatewright.settings.model import Settings, Storage
from gatewright.settings.problems import Origin, Problem, SettingsError

__all__ = ["find", "load", "state_directory"]

_PROJECT_NAMES = ("mgp.toml", "mcp.toml")


def load(
    config: Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> Settings:
    """Read and check the configuration. No file at all is fine: then everything is a default.

    Raises `SettingsError`, which names file, line, key and what to write instead.
    """
    variables = os.environ if environ is None else environ
    documents = [read(path) for path in find(config, environ=variables, cwd=cwd)]
    state = state_directory(variables)
    settings = build(documents, variables, state)
    if variables.get("GATEWRIGHT_STATE"):
        settings = msgspec.structs.replace(settings, storage=Storage(path=state))
    return settings


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
        if not path.exists():
            problem = Problem(
                Origin(path), "MGP_CONFIG_PATH", "there is no such file", "correct or unset it"
            )
            raise SettingsError([problem])
        return [path]
    project = next(_project(Path.cwd() if cwd is None else cwd), None)
    user = next((path for path in _user(variables) if path.is_file()), None)
    return [path for path in (project, user) if path is not None]


def state_directory(environ: Mapping[str, str]) -> Path:
    """Where the gateway keeps its state unless the file says otherwise; absolute."""
    named = environ.get("GATEWRIGHT_STATE")
    found = Path(named) if named else platformdirs.user_state_path("gatewright")
    return found.absolute()


def _project(start: Path) -> Iterator[Path]:
    here = start.absolute()
    above = [here, *here.parents]
    root = next((n for n, directory in enumerate(above) if (directory / ".git").exists()), 0)
    for directory in above[: root + 1]:
        for name in _PROJECT_NAMES:
            path = directory / name
            if path.is_file():
                if directory != here:
                    _check_owner(path)
                yield path


def _check_owner(path: Path) -> None:
    """A file above the working directory must be ours: it names programs that will be started."""
    getuid = getattr(os, "getuid", None)
    if getuid is not None and path.stat().st_uid not in {0, getuid()}:
        problem = Problem(
            Origin(path), "", "the file belongs to somebody else", f"pass --config {path} to use it"
        )
        raise SettingsError([problem])


def _user(environ: Mapping[str, str]) -> Iterator[Path]:
    home = environ.get("HOME")
    yield (Path(home) if home else Path.home()) / ".config" / "mgp" / "servers.toml"
    yield platformdirs.user_config_path("mgp") / "servers.toml"
