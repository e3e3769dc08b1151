"""Screen `rooms`: list of rooms; one opened: participants, messages, proposals with gates' verdicts, learned rules; join, chat, decide, stop."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import quote

from gatewright.command_text import to_type
from gatewright.console import room_acts
from gatewright.console.dependencies import Dependencies
from gatewright.console.lists import place_in, placed
from gatewright.console.operations import ApiError, Asking, Nothing, change, decide, see
from gatewright.console.paging import url_of
from gatewright.console.proposal_pages import ProposalPages
from gatewright.console.room_seats import RoomSeat, RoomSeats
from gatewright.console.room_shapes import (
    ROOMS,
    RoomDecision,
    RoomList,
    RoomMessage,
    RoomQuery,
    RoomRow,
    RoomsAsked,
    RoomsPage,
    RoomStop,
    Stopped,
    Talk,
)
from gatewright.console.screen import Copies, Page, Screen, View, posted
from gatewright.rooms.hub import Hub
from gatewright.rooms.participant_changes import ParticipantAdmin
from gatewright.rooms.participants.errors import RoomError

__all__ = ["Rooms"]

_SHOWN = 100
_NAMED = 8


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
        self._whole = whole = ProposalPages(parts.texts, self._seat)
        form = self._on_form
        self.pages = (
            Page(path="/rooms", power="see", run=self._page, takes=RoomsPage),
            Page(path="/rooms/list", power="see", run=self._list_part, takes=RoomsAsked),
            Page(path="/rooms/part", power="see", run=self._part, takes=RoomQuery),
            Page(path="/rooms/people", power="see", run=self._people, takes=RoomQuery),
            posted("/rooms/join", form(self.join), RoomQuery, "see"),
            posted("/rooms/leave", form(self.leave), RoomQuery, "see"),
            posted("/rooms/post", form(self.post), RoomMessage, "decide"),
            posted("/rooms/decide", form(self.decide), placed(RoomDecision), "decide"),
            posted("/rooms/stop", self._stop_form, RoomStop),
            *whole.pages,
        )
        self.operations = (
            *whole.operations,
            see(
                "rooms.list", "/rooms", "List the rooms", self.all, takes=RoomsAsked, gives=RoomList
            ),
            see(
                "rooms.talk", "/rooms/talk", "Show one room", self.talk, takes=RoomQuery, gives=Talk
            ),
            see(
                "rooms.join",
                "/rooms/join",
                "Join a room: to read, and to write where you may decide",
                self.join,
                takes=RoomQuery,
                gives=Talk,
                method="POST",
            ),
            see(
                "rooms.leave",
                "/rooms/leave",
                "Leave a room",
                self.leave,
                takes=RoomQuery,
                gives=Nothing,
                method="POST",
            ),
            decide(
                "rooms.post",
                "/rooms/messages",
                "Send a message to a room that you have joined",
                self.post,
                takes=RoomMessage,
                gives=Nothing,
            ),
            decide(
                "rooms.decide",
                "/rooms/proposals",
                "Approve or reject a proposal",
                self.decide,
                takes=RoomDecision,
                gives=Nothing,
            ),
            change(
                "rooms.stop",
                "/rooms/stop",
                "Stop an agent: revoke its keys, and keep it out of every room",
                self.stop,
                takes=RoomStop,
                gives=Stopped,
            ),
        )

    # -- operations

    async def all(self, asking: Asking) -> RoomList:
        """By name, unless another order is asked for. Raises `ApiError`."""
        rooms, total, more = await ROOMS.page(self._rooms(), asking.given)
        return RoomList(rooms=rooms, total=total, next=more)

    def _rooms(self) -> list[RoomRow]:
        hub = self._hub
        if hub is None:
            return []
        topics = sorted({*hub.rooms, *hub.policy.topics, *self._configured()})
        return [
            RoomRow(
                topic=one,
                participants=sorted(hub.rooms[one].members)[:_NAMED] if one in hub.rooms else (),
                here=len(hub.rooms[one].members) if one in hub.rooms else 0,
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
        found, more = ([], "") if seat is None else await seat.proposals(asking.given.after, _SHOWN)
        return Talk(
            topic=topic,
            joined=seat is not None,
            here=len(members),
            participants={
                name: one.capabilities.patterns for name, one in sorted(members.items())[:_SHOWN]
            },
            messages=[] if seat is None else [*seat.talk][-_SHOWN:],
            proposals=found,
            next=more,
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
        # Only the gateway's own: whoever is called so elsewhere would be told what people decide, and say what came of it.
        if not self._is_own(asking.given.topic, name):
            name = ""
        shown = self._whole.shown_in(asking)
        await room_acts.decide(self._seat(asking).me, asking.given, name, shown)

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
            raise ApiError(409, "not_there", "you have not joined this room", "join it first")
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
            call = f"GET /api/v1{url_of('/rooms', asking.given)}"
            values = await self._list_values(asking)
            first = [to_type("room who {}", one.topic) for one in values["found"].rooms[:1]]
            copies = Copies((first or [to_type("config show")])[0], call)
            return View("rooms/rooms.html", values, copies)
        copies = Copies(
            to_type("room join {}", topic), f"GET /api/v1/rooms/talk?topic={quote(topic, safe='')}"
        )
        return View("rooms/page.html", await self._values(asking), copies)

    async def _list_part(self, asking: Asking) -> View:
        return View("rooms/list.html", await self._list_values(asking))

    async def _list_values(self, asking: Asking) -> dict[str, Any]:
        found = await self.all(asking)
        return {
            "title": "Rooms",
            "topics": "rooms",
            "asked": asking.given,
            "found": found,
            "list": ROOMS.shown(asking.given, found.next),
            "configured": self._hub is not None,
        }

    async def _part(self, asking: Asking) -> View:
        return View("rooms/part.html", await self._values(asking))

    async def _people(self, asking: Asking) -> View:
        """Who is there, and the rules: who comes and goes while the page is open."""
        return View("rooms/people.html", {**await self._values(asking), "part": True})

    async def _values(self, asking: Asking) -> dict[str, Any]:
        talk = await self.talk(asking)
        return {
            "title": "Room",
            "topics": "rooms",
            "talk": talk,
            "part": False,
            "way": quote(talk.topic, safe=""),
            "here": _place(talk.topic, asking.given.after),
            "older": _place(talk.topic, talk.next) if talk.next else "",
            "newest": _place(talk.topic) if asking.given.after else "",
            "own": {name for name in talk.participants if self._is_own(talk.topic, name)},
        }

    def _is_own(self, topic: str, name: str) -> bool:
        """Whether the gateway itself sits there under this name."""
        identity = None if self._hub is None else self._hub.identity(topic, name)
        return identity is not None and identity.way == "gateway"

    def _on_form(self, operation: Any) -> Any:
        async def run(asking: Asking) -> View:
            await operation(asking)
            place = getattr(asking.given, "place", "")
            after = place_in(asking.given, RoomQuery).after if place else ""
            return View("", location=f"/rooms{_place(asking.given.topic, after)}")

        return run

    async def _stop_form(self, asking: Asking) -> View:
        await self.stop(asking)
        return View("", location="/rooms")


def _place(topic: str, after: str = "") -> str:
    """The query of a room, from a page of its proposals on."""
    return url_of("", RoomQuery(topic=topic, after=after))
