"""Builds the entry by which a host reaches the gateway: URL or `gatewright bridge`, chosen here; checks entry name, profile and use of keys.

The bridge runs as the same user and finds the running gateway and its local token by itself, so with it
no key has to be written into anybody's file. It is chosen where a host reaches no URL, and where a URL
would need a key that was not given.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

import msgspec

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.running import read_running, with_profile
from gatewright.command_text import to_type
from gatewright.config import Settings, load, state_directory
from gatewright.hosts.entries import local_entry, remote_entry
from gatewright.hosts.host_table import HOSTS, Host
from gatewright.patterns import Pattern
from gatewright.servers.names import BUDGET

__all__ = ["Told", "Way", "Wish", "check_name", "tell"]

Way = Literal["http", "bridge"]

_NAME = Pattern(r"[A-Za-z][A-Za-z0-9_-]{0,63}")
_LOCAL = {"0.0.0.0": "127.0.0.1", "::": "::1", "": "127.0.0.1"}  # noqa: S104 - where to reach it


class Wish(msgspec.Struct, frozen=True, kw_only=True):
    """What the command line asked for."""

    name: str
    profile: str | None = None
    url: str | None = None
    key: str | None = None
    key_env: str | None = None
    stdio: bool = False
    project: bool = False
    config: Path | None = None

    def __repr__(self) -> str:
        """Without the key: a repr ends in logs."""
        return f"Wish(name={self.name!r})"


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """An entry as a host spells it, and what the person should know about it."""

    entry: dict[str, Any]
    way: Way
    remarks: tuple[str, ...] = ()


def check_name(host: Host, name: str) -> None:
    """Raise `CliError` for a name that leaves too little of a tool's name in this host."""
    if not _NAME.fullmatch(name):
        raise _usage(
            f"{name!r} is no name for an entry",
            "letters, digits, `_` and `-`, a letter first",
        )
    room = host.tool_chars(name)
    if room < BUDGET:
        most = len(name) - (BUDGET - room)
        raise _usage(
            f"in {host.title} the name {name!r} leaves {room} characters for the name of a tool,"
            f" and ours have up to {BUDGET}",
            f"a name of at most {most} characters: --name gatewright",
        )


def tell(host: Host, wish: Wish, settings: Settings) -> Told:
    """The entry for this host. Raises `CliError`."""
    check_name(host, wish.name)
    _check_profile(wish, settings)
    if wish.url and not _is_web(wish.url):
        raise _usage(f"{wish.url} is no URL of a gateway", "e.g. http://127.0.0.1:8420/mcp")
    by_url = _by_url(host, wish, settings)
    # Committed with the project, and read by everybody who has it.
    if wish.key and wish.project:
        raise _usage(
            "a project's file is shared, and a key does not belong into it",
            "name a variable that holds it: --key-env GATEWRIGHT_KEY"
            if by_url
            else "leave it out: a bridge on the gateway's machine needs none, another reads GATEWRIGHT_KEY of the host",
        )
    return (_by_http if by_url else _by_bridge)(host, wish, settings)


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in {"http", "https"} and bool(parts.hostname) and parts.port != 0
    except ValueError:  # half an IPv6 address, or a port that is no number
        return False


def _by_url(host: Host, wish: Wish, settings: Settings) -> bool:
    if wish.stdio or host.remote is None:
        return False
    if wish.url or wish.key or wish.key_env:
        return True
    return settings.gateway.anonymous == "allow" and settings.gateway.port != 0


def _by_http(host: Host, wish: Wish, settings: Settings) -> Told:
    url = with_profile(wish.url or _address(settings), wish.profile)
    try:
        entry = remote_entry(host, wish.name, url, key=wish.key or "", variable=wish.key_env or "")
    except ValueError as problem:
        known = ", ".join(one.id for one in HOSTS.values() if _takes_variable(one))
        raise _usage(str(problem), f"these do: {known}; or use --stdio") from None
    remarks = [f"set {wish.key_env} in the environment of the host"] if wish.key_env else []
    if wish.url and not wish.key and not wish.key_env:
        remarks.append(
            f"if that gateway asks for a key: `{to_type('key create NAME')}` there, then --key here"
        )
    elif not wish.key and not wish.key_env:
        remarks.append(
            "it comes as `anonymous`, as whoever else reaches that URL does; as an agent of its own:"
            f" `{to_type('connect {} --stdio', host.id)}`, or `{to_type('key create {}', host.id)}`, then --key"
        )
    return Told(entry=entry, way="http", remarks=tuple(remarks))


