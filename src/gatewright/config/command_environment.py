"""`typed_for`: how commands are to be typed to reach this gateway from any terminal: program, state variable, `--config`.

A person who is told to run `gatewright approve ID` has another working directory and another environment than the gateway. Without what
stands here that command would look into the queue of another gateway and say that nothing waits.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from gatewright.command_text import STATE, VARIABLES, Typed, program
from gatewright.config.build import is_loopback
from gatewright.config.lookup import STDIN, find, state_directory
from gatewright.config.model import Settings
from gatewright.config.problems import SettingsError

__all__ = ["typed_for"]


def typed_for(settings: Settings, environ: Mapping[str, str]) -> Typed:
    """How commands are typed that concern a gateway with these settings. `environ` is that of the gateway. The variable goes over
    every file, so that it does not matter where it is typed."""
    folder = settings.storage.path
    plain = {name: value for name, value in environ.items() if name not in VARIABLES}
    variables = ""
    if folder != state_directory(plain):
        variables = f"{STATE}={shlex.quote(str(folder))} "
    files = [one.absolute() for one in settings.files if one != STDIN]
    elsewhere = bool(files) and files != _everywhere(plain)
    others = settings.protocol.transport.host if settings.protocol is not None else "localhost"
    alone = is_loopback(settings.gateway.host) and is_loopback(others)
    file = str(files[0]) if elsewhere else ""
    return Typed(program(), variables, file, always=False, local=alone)


def _everywhere(environ: Mapping[str, str]) -> list[Path]:
    """The files that count in a folder that has none of its own."""
    try:
        return [one.absolute() for one in find(environ=environ, cwd=Path("/"))]
    except SettingsError:
        return []
