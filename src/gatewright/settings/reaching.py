"""How `gatewright` is typed at any terminal of this machine so that it reaches the state folder of these settings.

Whoever is told to run `gatewright approve ID` has another working directory and another environment than the gateway. Without what
stands here that command would look into the queue of another gateway and say that nothing waits.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping

from gatewright.settings.lookup import state_directory
from gatewright.settings.model import Settings

__all__ = ["command"]

_OWN = "GATEWRIGHT_STATE"


def command(settings: Settings, environ: Mapping[str, str]) -> str:
    """`gatewright` with what has to stand before it; a command follows. `environ` is that of the gateway. The variable goes over
    every file, so that it does not matter where it is typed."""
    folder = settings.storage.path
    plain = {name: value for name, value in environ.items() if name != _OWN}
    if folder == state_directory(plain):
        return "gatewright"
    return f"{_OWN}={shlex.quote(str(folder))} gatewright"
