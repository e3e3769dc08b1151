"""`Pins`: each tool's accepted and latest definition in the state database, bounded: judges listings; accept, refuse, forget; audit outbox.

Theory. A tool is approved by its definition: the model reads it, and a server that changes it later changes what
was approved. So the whole definition is kept when a tool is first seen (`pinned`), and whatever says anything else
afterwards is held back until an operator has looked at the difference and accepted it. A tool that is suspicious
from the start, or any new one of a server whose tools an operator wants to see first, is held back as well.

A server may change names and definitions without end, so what is remembered of one server has a bound. Nothing is
forgotten to make room, or a server could push out what was pinned; what does not fit is held back instead, until an
operator forgets that server's tools.

Kept in the state database, so that a restart is no second first time. The gateway writes what it sees;
`gatewright server pin` accepts, in a process of its own. Each step leaves a row in `pin_changes` until the gateway
has put it into the audit trail.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from gatewright.pins.room import Rooms
from gatewright.storage.changes import Changes
from gatewright.storage.migrations import upsert
from gatewright.storage.state import StateDatabase

__all__ = [
    "MOST_BYTES",
    "MOST_TOOLS",
    "Held",
    "Pin",
    "PinChange",
    "Pins",
    "Seen",
    "Standing",
]

Standing = Literal["pinned", "changed", "new", "suspicious", "crowded"]
"""`pinned` may be used. `changed`: it says something else than what was pinned. `new`: an operator wants to see it
first. `suspicious`: something in its definition must be looked at. `crowded`: there is no room to remember what it
says; no row has it."""

MOST_TOOLS = 100_000
"""So many tools of one server are remembered; one list has no more."""
MOST_BYTES = 256 << 20
"""So many bytes of definitions of one server are remembered."""

_COLUMNS = "server, tool, standing, pinned, seen, digest, why, since, by"
_HEADS = "server, tool, standing, '', '', digest, why, since, by"
"""For lists: a server's definitions may have megabytes."""
_UNDECIDED = "standing IN ('changed', 'new', 'suspicious') AND by = ''"
"""By the index: every page of the console asks."""
_PUT = upsert("pins")
_PUT_NAMES = upsert("tool_names")
_AT_ONCE = 200
"""So many tools are looked up by their names at a time."""
_MEASURED = 32
"""Of so many the definitions are measured in one step: each may have megabytes."""


class Seen(msgspec.Struct, frozen=True):
    """A tool as a server lists it now. `definition` is canonical JSON, `digest` its SHA-256 in hex."""

    tool: str
    definition: str
    digest: str
    why: str = ""
    """What in it must be looked at; empty where nothing is suspicious."""


class Pin(msgspec.Struct, frozen=True):
    """What is known of one tool. `since` is Unix seconds."""

    server: str
    tool: str
    standing: Standing
    pinned: str
    """The definition that was accepted; empty where none was."""
    seen: str
    """The definition that the server gave last."""
    digest: str
    """Of `seen`."""
    why: str
    since: float
    by: str
    """Who accepted it: an operator, or `first use`; of what is held back, who wants it to stay so."""


class Held(NamedTuple):
    """The place of a tool in the list of those that are held back."""

    since: float
    server: str
    tool: str


class PinChange(msgspec.Struct, frozen=True):
    """One step that the audit trail does not have yet."""

    number: int
    time: float
    action: Literal["pinned", "held", "accepted", "refused", "restored", "forgotten"]
    """`forgotten` is of all tools of a server; it names none."""
    server: str
    tool: str
    digest: str
    why: str
    by: str


