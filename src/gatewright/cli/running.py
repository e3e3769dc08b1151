"""Where the running gateway is, and with which token a command may speak to it.

A gateway writes `gateway.json` (mode 0600) into its state folder at start and removes it at its end.
Whoever can read that file owns the gateway, so the tokens in it need no further proof.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from gatewright.cli.output import CliError, Exit
from gatewright.configs.local_agents import credential
from gatewright.settings import load

__all__ = ["Endpoint", "Running", "endpoint", "read_running"]

_START = "start it with `gatewright serve`, or name another one with --url and --key"


class Running(msgspec.Struct, frozen=True):
    """The content of `gateway.json`."""

    url: str
    pid: int
    operator_token: str
    local_token: str
    version: str


class Endpoint(msgspec.Struct, frozen=True):
    """A URL to send MCP to, and the bearer token for it; empty where there is none."""

    url: str
    token: str = ""
    pid: int | None = None

    def __repr__(self) -> str:
        """Without the token: a repr ends in logs."""
        return f"Endpoint(url={self.url!r})"


def endpoint(
    config: Path | None = None,
    *,
    url: str | None = None,
    key: str | None = None,
    profile: str | None = None,
    role: Literal["local", "operator"] = "local",
    host: str = "",
) -> Endpoint:
    """The gateway to speak to: the named one, else the one that runs here. `host` is which host of this machine
    speaks, where none speaks by a key.

    Raises `CliError` (exit code 4) where none is named and none runs.
    """
    if url is not None:
        return Endpoint(_with_profile(url, profile), key or "")
    running = read_running(load(config).storage.path)
    own = running.operator_token if role == "operator" else running.local_token
    if not own and not key:
        raise CliError(
            'the configuration says operators = "key": this needs an operator\'s key',
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint="pass it in GATEWRIGHT_KEY",
        )
    shown = credential(own, host) if host else own
    return Endpoint(_with_profile(running.url, profile), key or shown, running.pid)


def read_running(state: Path) -> Running:
    """The gateway whose state folder this is. Raises `CliError` (exit code 4) where none runs."""
    path = state / "gateway.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Running)
    except FileNotFoundError:
        raise CliError(
            f"no gateway is running here ({path} is not there)",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint=_START,
        ) from None
    except (OSError, msgspec.DecodeError) as problem:
        raise CliError(
            f"{path} cannot be read: {problem}",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint="it belongs to the user who runs the gateway; restart `gatewright serve`",
        ) from None


def _with_profile(url: str, profile: str | None) -> str:
    return url if not profile else f"{url.rstrip('/')}/{profile}"
