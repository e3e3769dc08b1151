"""Finds the running gateway by `gateway.json`; gives a command its settings, URL and token; tells whether the gateway reloads a file.

A gateway writes `gateway.json` (mode 0600) into its state folder at start and removes it at its end.
Whoever can read that file owns the gateway, so the tokens in it need no further proof. One that was killed leaves it, and
anybody may have its port since: nothing is sent there unless its process is alive.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

import msgspec

from gatewright.cli.errors import CliError, Exit
from gatewright.command_text import to_type
from gatewright.config import Settings, SettingsError, load, state_directory
from gatewright.config.build import build
from gatewright.config.documents import is_there, read
from gatewright.config.lookup import groups, user_file
from gatewright.config.trust import NotAccepted, place_of, trust_of
from gatewright.hosts.local_agents import credential
from gatewright.storage.errors import StoreError
from gatewright.storage.pid_namespace import pid_namespace

__all__ = [
    "Endpoint",
    "Running",
    "alive",
    "endpoint",
    "read_announced",
    "read_running",
    "settings_here",
    "takes_over",
    "with_profile",
]


def _start() -> str:
    return f"start it with `{to_type('serve')}`, or name another one with --url and --key-file"


class Running(msgspec.Struct, frozen=True):
    """The content of `gateway.json`."""

    url: str
    pid: int
    operator_token: str
    local_token: str
    version: str
    console: str = ""
    """The URL of its web console without a path; empty where none is served."""
    clear_text: tuple[str, ...] = ()
    """Its addresses that others reach without TLS."""
    follows: tuple[tuple[str, ...], ...] | None = None
    """The files of its configuration, the first of each group that is there counts; None where nobody knows."""

    pid_namespace: str = ""
    """`storage.pid_namespace` of the gateway."""

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended, as far as can be told from here: not of one in a container whose state is shared."""
        here = self.pid_namespace in ("", pid_namespace())
        return here and not alive(self.pid)

    def uses(self, file: Path) -> bool | None:
        """Whether a change of this file is one of its configuration; None where nobody knows."""
        if self.follows is None:
            return None
        return any(_same(file, one) for one in self.files)

    @property
    def files(self) -> list[Path]:
        """The files that it reads, where they are there."""
        named = [[Path(one) for one in group] for group in self.follows or ()]
        counted = [next((one for one in group if is_there(one)), None) for group in named]
        return [one for one in counted if one is not None]


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
    anywhere: bool = False,
) -> Endpoint:
    """The gateway to speak to: the named one, else the one that runs here. `host` is which host of this machine
    speaks, where none speaks by a key. A file that was found and never accepted is as if it were not there, with `anywhere`
    also one that was accepted and has changed or been broken since.

    Raises `CliError` (exit code 4) where none is named and none runs.
    """
    if url is not None:
        return Endpoint(with_profile(url, profile), key or "")
    running = read_running(_state(config, anywhere=anywhere))
    own = running.operator_token if role == "operator" else running.local_token
    # Empty with `operators = "key"`: the gateway has made no operator token then.
    if not own and not key:
        raise CliError(
            'the configuration says operators = "key": this needs an operator\'s key',
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint="pass it in GATEWRIGHT_KEY",
        )
    shown = credential(own, host) if host else own
    return Endpoint(with_profile(running.url, profile), key or shown, running.pid)


def settings_here(config: Path | None) -> Settings:
    """The settings, for a command that needs little more than the state folder. A file of somebody else in the folder where
    the command is typed is left alone and keeps nobody from deciding."""
    return _loaded(config, anywhere=bool(os.environ.get("GATEWRIGHT_STATE")))


def _loaded(config: Path | None, *, anywhere: bool) -> Settings:
    """The settings; those of this user alone where a file was found that is somebody else's, with `anywhere` also where one
    was accepted and is not any more what it was."""
    try:
        return load(config)
    except SettingsError as problem:
        if config is None and _is_foreign(problem, anywhere=anywhere):
            return _own_settings()
        raise


