"""Authenticates the operator behind a command: by API key, the terminal's user or the running gateway's operator token.

The last two count only where the configuration does not say `operators = "key"`.

What that keeps out. A terminal keeps out programs that have none and did not look for one. It is no boundary: any program of the
same user can make itself a terminal, and can read and write the state folder without any command of ours. The
boundary is the operating system's, between users: run the gateway as a user whom no agent runs as, so that agents reach it
over HTTP alone, and let operators show keys that agents cannot read (docs/identity.md).
"""

from __future__ import annotations

import hmac
import os
import pwd
import time
from pathlib import Path

from gatewright.call import Caller
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.output import is_terminal
from gatewright.cli.running import read_running
from gatewright.cli.state_access import opened, seen
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.identity.keys import KeyStore

__all__ = ["LOCAL", "keys_alone", "local_user", "operator", "require_caller", "require_operator"]

LOCAL = "local"
"""Whoever brings the token of the running gateway."""


def operator(
    callers: KeyStore,
    key: str | None,
    folder: Path,
    *,
    fresh: bool = False,
    only_keys: bool = False,
) -> str:
    """Who does this, for the record. `fresh` says that there is nothing yet that could be misused; `only_keys`, that
    neither the user of this terminal nor the token of the running gateway is enough.

    Raises `CliError` (exit code 6) for everybody else.
    """
    return _proved(callers, key, folder, fresh=fresh, only_keys=only_keys).id


def _proved(
    callers: KeyStore, key: str | None, folder: Path, *, fresh: bool = False, only_keys: bool
) -> Caller:
    """As `operator`, with the id of the key that was shown."""
    if key is not None:
        found = callers.verify(key)
        if isinstance(found, Caller) and found.kind == "operator":
            return found
        if not only_keys and _runs_gateway(folder, key):
            return Caller(LOCAL, "operator")
        raise CliError(
            "this is not the key of an operator",
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint=f"make one at a terminal: {to_type('key create NAME --operator')}",
        )
    if fresh or (is_terminal(0) and not only_keys):
        return Caller(local_user(), "operator")
    why = 'the configuration says operators = "key"' if only_keys else "without a terminal"
    raise CliError(
        f"{why}: this needs an operator's key",
        code="permission_denied",
        exit_code=Exit.DENIED,
        hint="pass it in GATEWRIGHT_KEY"
        + ("" if only_keys else ", or run the command at a terminal"),
    )


def local_user() -> str:
    """Whoever runs this process, as the system knows it: no variable of the environment says so. The colon tells it from
    every operator who has a key."""
    number = os.getuid()
    try:
        return f"{LOCAL}:{pwd.getpwuid(number).pw_name}"
    except KeyError:  # a container often has no name for its user
        return f"{LOCAL}:{number}"


def require_operator(settings: Settings, key: str | None, *, as_found: bool = False) -> str:
    """The operator (see `operator`) by the keys in the state folder, which is made where there is none; `as_found` only reads it."""
    return require_caller(settings, key, as_found=as_found).id


def require_caller(settings: Settings, key: str | None, *, as_found: bool = False) -> Caller:
    """The same, with the id of the key that was shown, for what counts by it."""
    folder = settings.storage.path
    with (seen if as_found else opened)(folder) as state:
        callers = KeyStore(state, clock=time.time, random=os.urandom)
        who = _proved(callers, key, folder, only_keys=keys_alone(settings))
        if not as_found:
            callers.save_last_used()
    return who


def keys_alone(settings: Settings) -> bool:
    """Whether an operator's key is the only proof of an operator (`[gateway] operators = "key"`)."""
    return settings.gateway.operators == "key"


def _runs_gateway(folder: Path, token: str) -> bool:
    """Whether it is the operator's token of the gateway that runs here."""
    try:
        running = read_running(folder)
    except CliError:
        return False
    # In constant time, and never for an empty one: with `operators = "key"` the gateway's own token is empty.
    return bool(token) and hmac.compare_digest(
        running.operator_token.encode(), token.encode(errors="replace")
    )
