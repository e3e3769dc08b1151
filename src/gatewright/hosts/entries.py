"""Builds one server's entry in the keys of a given host: remote (URL, token or the variable that holds it) or local (command, arguments, env)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gatewright.hosts.host_table import Host

__all__ = ["local_entry", "remote_entry"]


def remote_entry(
    host: Host, name: str, url: str, *, key: str = "", variable: str = ""
) -> dict[str, Any]:
    """A server reached at `url`, with `key` as its bearer token, or with that of a `variable`.

    Raises `ValueError` for a host that reaches none, or that takes no variable.
    """
    remote = host.remote
    if remote is None:
        raise ValueError(f"{host.title} starts programs only; it reaches no URL")
    entry = {**_begin(host, name, remote.fixed), remote.url: url}
    if variable and remote.bearer_variable:
        entry[remote.bearer_variable] = variable
    elif variable and not remote.variable:
        raise ValueError(f"{host.title} takes no environment variable in a header")
    elif variable or key:
        token = remote.variable.format(variable) if variable else key
        headers: Any = {"Authorization": f"Bearer {token}"}
        for part in reversed(remote.headers):
            headers = {part: headers}
        entry |= headers
    return entry


def local_entry(
    host: Host, name: str, command: Sequence[str], env: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """A server that the host starts: program and arguments."""
    local = host.local
    entry = _begin(host, name, local.fixed)
    if local.args:
        entry |= {local.command: command[0], local.args: list(command[1:])}
    else:
        entry[local.command] = list(command)
    if env:
        entry[local.env] = dict(env)
    return entry


def _begin(host: Host, name: str, fixed: Mapping[str, Any]) -> dict[str, Any]:
    return {**({"name": name} if host.named else {}), **fixed}
