"""`Pinning`: checks definitions as servers list tools, by pins, poisoning signals and look-alike names; holds tools back; audits each step."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable, Collection, Generator, Mapping, Sequence
from itertools import takewhile
from typing import Literal

import msgspec

from gatewright.call import KERNEL, SHIPPED, Target, Tool
from gatewright.command_text import to_type
from gatewright.config import Settings
from gatewright.pins.batches import AT_ONCE, batches, is_large
from gatewright.pins.definition import Read, read_definition
from gatewright.pins.lookalike_tools import lookalikes
from gatewright.pins.poisoning import without_words
from gatewright.pins.recording import Record, write_down
from gatewright.pins.store import Pins, Seen, Standing
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.reserved_names import Reserved
from gatewright.storage.errors import StoreError
from gatewright.storage.run_each import run_each
from gatewright.storage.state import StateDatabase
from gatewright.transport.slices import begun, in_slices, whole

__all__ = ["Pinning", "Reading", "pinning_of"]

log = logging.getLogger("gatewright.pins")

_WHY: Mapping[Standing, str] = {
    "pinned": "",
    "changed": "its definition has changed since it was accepted",
    "new": "nobody has looked at its definition yet",
    "suspicious": "its definition must be looked at",
    "crowded": "its server has said more of its tools than is remembered; an operator can let it begin anew with `{}`",
}
_FEW, _TRIES = 100, 3  # tools that are judged anew in some milliseconds; tries with one server
_JUDGED_AT_ONCE, _AGAIN_AT_ONCE = 5, 20
Mode = Literal["first-use", "approve", "off"]


Reading = Callable[[str, Sequence[Tool]], Awaitable[Sequence[Read] | None]]
"""Reads the definitions of a server's tools beside the event loop; None where that cannot be done now."""


class _Judged(msgspec.Struct, frozen=True, gc=False):
    definition: Mapping[str, msgspec.Raw]
    why: str


class _Coming(msgspec.Struct, gc=False):
    tools: Sequence[Tool]
    alike: Mapping[str, str] | None = None
    """Which of their names look like another tool's; None where that was not looked at."""