class Pins:
    """The pins in one state database. Use it from one thread at a time. Every method raises `StoreError`."""

    def __init__(
        self,
        state: StateDatabase,
        *,
        clock: Callable[[], float],
        most_tools: int = MOST_TOOLS,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`clock` gives Unix seconds; the bounds are those of one server."""
        self._rows = state.section("pins", "the pinned definitions")
        self._changes = Changes(
            self._rows,
            "pin_changes",
            ("time", "action", "server", "tool", "digest", "why", "by"),
        )
        self._clock = clock
        self._others = False
        self.rooms = Rooms(self._rows, most_tools, most_bytes)
        self._rows.listen(self._heard)

    # -- for the gateway -----------------------------------------------------------------------------

    def judge(self, server: str, tools: Sequence[Seen], *, ask_first: bool) -> dict[str, Standing]:
        """How each of the tools that a server lists now stands; what is seen for the first time is pinned, unless
        it is suspicious or `ask_first` says that an operator wants to see it, or there is no room for it."""
        known = self.heads(server, [one.tool for one in tools])
        others = [
            one.tool
            for one in tools
            if (pin := known.get(one.tool)) is None or pin.digest != one.digest
        ]
        # As before, which is nearly every listing: no transaction, and no definition is read.
        if not others:
            return {one.tool: known[one.tool].standing for one in tools}
        known |= self._known(server, others)
        fresh = [(one, known.get(one.tool)) for one in tools]
        with self._rows.changing():
            # Taken out until the transaction is over: after a failure it is counted anew.
            room = self.rooms.taken(server)
            standing: dict[str, Standing] = {
                seen.tool: self._take(server, seen, pin, ask_first)
                if (pin is not None and pin.digest == seen.digest)
                or room.take(seen.definition, None if pin is None else pin.seen)
                else "crowded"
                for seen, pin in fresh
            }
        self.rooms.put(server, room)
        return standing

    def _take(self, server: str, seen: Seen, pin: Pin | None, ask_first: bool) -> Standing:
        if pin is not None and pin.digest == seen.digest:
            return pin.standing
        pinned = "" if pin is None else pin.pinned
        if pinned and pinned == seen.definition:
            # It says again what was accepted: nobody has to look at it.
            self._write(server, seen, "pinned", pinned, "")
            self._note("restored", server, seen, "")
            return "pinned"
        if pinned:  # before `why`: what was accepted once is shown as a difference
            standing: Standing = "changed"
        elif seen.why:
            standing = "suspicious"
        else:
            standing = "new" if ask_first else "pinned"
        if standing == "pinned":
            self._write(server, seen, standing, seen.definition, "first use")
            self._note("pinned", server, seen, "first use")
        else:
            self._write(server, seen, standing, pinned, "")
            self._note("held", server, seen, "")
        return standing

    def changed(self) -> bool:
        """Whether another process was heard to have changed something, or `decided` was called, since this was last asked."""
        others, self._others = self._others, False
        return others

    def names(self) -> dict[str, list[str]]:
        """What the tools of each server are called, as it listed them last, whether they are pinned or not."""
        others = "SELECT server FROM tool_names"
        pinned = self._rows.rows(f"SELECT server, tool FROM pins WHERE server NOT IN ({others})")  # noqa: S608 - a constant
        listed = self._rows.rows("SELECT server, tools FROM tool_names")
        found: dict[str, list[str]] = {}
        for server, tool in pinned:  # of those that no version listed since there is this table
            found.setdefault(server, []).append(tool)
        return found | {server: json.loads(tools) for server, tools in listed}

    def keep_names(self, server: str, tools: Collection[str]) -> None:
        """Remember what the tools of a server are called from now on."""
        text = json.dumps(sorted(tools))  # whatever characters a server uses
        with self._rows.changing():
            self._rows.execute(_PUT_NAMES, (server, text))

    # -- for operators -------------------------------------------------------------------------------

    def of(self, server: str | None = None) -> list[Pin]:
        """The tools of one server, or of all, by name."""
        where, values = ("", ()) if server is None else ("WHERE server = ?", (server,))
        rows = self._rows.rows(
            f"SELECT {_COLUMNS} FROM pins {where} ORDER BY server, tool",  # noqa: S608 - constants
            values,
        )
        return [Pin(*row) for row in rows]

    def some(self, server: str, tools: list[str]) -> dict[str, Pin]:
        """What is known of these tools of a server, by name."""
        return self._known(server, tools)

    def heads(self, server: str, tools: list[str]) -> dict[str, Pin]:
        """The same, without definitions."""
        return self._some(_HEADS, server, tools)

    def accept(self, server: str, tool: str, *, digest: str, by: str) -> Pin:
        """Rely on what the tool says now. `digest` is of the definition that was looked at: another one that came
        meanwhile is not accepted. Raises `KeyError` for a tool nobody has seen, `ValueError` for another digest."""
        with self._rows.changing():
            return self._accept(server, tool, digest, by)

    def accept_all(self, pins: Collection[Pin], *, by: str) -> list[Pin]:
        """The same of several that were looked at, all or none."""
        with self._rows.changing():
            return [self._accept(one.server, one.tool, one.digest, by) for one in pins]

    def _accept(self, server: str, tool: str, digest: str, by: str) -> Pin:
        pin = self._looked_at(server, tool, digest)
        self.rooms.forget(server)
        seen = Seen(tool, pin.seen, pin.digest, pin.why)
        self._write(server, seen, "pinned", pin.seen, by)
        self._note("accepted", server, seen, by)
        return self._known(server, [tool])[tool]

    def _looked_at(self, server: str, tool: str, digest: str) -> Pin:
        pin = self._known(server, [tool]).get(tool)
        if pin is None:
            raise KeyError(tool)
        if pin.digest != digest:
            raise ValueError(f"{server}/{tool} has changed again since it was looked at")
        return pin

    def decided(self) -> None:
        """An operator has changed something in this process, as another process does otherwise."""
        self._others = True

    def undecided(
        self, most: int, server: str = "", after: Held | None = None, *, newest: bool = False
    ) -> list[Pin]:
        """The first tools, of all servers or one, that are held back and that nobody has refused, the longest or the `newest` first, from
        behind one on; without their definitions."""
        where, values = f"{_UNDECIDED} AND ? IN ('', server)", (server,)
        if after is not None:
            where += f" AND (since, server, tool) {'<' if newest else '>'} (?, ?, ?)"
        way = "DESC" if newest else "ASC"
        rows = self._rows.rows(
            f"SELECT {_HEADS} FROM pins WHERE {where} ORDER BY since {way}, server {way}, tool {way} LIMIT ?",  # noqa: S608 - constants
            (*values, *(after or ()), most),
        )
        return [Pin(*row) for row in rows]

    def undecided_count(self, server: str = "") -> int:
        """How many there are."""
        ((count,),) = self._rows.rows(
            f"SELECT count(*) FROM pins WHERE {_UNDECIDED} AND ? IN ('', server)",  # noqa: S608 - a constant
            (server,),
        )
        return int(count)

    def refuse(self, server: str, tool: str, *, digest: str, by: str, why: str) -> Pin:
        """Leave the tool held back for as long as it says what was looked at. Raises `KeyError` for a tool nobody has seen,
        `ValueError` for another digest, or one that is not held back."""
        with self._rows.changing():
            pin = self._looked_at(server, tool, digest)
            if pin.standing == "pinned":
                raise ValueError(f"{server}/{tool} was accepted already, by {pin.by}")
            self._rows.execute(
                "UPDATE pins SET by = ? WHERE server = ? AND tool = ?", (by, server, tool)
            )
            self._note("refused", server, Seen(tool, pin.seen, pin.digest, why), by)
        return replace(pin, by=by)

    def forget(self, server: str, *, by: str) -> int:
        """Forget a server's tools: the next time they are seen is a first time again. Returns how many."""
        self.rooms.forget(server)
        with self._rows.changing():
            forgotten = self._rows.execute("DELETE FROM pins WHERE server = ?", (server,)).rowcount
            self._rows.execute("DELETE FROM tool_names WHERE server = ?", (server,))
            if forgotten:
                self._note("forgotten", server, Seen("", "", ""), by)
            return forgotten

    # -- for the record ------------------------------------------------------------------------------

    def changes(self) -> list[PinChange]:
        """Steps that the audit trail does not have yet, oldest first."""
        return [PinChange(*row) for row in self._changes.waiting()]

    def recorded(self, number: int) -> None:
        """The audit trail has every step up to `number`."""
        self._changes.recorded(number)

    def close(self) -> None:
        """Nothing is followed any more."""
        self._rows.close()

    # -- rows ----------------------------------------------------------------------------------------

    def _known(self, server: str, tools: list[str]) -> dict[str, Pin]:
        return self._some(_COLUMNS, server, tools)

    def _some(self, columns: str, server: str, tools: Sequence[str]) -> dict[str, Pin]:
        """By their names, however many others the server ever had."""
        found: dict[str, Pin] = {}
        for at in range(0, len(tools), _AT_ONCE):
            some = tools[at : at + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            rows = self._rows.rows(
                f"SELECT {columns} FROM pins WHERE server = ? AND tool IN ({marks})",  # noqa: S608 - constants
                (server, *some),
            )
            found |= {one.tool: one for one in (Pin(*row) for row in rows)}
        return found

    def _write(self, server: str, seen: Seen, standing: Standing, pinned: str, by: str) -> None:
        self._rows.execute(
            _PUT,
            (
                server,
                seen.tool,
                standing,
                pinned,
                seen.definition,
                seen.digest,
                seen.why,
                self._clock(),
                by,
            ),
        )

    def _note(self, action: str, server: str, seen: Seen, by: str) -> None:
        self._changes.add(self._clock(), action, server, seen.tool, seen.digest, seen.why, by)

    def _heard(self) -> None:
        self._others = True
        self.rooms.clear()
