"""Runs the gateway as a process over HTTP or stdio: event loop, reload of changed configuration (also SIGHUP), rarer garbage collection."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any

from gatewright.app.announce import Ready
from gatewright.app.gateway import Gateway
from gatewright.app.signals import on_hangup, stop_signal
from gatewright.config import Settings
from gatewright.config.reload import Reloader, Source
from gatewright.servers.local import LocalServer

__all__ = ["collecting_rarely", "run"]


def run(  # noqa: PLR0913 - one argument for each thing that who starts it has
    settings: Settings,
    *,
    stdio: bool = False,
    profile: str = "",
    host: str = "",
    on_ready: Callable[[Ready], None] = lambda _: None,
    local: Sequence[LocalServer] = (),
    source: Source | None = None,
    tell: Callable[[str], None] = lambda _: None,
    handed: Sequence[object] = (),
) -> None:
    """Run the gateway until it is told to stop (SIGTERM, SIGINT, or the host of `stdio` closing). `host` is the
    name under which that host is an agent (`hosts.local_agents`); without one it is `local`.

    It follows what changes in `source`, at once on SIGHUP, and says so to `tell`. `handed`: see `feature.Ground`.
    Raises `StoreError` where the state folder cannot be used and `OSError` where the port is taken.
    """

    async def main() -> None:
        # Before anything is opened or started: what a signal would leave behind then is nothing.
        stop, hung_up = stop_signal(), _Hangup(source is not None)
        follows = () if source is None else source.follows()
        made = Gateway(settings, local, follows, handed=handed)
        async with made as gateway, _following(gateway, source, tell, hung_up):
            with collecting_rarely():
                if stdio:
                    await gateway.serve_stdio(profile, host, stop)
                else:
                    await gateway.serve_http(on_ready, stop)

    _runner()(main())


_COLLECT_AFTER = 20_000


@contextlib.contextmanager
def collecting_rarely() -> Iterator[None]:
    """Look for cycles after 20,000 new objects, not 700, and never among those that the start left, to the end of the process.

    A few calls at once are more objects than 700, though calls leave no cycles: every burst of them had all young objects
    looked through for nothing, and now and then all objects, which held up every call for 26 ms. Python looks through all once
    more when it ends, which was most of what a stop cost.
    """
    before = gc.get_threshold()
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)


class _Hangup:
    """SIGHUP, from before there is anything that could be read again: one that comes while the gateway starts is heeded then."""

    def __init__(self, follows: bool) -> None:
        self._act: Callable[[], None] | None = None
        self._early = False
        if follows:
            on_hangup(self._told)

    def _told(self) -> None:
        if self._act is None:
            self._early = True
        else:
            self._act()

    def then(self, act: Callable[[], None]) -> None:
        """From now on this is done, at once where it was wished for already."""
        self._act = act
        if self._early:
            act()


@contextlib.asynccontextmanager
async def _following(
    gateway: Gateway, source: Source | None, tell: Callable[[str], None], hung_up: _Hangup
) -> AsyncIterator[None]:
    if source is None:
        yield
        return
    reloader = Reloader(
        source, gateway.settings, gateway.adopt, tell=tell, event=gateway.events.own
    )
    hung_up.then(reloader.force)
    following = asyncio.create_task(reloader.follow())
    try:
        yield
    finally:
        following.cancel()
        await asyncio.wait([following])


def _runner() -> Callable[[Any], None]:
    try:
        import uvloop  # noqa: PLC0415 - not there on every platform
    except ImportError:
        return asyncio.run
    return uvloop.run
