"""Who stands behind a command that only an operator may give.

Agents have shells too. Without a terminal such a command asks for an operator's key (`--key`), or for the
operator's token of the gateway that runs.
"""

from __future__ import annotations

import hmac
import os
import pwd
import time
from pathlib import Path

from gatewright.call import Caller
from gatewright.cli.output import CliError, Exit, is_terminal
from gatewright.cli.running import read_running
from gatewright.stores.callers import Callers

__all__ = ["LOCAL", "local_user", "operator", "require_operator"]

LOCAL = "local"
"""Whoever brings the token of the running gateway."""


def operator(callers: Callers, key: str | None, folder: Path, *, fresh: bool = False) -> str:
    """Who does this, for the record. `fresh` says that there is nothing yet that could be misused.

    Raises `CliError` (exit code 6) for an agent with a shell.
    """
    if key is not None:
        found = callers.verify(key)
        if isinstance(found, Caller) and found.kind == "operator":
            return found.id
        if _runs_gateway(folder, key):
            return LOCAL
        raise CliError(
            "this is not the key of an operator",
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint="make one at a terminal: gatewright key create NAME --operator",
        )
    if is_terminal(0) or fresh:
        return local_user()
    raise CliError(
        "without a terminal this needs an operator's key",
        code="permission_denied",
        exit_code=Exit.DENIED,
        hint="pass --key or GATEWRIGHT_KEY, or run it at a terminal",
    )


def local_user() -> str:
    """Whoever runs this process, as the system knows it: no variable of the environment says so. The colon tells it from
    every operator who has a key."""
    number = os.getuid()
    try:
        return f"{LOCAL}:{pwd.getpwuid(number).pw_name}"
    except KeyError:  # a container often has no name for its user
        return f"{LOCAL}:{number}"


def require_operator(folder: Path, key: str | None) -> str:
    """The same, by the keys in the state folder, which is made where there is none."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    callers = Callers(folder / "keys.db", clock=time.time, random=os.urandom)
    try:
        return operator(callers, key, folder)
    finally:
        callers.close()


def _runs_gateway(folder: Path, token: str) -> bool:
    """Whether it is the operator's token of the gateway that runs here."""
    try:
        running = read_running(folder)
    except CliError:
        return False
    return hmac.compare_digest(running.operator_token.encode(), token.encode(errors="replace"))
