"""Our commands as a person types them here: by a name or path that their shell finds, for the same configuration.

A command that is shown is copied. Where the gateway was started as `.venv/bin/gatewright serve --config FILE`, as `make serve`
does, a plain `gatewright tool list` is no program, or another one, and reads another configuration.
"""

from __future__ import annotations

import shlex
import shutil
import sys
from pathlib import Path

__all__ = ["option", "program"]


def program() -> str:
    """Our program: `gatewright` where that leads to it, else its path, from the folder that we are in if it is below."""
    python = Path(sys.executable).absolute()
    script = python.with_name("gatewright.exe" if sys.platform == "win32" else "gatewright")
    if not script.is_file():
        return f"{_from_here(python)} -m gatewright"
    found = shutil.which("gatewright")
    return "gatewright" if found and script.samefile(found) else _from_here(script)


def option(config: Path | None) -> str:
    """What stands behind a command so that it reads the configuration which this one was told; empty without one."""
    return "" if config is None else f" --config {shlex.quote(str(config))}"


def _from_here(path: Path) -> str:
    here = Path.cwd()
    return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))