class Pinning:
    """The pins of one gateway, judged when a server lists its tools, all at once. `version` changes whenever an answer may have
    changed, except with what a server lists: whoever takes a listing knows that everything may be different."""

    def __init__(
        self,
        store: Pins,
        record: Record,
        own: Collection[str] = (),
        beside: Reading | None = None,
    ) -> None:
        """`own` are the names of the gateway's own tools, as hosts see them. What is large is read `beside` the loop,
        where somebody does that."""
        self.version = 0
        self._own = own
        self._beside = beside
        self._read: dict[Target, tuple[Mapping[str, msgspec.Raw], Read]] = {}
        self.store = store
        self._record = record
        self._modes: Mapping[str, Mode] = {}
        self._off: frozenset[str] = frozenset()
        self._judged: dict[Target, _Judged] = {}
        self._shelves: dict[str, Sequence[Tool]] = {}
        self._told = ""
        self._looking = False
        """Whether what somebody decided is being looked at."""
        self._due = False
        """Whether another process has changed something that was not looked at to the end."""
        self._coming: dict[str, _Coming] = {}
        """Looked at ahead and not shelved yet, the first first."""
        self._left: set[str] = set()
        """Servers that the last configuration has no more; calls that began before may still ask about their tools."""

    def adopt(self, settings: Settings) -> None:
        """Go on with what a configuration says about each server."""
        modes = _modes(settings)
        self._off = frozenset(one.id for one in settings.servers if not one.enabled)
        for server in self._left.difference(modes):
            self._drop(server)
        self._left = set(self._modes).difference(modes)
        changed, self._modes = {one for one, _ in modes.items() ^ self._modes.items()}, modes
        if changed:
            self._again(changed)

    def _drop(self, server: str) -> None:
        """Nothing is known of the tools of a server any more but what the store has."""
        self._shelves.pop(server, None)
        self._coming.pop(server, None)
        self._keep_of(server, frozenset())

    def _keep_of(self, server: str, listed: Collection[Target]) -> None:
        """Of a server's tools these alone are known from now on."""
        for known in (self._judged, self._read):
            for target in [one for one in known if one.server == server and one not in listed]:
                del known[target]

    async def look_ahead(
        self, server: str, tools: Sequence[Tool], settings: Settings | None = None
    ) -> None:
        """Read and judge what a server lists before anybody sees it, so that nobody waits while that is done. `settings` are
        those to come, where the server is one of theirs. What fails here is judged, or refused, when it is asked for."""
        modes = self._modes if settings is None else _modes(settings)
        # Of a configuration that was not taken after all; without settings, one may be prepared just now.
        left = set(self._coming).difference(modes, self._modes) if settings else ()
        for other in left:
            del self._coming[other]
            self._keep_of(other, {tool.target for tool in self._shelves.get(other, ())})
        # Behind all others: what it listed before, and nobody has seen, is no reason to come first with something else.
        self._coming.pop(server, None)
        coming = self._coming[server] = _Coming(tools)
        try:
            if (mode := modes.get(server)) != "off":
                await self._read_ahead(server, tools)
            if mode is not None and mode != "off":
                await self._judge_ahead(server, coming, mode)
        except Exception:
            log.exception("server %s: its tools could not be looked at ahead", server)

    async def _read_ahead(self, server: str, tools: Sequence[Tool]) -> None:
        for batch in batches([tool for tool in tools if not self._has_read(tool)]):
            found = None
            if self._beside is not None and is_large(batch):
                found = await self._beside(server, batch)
            if found is None:
                await in_slices(self._reading(batch))
                continue
            for tool, read in zip(batch, found, strict=True):
                self._read[tool.target] = (tool.definition, read)

    async def _judge_ahead(self, server: str, coming: _Coming, mode: Mode) -> None:
        """Judge what nobody can see yet; a tool that is shown already is judged when its other definition is, by the names that are
        looked at here."""
        # Judged now, its entry would be of a definition that nobody sees yet, and each call of the present one judged anew.
        shown = {tool.target for tool in self._shelves.get(server, ())}
        unknown = [tool for tool in coming.tools if not self._knows(tool)]
        twins_of: Mapping[str, str] = {}
        if unknown:
            coming.alike = twins_of = await in_slices(self._alike(server, coming.tools))
        fresh = [tool for tool in unknown if tool.target not in shown]
        await in_slices(self.store.rooms.measured(server))
        await in_slices(self._judging(server, fresh, twins_of, mode))

    def _judging(
        self, server: str, tools: Sequence[Tool], alike: Mapping[str, str], mode: Mode
    ) -> Generator[None, None, None]:
        for few in batches(tools, AT_ONCE, _JUDGED_AT_ONCE):  # each is written to the disk
            self._take(server, few, alike, mode)
            yield

    def _reading(self, tools: Sequence[Tool]) -> Generator[None, None, None]:
        for tool in tools:
            self._read_of(tool)
            yield

    def _has_read(self, tool: Tool) -> bool:
        before = self._read.get(tool.target)
        return before is not None and before[0] is tool.definition

    def _read_of(self, tool: Tool) -> Read:
        before = self._read.get(tool.target)
        if before is None or before[0] is not tool.definition:
            before = tool.definition, read_definition(tool.target.name, tool.definition)
            self._read[tool.target] = before
        return before[1]

    def shelved(self, server: str, tools: Sequence[Tool]) -> None:
        """Judge what a server lists now. Raises `StoreError`."""
        self._shelves[server] = tools
        coming = self._coming.pop(server, None)
        self._keep_of(server, {tool.target for tool in tools})
        if self._modes.get(server, "off") != "off":
            # What others list since then counts these: the later one is the look-alike.
            ahead = coming.alike if coming is not None and coming.tools is tools else None
            self._judge(server, tools, ahead)

    def _judge(
        self, server: str, tools: Sequence[Tool], alike: Mapping[str, str] | None = None
    ) -> None:
        """`alike`: as it was found ahead."""
        fresh = [tool for tool in tools if not self._knows(tool)]
        if not fresh:
            return
        found = whole(self._alike(server, tools)) if alike is None else alike
        self._take(server, fresh, found, self._modes[server])

    def _take(
        self, server: str, fresh: Sequence[Tool], alike: Mapping[str, str], mode: Mode
    ) -> None:
        seen = {
            tool.target.name: _seen(tool, self._read_of(tool), alike.get(tool.target.name, ""))
            for tool in fresh
        }
        ask_first = mode == "approve"
        standing = self.store.judge(server, list(seen.values()), ask_first=ask_first)
        anew = to_type("server pin {} --forget", server)
        for tool in fresh:
            name = tool.target.name
            why = _WHY[standing[name]].format(anew)
            told = without_words(seen[name].why)
            why += f": {told}" if told and standing[name] in ("suspicious", "changed") else ""
            self._judged[tool.target] = _Judged(tool.definition, why)
        crowded = sum(standing[tool.target.name] == "crowded" for tool in fresh)
        if crowded:
            log.warning(
                "%s: %d of its tools %s held back: %s",
                server,
                crowded,
                "is" if crowded == 1 else "are",
                _WHY["crowded"].format(anew),
            )
        self._write_down()

    def _alike(self, server: str, tools: Sequence[Tool]) -> Generator[None, None, dict[str, str]]:
        """Name → why, of the tools of a server whose names look like another tool's, in steps."""
        # Of two that are looked at ahead at once the later one is the look-alike: else each would hold the other back.
        before = takewhile(lambda one: one[0] != server, self._coming.items())
        # Taken now: between two steps others are shelved.
        coming = ((other, one.tools) for other, one in before)
        others = [one for one in (*self._shelves.items(), *coming) if one[0] != server]
        return lookalikes(server, (*self._shelves.get(server, ()), *tools), self._own, others)

    def reserved(self) -> Reserved:
        """What the tools of all servers are called, and from now on kept here, for the next run. Raises `StoreError`."""
        return Reserved(self.store.names(), self._keep_names)

    def _keep_names(self, server: str, names: Collection[str]) -> None:
        if server in (KERNEL, SHIPPED):
            return
        try:
            self.store.keep_names(server, names)
        except StoreError:
            log.exception(
                "server %s: what its tools are called is not kept for the next start", server
            )

    def held(self, tool: Tool) -> str:
        """Why a tool is held back; empty where it is not."""
        judged = self._judged.get(tool.target)
        # By identity: the same object was judged, and comparing two definitions would cost each call their length.
        if judged is None or judged.definition is not tool.definition:
            if self._modes.get(tool.target.server, "off") == "off":
                return ""
            # Listed in a way that nobody judged ahead, or the store failed then: judged now, before anybody sees or calls it.
            self._judge(tool.target.server, [tool])
            judged = self._judged[tool.target]
        return judged.why

    def decided(self, server: str, tool: str, accepted: str = "") -> None:
        """An operator has decided on a tool in this process: what was `accepted`, the digest of its definition, counts at once. The next
        look tells of it, and judges whatever else may stand otherwise now, a few tools a step: whoever asks until then is a stranger."""
        target = Target(server, tool)
        judged, read = self._judged.get(target), self._read.get(target)
        # Where another one was read ahead since, which of the two was accepted is left to that look.
        definition = read[0] if read is not None and read[1].digest == accepted else None
        if judged is not None and judged.why and judged.definition is definition:
            self._judged[target] = _Judged(judged.definition, "")
            self.version += 1
        self.store.decided()

    def look(self, catalogue: Callable[[], Catalogue]) -> bool:
        """Notice what another process accepted, or had forgotten, with the names of what is not in the catalogue of then any more.
        Several times a second; of many tools in slices, each as it stood until it is judged anew. Raises `StoreError`."""
        self._due = self.store.changed() or self._due
        if not self._due or self._looking:
            return False
        if sum(map(len, self._shelves.values())) <= _FEW:
            whole(self._looked(catalogue))
        else:
            begun(self._looked_by_and_by(catalogue))
        return True

    def _looked(self, catalogue: Callable[[], Catalogue]) -> Generator[None, None, None]:
        self._due, self._looking = False, True
        try:
            try:
                yield from self._judged_again(None)
            finally:
                run_each(lambda: self._names_again(catalogue()), self._write_down)
        except BaseException:
            self._due = True
            raise
        finally:
            self._looking = False

    def _looked_by_and_by(self, catalogue: Callable[[], Catalogue]) -> Generator[None, None, None]:
        try:
            yield from self._looked(catalogue)
        except Exception as problem:
            if repr(problem) != self._told:  # once, and not four times a second
                log.exception(
                    "what operators decided about tools could not be followed; trying again"
                )
            self._told = repr(problem)
        else:
            self._told = ""

    def _names_again(self, catalogue: Catalogue) -> None:
        known = self.store.names()
        if catalogue.reserved.again(known, catalogue.named):
            catalogue.changed()

    def close(self) -> None:
        """Give the store back."""
        self.store.close()

    def _again(self, anew: Collection[str] | None = None) -> None:
        """Judge what is on the shelves once more: all, or that of some servers and what is held back, perhaps for what one of those has.
        Where all of it stands as before, nobody has to look again."""
        whole(self._judged_again(anew))

    def _judged_again(self, anew: Collection[str] | None) -> Generator[None, None, None]:
        before = {
            at: one.why
            for at, one in self._judged.items()
            if at.server not in self._left and (anew is None or at.server in anew or one.why)
        }
        due = set(before)
        try:
            for server in tuple(self._shelves):
                for _ in range(_TRIES):
                    if not (yield from self._server_again(server, due)):
                        break  # else it lists something else since: one that does all the time holds up no other
        finally:
            # What nobody could judge, or is switched off: what is asked about is judged then. Nobody judges for a server that has left.
            for at in due:
                if at.server not in self._left:
                    self._judged.pop(at, None)
            now = self._judged
            if any(at not in now or now[at].why != why for at, why in before.items()):
                self.version += 1

    def _server_again(self, server: str, due: set[Target]) -> Generator[None, None, bool]:
        """Judge what is due of a server, a few a step; True where it lists something else meanwhile."""
        tools = self._shelves.get(server, ())
        some = [tool for tool in tools if tool.target in due or not self._knows(tool)]
        twins_of = (yield from self._alike(server, tools)) if some and self._judges(server) else {}
        if self._shelves.get(server, ()) is not tools:
            return True
        for few in batches(some, AT_ONCE, _AGAIN_AT_ONCE):
            # One that is switched off is judged when it is back: what an operator had forgotten of it stays forgotten.
            if not self._judges(server):
                return False
            self._take(server, few, twins_of, self._modes[server])
            due.difference_update(tool.target for tool in few)
            yield
            if self._shelves.get(server, ()) is not tools:
                return True
        return False

    def _judges(self, server: str) -> bool:
        return server not in self._off and self._modes.get(server, "off") != "off"

    def _knows(self, tool: Tool) -> bool:
        judged = self._judged.get(tool.target)
        return judged is not None and judged.definition is tool.definition

    def _write_down(self) -> None:
        write_down(self.store, self._record)


def pinning_of(
    settings: Settings,
    state: StateDatabase,
    record: Record,
    own: Collection[str],
    beside: Reading,
) -> Pinning:
    """The pins in a state. Raises `StoreError`."""
    found = Pinning(Pins(state, clock=time.time), record, own, beside)
    found.adopt(settings)
    return found


def _seen(tool: Tool, read: Read, alike: str) -> Seen:
    why = "; ".join(one for one in (read.why, alike) if one)
    return Seen(tool.target.name, read.text, read.digest, why)


def _modes(settings: Settings) -> Mapping[str, Mode]:
    return {server.id: server.pin for server in settings.servers}