def _is_foreign(problem: SettingsError, *, anywhere: bool) -> bool:
    """Whether all that is wrong is in files that were found here and, unless `anywhere`, never accepted. One that cannot even be
    read (`mcp.toml` is a name that others use too) is refused before acceptance is asked."""
    if isinstance(problem, NotAccepted):
        return anywhere or not problem.changed
    if os.environ.get("MGP_CONFIG_PATH"):
        return False
    found, *_ = groups()
    wrong = {one.origin.file for one in problem.problems}
    return wrong <= {*found} and (anywhere or not any(map(_was_accepted, wrong)))


def _was_accepted(file: Path) -> bool:
    try:
        return trust_of(os.environ).accepted(place_of(file)) is not None
    except StoreError:
        return True  # nobody knows: what is wrong is said


def _own_settings() -> Settings:
    """Those of this user where no project's file is found."""
    own = user_file(os.environ)
    return build([] if own is None else [read(own)], os.environ, state_directory(os.environ))


def _state(config: Path | None, *, anywhere: bool = False) -> Path:
    """The state folder. Where the environment names it no file is looked for."""
    if config is None and os.environ.get("GATEWRIGHT_STATE"):
        return state_directory(os.environ)
    return _loaded(config, anywhere=anywhere).storage.path


def read_running(state: Path) -> Running:
    """The gateway whose state folder this is. Raises `CliError` (exit code 4) where none runs, also where one has ended
    without removing its `gateway.json`."""
    running = read_announced(state)
    if running.is_gone:
        raise CliError(
            f"no gateway is running here: the one that wrote {state / 'gateway.json'} (process {running.pid}) is gone",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint=_start(),
        )
    return running


def read_announced(state: Path) -> Running:
    """What the last gateway with this state folder wrote, which may be gone. Raises `CliError` (exit code 4)."""
    path = state / "gateway.json"
    try:
        return msgspec.json.decode(path.read_bytes(), type=Running)
    except FileNotFoundError:
        raise CliError(
            f"no gateway is running here ({path} is not there)",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint=_start(),
        ) from None
    except (OSError, msgspec.DecodeError) as problem:
        raise CliError(
            f"{path} cannot be read: {problem}",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint=f"it belongs to the user who runs the gateway; restart `{to_type('serve')}`",
        ) from None


def alive(pid: int) -> bool:
    """Whether a process of this user is there. Root reaches the processes of all."""
    try:
        # Sends nothing: only whether it could be sent.
        os.kill(pid, 0)
    # Somebody else's has only taken the number: who may read `gateway.json` may signal its gateway. No system counts as far as
    # the last of these.
    except (ProcessLookupError, PermissionError, OverflowError):
        return False
    return True


def takes_over(file: Path, state: Path) -> str:
    """What the gateway that uses this state folder makes of a change of a file, said so that it is true: another
    gateway, or one that reads other files, takes nothing over."""
    later = f"`{to_type('serve', file=file)}` uses it"
    try:
        running = read_running(state)
    except CliError:
        return f"no gateway is running with the state folder {state}; {later}"
    used = running.uses(file)
    if used is None:
        return f"the gateway at {running.url} takes it over by itself if this is its file"
    if used:
        return f"the gateway at {running.url} takes it over by itself"
    files = ", ".join(map(str, running.files)) or "no file"
    if running.follows == (("-",),):
        files = "what it was given on standard input"
    return (
        f"the gateway that runs at {running.url} uses {files}; this file is another, so nothing "
        f"changes there; {later}"
    )


def _same(file: Path, other: Path) -> bool:
    """Whether both are one file, through links and relative paths as well."""
    try:
        return file.samefile(other)
    except OSError:
        return file.absolute() == other


def with_profile(url: str, profile: str | None) -> str:
    """The URL of a profile of the gateway at this one, whose query it keeps: a proxy may want it."""
    if not profile:
        return url
    way, sign, query = url.partition("#")[0].partition("?")
    return f"{way.rstrip('/')}/{profile}{sign}{query}"
