"""Console API operations on tool definitions held back by pins: list them, show the diff, accept the version shown, refuse it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator, Sequence
from hashlib import sha256
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from gatewright.console.definition_diff import Line, difference, is_whole
from gatewright.console.definition_pages import must_be_shown
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import Paged
from gatewright.console.operations import ApiError, Asking, Operation, change, see
from gatewright.console.paging import read_after
from gatewright.console.whole_texts import Proof
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Held, Pin
from gatewright.transport.slices import in_slices

__all__ = [
    "HeldAsked",
    "HeldDefinition",
    "HeldDefinitions",
    "HeldDetail",
    "HeldPage",
    "Looked",
    "held_id",
]

_ID = "df_"
_A_STEP = 500
"""So many are looked through for an id before others have their turn."""
_PLACE_CHARS = 1900
"""A place in the list names its tool, as far as a URL has room for that."""
_KNOWN = 4 * 200
"""So many that were listed are known by their ids after they have left the list."""


class HeldDefinition(msgspec.Struct, frozen=True, kw_only=True):
    """A tool whose definition nobody has decided on. `since` is Unix seconds."""

    id: str
    server: str
    tool: str
    standing: str
    """`changed`, `new` or `suspicious`."""
    why: str
    """What in it must be looked at."""
    digest: str
    """Of the definition as it is now; a decision names it."""
    since: float


class HeldAsked(Paged, frozen=True, kw_only=True):
    """Which of them, the longest held first unless said otherwise."""

    server: Annotated[str, Meta(max_length=500)] = ""
    sort: Literal["since"] = "since"


class HeldPage(msgspec.Struct, frozen=True, kw_only=True):
    """Some of them."""

    definitions: list[HeldDefinition]
    total: int
    """Of all that fit."""
    next: str
    """`after` of the next page; empty where this is the last."""


class HeldDetail(msgspec.Struct, frozen=True, kw_only=True):
    """What has changed in it."""

    definition: HeldDefinition
    lines: list[Line]
    whole: bool
    """Whether one page shows all of that; if not, it is accepted where its last page was shown."""


class Looked(msgspec.Struct, frozen=True, kw_only=True):
    """A decision on a definition that was looked at."""

    digest: str
    comment: Annotated[str, Meta(max_length=500)] = ""
    """Why not, for the record. A refusal needs it."""
    whole: Proof = ""
    """That all of it was shown: the proof of its last page, where it is longer than one."""


class HeldDefinitions:
    """What can be done about them."""

    def __init__(self, parts: Dependencies) -> None:
        self._decisions = parts.ground.of(Decisions)
        self._changes = parts.changes
        self._texts = parts.texts
        self._listed: dict[str, tuple[str, str]] = {}
        """Server and tool of those that were listed last, by id."""
        self.operations: Sequence[Operation] = (
            see(
                "held_definitions.list",
                "/held-definitions",
                "List tools whose definition is held back, and on which nobody has decided",
                self.all,
                takes=HeldAsked,
                gives=HeldPage,
            ),
            see(
                "held_definitions.show",
                "/held-definitions/{id}",
                "Show what has changed in a definition that is held back",
                self.show,
                gives=HeldDetail,
            ),
            change(
                "held_definitions.accept",
                "/held-definitions/{id}/accept",
                "Accept a definition as it was shown",
                self.accept,
                takes=Looked,
                gives=HeldDefinition,
            ),
            change(
                "held_definitions.refuse",
                "/held-definitions/{id}/refuse",
                "Leave a tool held back for as long as its definition stays as it was shown",
                self.refuse,
                takes=Looked,
                gives=HeldDefinition,
            ),
        )

    @property
    def waiting(self) -> int:
        """How many nobody has decided on. Raises `StoreError`."""
        return 0 if self._decisions is None else self._decisions.undecided_count()

    async def all(self, asking: Asking) -> HeldPage:
        """One page. Raises `ApiError`, `StoreError`."""
        return self.page(asking.given)

    def page(self, asked: HeldAsked) -> HeldPage:
        """The same. Raises `ApiError`, `StoreError`."""
        if self._decisions is None:
            return HeldPage(definitions=[], total=0, next="")
        after = self._place(asked.after)
        pins = self._decisions.undecided(
            asked.limit + 1, asked.server, after, newest=asked.desc is True
        )
        found = [_shown(one) for one in pins[: asked.limit]]
        for one in found:
            self._note(one.id, one.server, one.tool)
        more = _spelled(found[-1]) if len(pins) > asked.limit else ""
        total = self._decisions.undecided_count(asked.server)
        return HeldPage(definitions=found, total=total, next=more)

    def _place(self, after: str) -> Held | None:
        if not after:
            return None
        since, server, tool, id = read_after(after, tuple[float, str, str, str])
        if id and id not in self._listed:
            said = "`after` was given out long ago"
            raise ApiError(422, "invalid", said, "begin without it")
        server, tool = self._listed[id] if id else (server, tool)
        return Held(since, server, tool)

    async def seek(self, id: str) -> None:
        """Find one that was not listed lately, so that it is known by its id: whoever comes with it may have it from anywhere. In slices.
        Raises `StoreError`."""
        if self._decisions is not None and id.startswith(_ID) and id not in self._listed:
            await in_slices(self._sought(self._decisions, id))

    def _sought(self, decisions: Decisions, id: str) -> Generator[None, None, None]:
        after: Held | None = None
        while pins := decisions.undecided(_A_STEP, after=after):
            for one in pins:
                if held_id(one.server, one.tool) == id:
                    self._note(id, one.server, one.tool)
                    return
            after = Held(one.since, one.server, one.tool)
            yield

    def _note(self, id: str, server: str, tool: str) -> None:
        self._listed.pop(id, None)
        self._listed[id] = server, tool
        while len(self._listed) > _KNOWN:
            del self._listed[next(iter(self._listed))]

    def became(self, id: str) -> tuple[HeldDefinition | None, str]:
        """One of those that are known by their ids (`seek`), as it is now, and what became of it in words; empty where it still waits. Raises `StoreError`."""
        pin = self._pin(id)
        if pin is None:
            return None, "gone"
        if pin.standing == "pinned":
            return _shown(pin), f"accepted by {pin.by}" if pin.by else "as it was accepted before"
        return _shown(pin), f"refused by {pin.by}" if pin.by else ""

    async def show(self, asking: Asking) -> HeldDetail:
        """Raises `ApiError`."""
        return await self.detail(asking.path["id"])

    async def detail(self, id: str) -> HeldDetail:
        """The same. Raises `ApiError`."""
        await self.seek(id)
        head = self._found(id)
        known = {} if self._decisions is None else self._decisions.some(head.server, [head.tool])
        pin = known.get(head.tool)
        if pin is None:
            raise _unknown()
        lines = await asyncio.to_thread(difference, pin.pinned, pin.seen)
        return HeldDetail(definition=_shown(pin), lines=lines, whole=is_whole(lines))

    async def accept(self, asking: Asking) -> HeldDefinition:
        """Raises `ApiError`."""
        given: Looked = asking.given
        await self.seek(asking.path["id"])
        head = self._found(asking.path["id"])
        if self._decisions is not None:
            pin = self._decisions.some(head.server, [head.tool]).get(head.tool)
            if pin is not None and pin.digest == given.digest:  # else the acceptance says so
                await must_be_shown(self._texts, asking.person.id, pin, given.whole)
        return await self._decided(
            asking,
            lambda of, pin: of.accept(
                pin.server, pin.tool, digest=given.digest, by=asking.person.id
            ),
        )

    async def refuse(self, asking: Asking) -> HeldDefinition:
        """Raises `ApiError`."""
        given: Looked = asking.given
        if not given.comment.strip():
            raise ApiError(422, "no_reason", "a refusal needs a reason", "say why, in a sentence")
        return await self._decided(
            asking,
            lambda of, pin: of.refuse(
                pin.server, pin.tool, digest=given.digest, by=asking.person.id, why=given.comment
            ),
        )

    async def _decided(
        self, asking: Asking, decide: Callable[[Decisions, Pin], Pin]
    ) -> HeldDefinition:
        await self.seek(asking.path["id"])
        pin = self._found(asking.path["id"])
        if self._decisions is None:
            raise _unknown()
        try:
            found: Pin = decide(self._decisions, pin)
        except ValueError as problem:
            raise ApiError(409, "changed", str(problem), "look at it again") from None
        except KeyError:
            raise _unknown() from None
        self._changes.tell("inbox", "servers", "tools", "audit")
        return _shown(found)

    def _found(self, id: str) -> Pin:
        found = self._pin(id)
        if found is None or found.standing == "pinned" or found.by:
            raise _unknown()
        return found

    def _pin(self, id: str) -> Pin | None:
        if self._decisions is None or id not in self._listed:
            return None
        server, tool = self._listed[id]
        return self._decisions.heads(server, [tool]).get(tool)


def held_id(server: str, tool: str) -> str:
    """An id for paths: names of tools may be anything."""
    return _ID + sha256(f"{server}\n{tool}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _spelled(one: HeldDefinition) -> str:
    """Its place. A longer name than a URL has room for is known by its id, while it was listed lately."""
    try:
        whole = msgspec.json.encode((one.since, one.server, one.tool, "")).decode()
    except UnicodeEncodeError:  # half a pair
        whole = ""
    if 0 < len(whole) <= _PLACE_CHARS:
        return whole
    return msgspec.json.encode((one.since, "", "", one.id)).decode()


def _unknown() -> ApiError:
    return ApiError(
        404,
        "not_found",
        "no definition waits for a decision under this id: somebody decided already, or it changed back",
        "see what waits now",
    )


def _shown(pin: Pin) -> HeldDefinition:
    return HeldDefinition(
        id=held_id(pin.server, pin.tool),
        server=pin.server,
        tool=pin.tool,
        standing=pin.standing,
        why=pin.why,
        digest=pin.digest,
        since=pin.since,
    )
