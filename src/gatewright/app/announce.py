"""Writes `gateway.json` (address, tokens, mode 0600) while the gateway runs; `Ready`: what a started gateway reports (URLs, server states)."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from gatewright import __version__
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.status import Status
from gatewright.storage.pid_namespace import pid_namespace
from gatewright.storage.private_file import replace_file

__all__ = ["Ready", "announced", "with_servers"]


class Ready(msgspec.Struct, frozen=True):
    """The gateway serves: its endpoint, all URLs by name, the state of each server, and why it is so
    where it is not connected."""

    url: str
    urls: Mapping[str, str]
    servers: Mapping[str, str]
    reasons: Mapping[str, str] = {}


def with_servers(ready: Ready, status: Iterable[Status]) -> Ready:
    """The same with the state of each server, and the reasons of those that are not connected."""
    every = tuple(status)
    states = {one.id: str(one.state) for one in every}
    reasons = {one.id: one.reason for one in every if one.reason}
    return replace(ready, servers=states, reasons=reasons)


@contextlib.contextmanager
def announced(
    state: Path,
    ready: Ready,
    tokens: Mapping[str, str],
    *,
    clear_text: Sequence[str] = (),
    follows: Sequence[Sequence[Path]] = (),
) -> Iterator[None]:
    """While inside, the command line finds this gateway and may speak to it, with the tokens of the
    `operator` and of the `local` host. `clear_text` are addresses that others reach without TLS. `follows` are the files of
    its configuration, the first of each group that is there counts."""
    path = state / "gateway.json"
    body = {
        "url": ready.url,
        "pid": os.getpid(),
        "operator_token": tokens["operator"],
        "local_token": tokens["local"],
        "version": __version__,
        "console": ready.urls.get("console", "").partition("/open#")[
            0
        ],  # the token is for one reader
        "clear_text": list(clear_text),
        "follows": [[str(path) for path in group] for group in follows],
        "pid_namespace": pid_namespace(),
    }
    replace_file(path, jsonrpc.encode(body))
    try:
        yield
    finally:
        with contextlib.suppress(FileNotFoundError):
            path.unlink()
