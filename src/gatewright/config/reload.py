"""`Reloader`: polls the configuration files; on a change, or when told to (SIGHUP), applies a valid one, else keeps the old; reports, audits.

A file that cannot be used changes nothing: what runs goes on, one line says what to write, and the record
has it. So does a file that is gone, because that is rather a mishap than an order to stop everything.
What changed is said by key, never by value.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Hashable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol

from gatewright.command_text import to_type
from gatewright.config import Origin, Problem, Settings, SettingsError
from gatewright.config.changes import Change, changes, pinned, policy_version

__all__ = ["POLLED_S", "Reloader", "Source"]

POLLED_S = 0.5
"""How often the files are looked at. One that changed is read when it then stands still as long."""
_RESTLESS = 10
"""After so many looks it is read as it is: whoever may touch one file must not keep all others from being read."""

_KEYS_SAID = 4
_KEYS_RECORDED = 100

log = logging.getLogger("gatewright.reload")

Event = Callable[[str, Literal["success", "failure"], dict[str, Any]], None]


class Source(Protocol):
    """Where settings come from. Its methods may be called in any thread."""

    @property
    def used(self) -> Hashable:
        """The stamp from before the last `load`."""

    def load(self) -> Settings:
        """Read everything. Raises `SettingsError`."""

    def stamp(self) -> Hashable:
        """Differs from the one before where a file that counts may have changed."""

    def follows(self) -> Sequence[Sequence[Path]]:
        """The files, absolute, in groups: of each the first that is there counts."""


class Reloader:
    """`adopt` makes other settings those of the running gateway; `tell` says one line to whoever
    started it; `event` records."""

    def __init__(
        self,
        source: Source,
        running: Settings,
        adopt: Callable[[Settings], Awaitable[None]],
        *,
        tell: Callable[[str], None],
        event: Event,
        polled_s: float = POLLED_S,
    ) -> None:
        self._source = source
        self._read = self._running = running
        """What the files said when they were last usable, and what of that runs."""
        self._adopt = adopt
        self._tell = tell
        self._event = event
        self._polled_s = polled_s
        self._forced = asyncio.Event()
        self._broken = ""

    def force(self) -> None:
        """Read everything now, changed or not."""
        self._forced.set()

    async def follow(self) -> None:
        """For ever: one reload after the other."""
        seen, restless = self._source.used, 0
        while True:
            forced = await self._pause()
            try:
                stamp = await asyncio.to_thread(self._source.stamp)
                restless = restless + 1 if stamp != self._source.used else 0
                if forced or (restless and (stamp == seen or restless >= _RESTLESS)):
                    restless = 0
                    await self._reload(forced)
                seen = stamp
            except Exception:
                log.exception("the configuration could not be followed")
                self._tell("configuration not applied: internal error; the running one stays")

    async def _pause(self) -> bool:
        """Until it is time to look; True where we were told to."""
        try:
            async with asyncio.timeout(self._polled_s):
                await self._forced.wait()
        except TimeoutError:
            return False
        self._forced.clear()
        return True

    async def _reload(self, forced: bool) -> None:
        try:
            found = await asyncio.to_thread(self._source.load)
            self._check_present(found)
            wanted = pinned(self._running, found)
        except SettingsError as problem:
            self._refuse(problem, forced)
            return
        change = changes(self._read, found)
        if change.applied and not await self._adopted(wanted, forced):
            return
        former, self._running = self._running, wanted
        before, self._read = self._read, found
        mended, self._broken = bool(self._broken), ""
        if change or mended:
            self._say(change, former, mended)
        # Also where nothing else is new: a file that nobody accepted changes nothing but this.
        warned = self._warn(before)
        if forced and not (change or mended or warned):
            self._tell(f"configuration read again: nothing changed, policy {self._version}")

    async def _adopted(self, wanted: Settings, forced: bool) -> bool:
        """Go on with these settings; False where this gateway cannot."""
        try:
            await self._adopt(wanted)
        except SettingsError as problem:
            self._refuse(problem, forced)
            return False
        return True

    @property
    def _version(self) -> str:
        return policy_version(self._running)

    def _check_present(self, found: Settings) -> None:
        """Fewer files than before: one is gone, and nothing stands in its place. Of one that is there and does not count, a warning
        says so."""
        left_out = {one.origin.file.absolute() for one in found.warnings}
        gone = [
            path
            for path in self._read.files
            if path not in found.files and path.absolute() not in left_out
        ]
        if gone and len(found.files) < len(self._read.files):
            what, instead = "the file is gone", "put it back, or restart the gateway without it"
            raise SettingsError([Problem(Origin(gone[0]), "", what, instead)])

    # -- what is said

    def _refuse(self, problem: SettingsError, forced: bool) -> None:
        text = str(problem)
        if text == self._broken and not forced:
            return
        self._broken = text
        first, more = problem.problems[0], len(problem.problems) - 1
        others = f" (and {more} more: `{to_type('config check')}` lists them)" if more else ""
        line = " ".join(str(first).split())
        self._tell(f"configuration not applied, the running one stays: {line}{others}")
        places = [
            {"file": str(one.origin.file), "line": one.origin.line, "key": one.key}
            for one in problem.problems[:_KEYS_RECORDED]
        ]
        details = {"policy": self._version, "problems": places}
        self._event("dev.gatewright.config.refused", "failure", details)

    def _say(self, change: Change, former: Settings, mended: bool) -> None:
        what = _listed(change.applied) if change.applied else "nothing changed"
        if change.applied or mended:
            word = "usable again" if mended else "applied"
            self._tell(f"configuration {word}, policy {self._version}: {what}")
        if change.waiting:
            self._tell(f"configuration: restart to apply {self._placed(change.waiting)}")
        details = {
            "policy": self._version,
            "before": policy_version(former),
            "changed": list(change.applied[:_KEYS_RECORDED]),
            "restart_to_apply": list(change.waiting[:_KEYS_RECORDED]),
            "files": [str(path) for path in self._read.files],
        }
        self._event("dev.gatewright.config.applied", "success", details)

    def _warn(self, before: Settings) -> bool:
        """Say what is odd now and was not before; whether there is any."""
        said = False
        known = {str(problem) for problem in before.warnings}
        for problem in map(str, self._read.warnings):
            if problem not in known:
                self._tell(f"warning: {problem}")
                said = True
        for server in self._read.servers:
            if server.problem is not None and before.server(server.id) != server:
                self._tell(f"{server.id} stays down: {server.problem}")
                said = True
        return said

    def _placed(self, keys: Sequence[str]) -> str:
        """Keys with the place where they stand now."""
        origins = self._read.origins
        return _listed([f"{key} ({origins[key]})" if key in origins else key for key in keys])


def _listed(keys: Sequence[str]) -> str:
    more = len(keys) - _KEYS_SAID
    shown = ", ".join(keys[:_KEYS_SAID])
    return f"{shown} and {more} more" if more > 0 else shown
