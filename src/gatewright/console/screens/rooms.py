"""Screen `rooms`: who is in which room, the talk, proposals with what the gates would say; take part; learned rules; stop an agent."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from gatewright.command_text import to_type
from gatewright.console import room_acts
from gatewright.console.dependencies import Dependencies
from gatewright.console.operations import ApiError, Asking, Nothing, Operation
from gatewright.console.room_seats import RoomSeat, RoomSeats
from gatewright.console.room_shapes import (
    RoomDecision,
    RoomMessage,
    RoomQuery,
    RoomRow,
    RoomStop,
    Stopped,
    Talk,
)
from gatewright.console.screen import Copies, Page, Screen, View
from gatewright.rooms.hub import Hub
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.participants.errors import RoomError

__all__ = ["Rooms"]

_SHOWN = 100


class Rooms(Screen):
    """Made where there are rooms or not; without `[rooms]` it says how to have some."""

    name = "rooms"
    title = "Rooms"
    key = "r"
    group = 1

    def __init__(self, parts: Dependencies) -> None:
        self._parts = parts
        self._hub = parts.ground.of(Hub)
        self._admin = parts.ground.of(ParticipantAdmin)
        told = lambda: parts.changes.tell("rooms")  # noqa: E731
        self._seats = None if self._hub is None else RoomSeats(self._hub, parts.clock, told)
        post: Any = {"method": "POST", "power": "decide"}
        self.pages = (
            Page(path="/rooms", power="see", run=self._page, takes=RoomQuery),
            Page(path="/rooms/part", power="see", run=self._part, takes=RoomQuery),
            Page(
                path="/rooms/join",
                power="see",
                run=self._on_form(self.join),
                method="POST",
                takes=RoomQuery,
            ),
            Page(
                path="/rooms/leave",
                power="see",
                run=self._on_form(self.leave),
                method="POST",
                takes=RoomQuery,
            ),
            Page(path="/rooms/post", run=self._on_form(self.post), takes=RoomMessage, **post),
            Page(path="/rooms/decide", run=self._on_form(self.decide), takes=RoomDecision, **post),
            Page(
                path="/rooms/stop",
                run=self._stop_form,
                method="POST",
                power="change",
                takes=RoomStop,
            ),
        )
        self.operations = (
            Operation(
                name="rooms.list",
                method="GET",
                path="/rooms",
                power="see",
                summary="List the rooms",
                run=self.all,
                takes=Nothing,
                gives=list[RoomRow],
            ),
            Operation(
                name="rooms.talk",
                method="GET",
                path="/rooms/talk",
                power="see",
                summary="Show one room",
                run=self.talk,
                takes=RoomQuery,
                gives=Talk,
            ),
            Operation(
                name="rooms.join",
                method="POST",
                path="/rooms/join",
                power="see",
                summary="Sit in a room: to hear, and to speak where you may decide",
                run=self.join,
                takes=RoomQuery,
                gives=Talk,
            ),
            Operation(
                name="rooms.leave",
                method="POST",
                path="/rooms/leave",
                power="see",
                summary="Leave a room",
                run=self.leave,
                takes=RoomQuery,
                gives=Nothing,
            ),
            Operation(
                name="rooms.post",
                method="POST",
                path="/rooms/messages",
                power="decide",
                summary="Say something in a room where you sit",
                run=self.post,
                takes=RoomMessage,
                gives=Nothing,
            ),
            Operation(
                name="rooms.decide",
                method="POST",
                path="/rooms/proposals",
                power="decide",
                summary="Approve or reject a proposal",
                run=self.decide,
                takes=RoomDecision,
                gives=Nothing,
            ),
            Operation(
                name="rooms.stop",
                method="POST",
                path="/rooms/stop",
                power="change",
                summary="Stop an agent: revoke its keys, and keep it out of every room",
                run=self.stop,
                takes=RoomStop,
                gives=Stopped,
            ),
        )

    # -- operations

    async def all(self, asking: Asking) -> list[RoomRow]:
        """By name."""
        hub = self._hub
        if hub is None:
            return []
        topics = sorted({*hub.rooms, *hub.policy.topics, *self._configured()})
        return [
            RoomRow(
                topic=one,
                participants=sorted(hub.rooms[one].members)[:_SHOWN] if one in hub.rooms else (),
                access=hub.policy.topic(one).access,
            )
            for one in topics
        ]

    async def talk(self, asking: Asking) -> Talk:
        """Raises `ApiError`."""
        hub, seats = self._open()
        topic = asking.given.topic
        seat = seats.find(asking.person, topic)
        room = hub.rooms.get(topic)
        members = {} if room is None else room.members
        book = await asyncio.to_thread(
            room_acts.rules_of, self._parts.ground.settings.storage.path, topic
        )
        return Talk(
            topic=topic,
            joined=seat is not None,
            participants={
                name: one.capabilities.patterns for name, one in sorted(members.items())[:_SHOWN]
            },
            messages=[] if seat is None else [*seat.talk][-_SHOWN:],
            proposals=[] if seat is None else [*seat.proposals()][:_SHOWN],
            rules=book.rules,
            stopped=book.stopped,
        )

    async def join(self, asking: Asking) -> Talk:
        """Raises `ApiError`."""
        _, seats = self._open()
        if not asking.given.topic:
            raise ApiError(422, "invalid", "a room has a name")
        seat = seats.join(asking.person, asking.given.topic)
        await seat.me.welcomed()
        return await self.talk(asking)

    async def leave(self, asking: Asking) -> None:
        """Raises `ApiError`."""
        self._open()[1].leave(asking.person, asking.given.topic)
        self._parts.changes.tell("rooms")

    async def post(self, asking: Asking) -> None:
        """Raises `ApiError`."""
        given: RoomMessage = asking.given
        if not given.text.strip():
            raise ApiError(422, "invalid", "there is nothing to say")
        seat = self._seat(asking)
        try:
            seat.me.chat(given.text, about=given.about or None)
        except RoomError as problem:
            raise ApiError(403, "room", str(problem)) from None

    async def decide(self, asking: Asking) -> None:
        """By the room's orchestrator where it has one, whose rules learn of it; else by yourself. Raises `ApiError`."""
        table = self._rooms_table()
        orchestrator = None if table is None else table.orchestrator
        name = "" if orchestrator is None else orchestrator.name
        await room_acts.decide(self._seat(asking).me, asking.given, name)

    async def stop(self, asking: Asking) -> Stopped:
        """Its keys end, and with them its sessions and what runs; its places in rooms are taken away. Raises `ApiError`, `StoreError`,
        `Unrecorded`."""
        callers, by = self._parts.ground.callers, asking.person.id
        found = room_acts.stop(callers, self._admin, asking.given, by)
        self._parts.changes.tell("rooms", "access", "sessions", "audit")
        return found

    def _open(self) -> tuple[Hub, RoomSeats]:
        if self._hub is None or self._seats is None:
            raise ApiError(404, "no_rooms", "there are no rooms", "write [rooms] into mgp.toml")
        return self._hub, self._seats

    def _seat(self, asking: Asking) -> RoomSeat:
        found = self._open()[1].find(asking.person, asking.given.topic)
        if found is None:
            raise ApiError(409, "not_there", "you do not sit in this room", "join it first")
        return found

    def _rooms_table(self) -> Any:
        rooms = self._parts.ground.settings.rooms
        return None if rooms is None else rooms.table

    def _configured(self) -> set[str]:
        table = self._rooms_table()
        seats = () if table is None else (table.kernel, table.orchestrator)
        return {topic for one in seats if one is not None for topic in one.topics}

    # -- pages

    async def _page(self, asking: Asking) -> View:
        topic = asking.given.topic
        if not topic:
            copies = Copies(to_type("room join {}", "TOPIC"), "GET /api/v1/rooms")
            return View(
                "rooms/list.html",
                {
                    "title": "Rooms",
                    "topics": "rooms",
                    "rooms": await self.all(asking),
                    "configured": self._hub is not None,
                },
                copies,
            )
        copies = Copies(
            to_type("room join {}", topic), f"GET /api/v1/rooms/talk?topic={quote(topic, safe='')}"
        )
        return View("rooms/page.html", await self._values(asking), copies)

    async def _part(self, asking: Asking) -> View:
        return View("rooms/part.html", await self._values(asking))

    async def _values(self, asking: Asking) -> dict[str, Any]:
        talk = await self.talk(asking)
        return {
            "title": "Room",
            "topics": "rooms",
            "talk": talk,
            "way": quote(talk.topic, safe=""),
            "own": {name for name in talk.participants if self._is_own(talk.topic, name)},
        }

    def _is_own(self, topic: str, name: str) -> bool:
        """Whether the gateway itself sits there under this name."""
        identity = None if self._hub is None else self._hub.identity(topic, name)
        return identity is not None and identity.way == "gateway"

    def _on_form(self, operation: Any) -> Any:
        async def run(asking: Asking) -> View:
            await operation(asking)
            return View("", location=f"/rooms?topic={quote(asking.given.topic, safe='')}")

        return run

    async def _stop_form(self, asking: Asking) -> View:
        await self.stop(asking)
        return View("", location="/rooms")
