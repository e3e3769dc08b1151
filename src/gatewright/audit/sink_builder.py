"""Builds the configured audit sinks and loads their positions; opens each on first delivery; registers their secrets for redaction."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from gatewright.audit.expiry import Expiry
from gatewright.audit.formats import chooser, writer
from gatewright.audit.sinks import Sink, SinkFailed, SinkPositions, Sinks
from gatewright.audit.sinks.file import FileSink
from gatewright.audit.sinks.filtered import AlertSink, FilteredSink
from gatewright.audit.sinks.http import HttpSink
from gatewright.audit.sinks.mgp import MgpSink, Tell
from gatewright.audit.sinks.postgres import PostgresSink
from gatewright.audit.sinks.sqlite import SqliteSink
from gatewright.audit.sinks.syslog import SyslogSink
from gatewright.config import Settings
from gatewright.config.oversight import AuditSink
from gatewright.config.secrets import open_secrets
from gatewright.config.substitute import Sources, Undefined, substitute
from gatewright.secret_scanning import HELD
from gatewright.secret_scanning.held import passwords_in
from gatewright.secret_scanning.names import is_secret_name

__all__ = ["Inform", "positions_of", "sinks_of"]

Inform = Callable[[str, Sequence[dict[str, Any]]], bool]
"""`inform(server, events)`: False where the server is not there, or did not negotiate `audit`."""


def positions_of(settings: Settings) -> SinkPositions:
    """How far the sinks have come. Raises `OSError`."""
    return SinkPositions(settings.storage.path, [one.name for one in settings.audit.sinks])


def sinks_of(
    settings: Settings,
    positions: SinkPositions,
    inform: Inform,
    clock: Callable[[], float] = time.time,
) -> Sinks:
    """The sinks, not started. `inform` tells an audit server, in the loop that runs now; `clock` says what is old.

    A sink that misses a variable says so at each try.
    """
    place = settings.storage.path
    secrets = settings.secrets
    sources = Sources(
        os.environ,
        lambda: open_secrets(place, secrets.store, key_file=secrets.key_file),
        store=place,
    )
    made: dict[str, Sink] = {}
    for sink in settings.audit.sinks:
        if sink.type == "mgp":
            made[sink.name] = MgpSink(sink.server, _across(inform))
        else:
            # Sinks of this prefix were made from Groundhog's tables, and stand in the file that has those.
            table = "mcp.protocol" if sink.name.startswith("groundhog-") else "audit.sinks"
            file = settings.file_of(table)
            # `${file:…}` is meant from where it was written, as in all other tables: what was accepted is what stands there.
            folder = file.absolute().parent if settings.files else place
            believed = sources.of(file, settings.accepted.get(file))
            made[sink.name] = _Later(partial(_made, settings, sink, believed, folder, clock))
    return Sinks(place, made, positions)


def _across(inform: Inform) -> Tell:
    """`inform` for callers in other event loops: it runs in the loop that runs now."""
    home = asyncio.get_running_loop()

    async def tell(server: str, events: Sequence[dict[str, Any]]) -> bool:
        async def here() -> bool:
            return inform(server, events)

        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(here(), home))

    return tell


class _Later:
    """A sink that is made when it is first needed, so that a secret that is missing stops nothing else."""

    def __init__(self, make: Callable[[], Sink]) -> None:
        self._make = make
        self._made: Sink | None = None

    async def deliver(self, lines: Sequence[bytes]) -> None:
        """As the sink does."""
        if self._made is None:
            try:
                self._made = self._make()
            except Undefined as problem:
                raise SinkFailed(f"{problem.what}: {problem.instead}") from None
        await self._made.deliver(lines)

    async def close(self) -> None:
        """As the sink does."""
        if self._made is not None:
            await self._made.close()


def _made(
    settings: Settings,
    sink: AuditSink,
    sources: Sources,
    folder: Path,
    clock: Callable[[], float],
) -> Sink:
    def text(value: str) -> str:
        found = substitute(value, sources, folder)
        HELD.hold(f"sink {sink.name}", passwords_in(found))
        return found

    put = writer(sink.format, settings.gateway.name)
    found = _placed(settings, sink, text, put, Expiry(sink.retention_days, clock))
    return found if not sink.classes else FilteredSink(found, chooser(sink.classes))


def _placed(
    settings: Settings,
    sink: AuditSink,
    text: Callable[[str], str],
    put: Callable[[bytes], bytes],
    expiry: Expiry,
) -> Sink:
    if sink.type == "file":
        path = settings.storage.path / Path(text(sink.path)).expanduser()
        return FileSink(
            path,
            put,
            rotate_bytes=sink.rotate_bytes,
            rotate_s=sink.rotate_s,
            keep=sink.keep_files,
        )
    if sink.type == "http":
        headers = {name: text(value) for name, value in sink.headers.items()}
        # Behind `Bearer ` or `Basic `: the credential is the secret, with whatever scheme it is repeated.
        secret = [one.rpartition(" ")[2] for name, one in headers.items() if is_secret_name(name)]
        HELD.hold(f"sink {sink.name}", secret)
        return HttpSink(text(sink.url), put, headers=headers, events=sink.format == "cloudevents")
    if sink.type == "syslog":
        return SyslogSink(text(sink.address), put)
    if sink.type == "sqlite":
        path = settings.storage.path / Path(text(sink.path)).expanduser()
        return SqliteSink(path, put, expiry)
    if sink.type == "alert":
        hook = HttpSink(text(sink.url), put, headers={}, events=False) if sink.url else None
        return AlertSink(put, hook)
    return PostgresSink(text(sink.dsn), sink.table, put, expiry)