def _by_bridge(host: Host, wish: Wish, settings: Settings) -> Told:
    if wish.key_env:
        raise _usage(
            "a bridge reads its key from GATEWRIGHT_KEY",
            "leave --key-env out; a bridge to the gateway of this machine needs no key",
        )
    command = [*_program(), "bridge"]
    # Only the local token can carry a host's name (decision 0047); a key says by itself who comes.
    if not wish.url and not wish.key:
        command += ["--as", host.id]
    env: dict[str, str] = {}
    if wish.profile:
        command += ["--profile", wish.profile]
    if wish.url:
        command += ["--url", wish.url]
    else:
        more, env = _same_state(wish, settings)
        command += more
    if wish.key:
        env["GATEWRIGHT_KEY"] = wish.key
    remarks = []
    if host.remote is not None and not wish.stdio:
        remarks.append(
            f"the gateway wants a key, so the host starts `{to_type('bridge')}`, which needs none;"
            f" for the URL: `{to_type('key create NAME')}`, then --key"
        )
    return Told(
        entry=local_entry(host, wish.name, command, env), way="bridge", remarks=tuple(remarks)
    )


def _same_state(wish: Wish, settings: Settings) -> tuple[list[str], dict[str, str]]:
    """Arguments and environment with which a bridge, started anywhere, finds this gateway."""
    # What the bridge will find when a host starts it, which does not have the variables of this shell.
    plain = {name: value for name, value in os.environ.items() if name != "GATEWRIGHT_STATE"}
    file = next(iter(settings.files), wish.config)
    if file is None:
        named = os.environ.get("GATEWRIGHT_STATE")
        return [], {"GATEWRIGHT_STATE": str(settings.storage.path)} if named else {}
    config = file.absolute()
    alone = load(config, environ=plain).storage.path if config.exists() else state_directory(plain)
    env = {} if alone == settings.storage.path else {"GATEWRIGHT_STATE": str(settings.storage.path)}
    return ["--config", str(config)], env


def _program() -> list[str]:
    """Our own command by its absolute path: hosts start programs with another PATH than a shell has. Python looks for
    modules in the folder that it is started in, which may be anybody's project, unless -P forbids it."""
    python = Path(sys.executable).absolute()
    script = python.with_name("gatewright.exe" if sys.platform == "win32" else "gatewright")
    return [str(script)] if script.is_file() else [str(python), "-P", "-m", "gatewright"]


def _address(settings: Settings) -> str:
    """The URL of the gateway that runs, else of the one that would."""
    gateway = settings.gateway
    # Also while one runs: after its next start the entry would lead to whoever has that port by then.
    if gateway.port == 0:
        raise _usage(
            "the gateway takes a free port at every start",
            "write a port into [gateway], or use --stdio: a bridge finds it anywhere",
        )
    try:
        return read_running(settings.storage.path).url
    except CliError:
        host = _LOCAL.get(gateway.host, gateway.host)
        return f"http://{f'[{host}]' if ':' in host else host}:{gateway.port}/mcp"


def _check_profile(wish: Wish, settings: Settings) -> None:
    if wish.profile and not wish.url and wish.profile not in settings.profiles:
        known = ", ".join(sorted(settings.profiles)) or "there are none"
        raise _usage(f"no profile {wish.profile!r} in the configuration", f"profiles: {known}")


def _takes_variable(host: Host) -> bool:
    return host.remote is not None and bool(host.remote.variable or host.remote.bearer_variable)


def _usage(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)
