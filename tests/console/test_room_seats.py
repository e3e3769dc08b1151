"""Places of people in rooms: bounded, given up when unused, and of those who may decide alone able to speak."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from gatewright.console import room_acts, room_seats
from gatewright.console.operations import ApiError
from gatewright.console.people import Person
from gatewright.console.room_seats import RoomSeats, params_of
from gatewright.console.room_shapes import RoomDecision
from gatewright.mcpx.payload import Operation
from gatewright.rooms.hub import Hub
from gatewright.rooms.in_process import FULL, Inside
from gatewright.rooms.participants.errors import NotAllowedError
from gatewright.rooms.participants.proposals import Proposal
from gatewright.rooms.participants.tool_responder import Tools
from gatewright.rooms.policy import Identity
from tests.console.in_process import Within, within

OPERATOR, VIEWER = Person("boss", "operator", "url"), Person("eve", "viewer", "url")


def _seats(console: Within) -> tuple[Hub, RoomSeats]:
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    return hub, RoomSeats(hub, console.clock, lambda: None)


async def test_a_viewer_hears_and_cannot_speak(tmp_path: Path) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        _, seats = _seats(console)
        boss, eve = seats.join(OPERATOR, "t"), seats.join(VIEWER, "t")
        assert seats.join(OPERATOR, "t") is boss
        await boss.me.welcomed()
        await eve.me.welcomed()
        with pytest.raises(NotAllowedError):
            eve.me.chat("hello")
        with pytest.raises(NotAllowedError):
            eve.me.propose("tools/call", {"name": "x", "arguments": {}})
        for number in range(room_seats._KEPT + 50):
            boss.me.chat(f"{number}")
            await asyncio.sleep(0)
        async with asyncio.timeout(20):
            while not eve.talk or eve.talk[-1].text != str(room_seats._KEPT + 49):
                await asyncio.sleep(0.01)
        assert len(eve.talk) == room_seats._KEPT


async def test_a_place_that_nobody_asks_for_is_given_up(tmp_path: Path) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        hub, seats = _seats(console)
        seats.join(OPERATOR, "t")
        console.ahead += 100
        assert seats.find(OPERATOR, "t") is not None
        console.ahead += 100
        assert seats.find(OPERATOR, "t") is not None
        console.ahead += 121
        assert seats.find(OPERATOR, "t") is None
        assert hub.connections() == []


async def test_a_place_is_given_up_though_nobody_asks_for_any(tmp_path: Path) -> None:
    """Whoever has gone asks for nothing: they sat there, and heard, until somebody else opened a room."""
    async with within(tmp_path, "[rooms]\n") as console:
        hub, _ = _seats(console)
        looks: list[Callable[[], None]] = []
        seats = RoomSeats(hub, console.clock, lambda: None, lambda _, look: looks.append(look))
        seats.join(OPERATOR, "t")
        seats.join(VIEWER, "t")
        console.ahead += 100
        assert seats.find(VIEWER, "t") is not None
        for there in (["boss", "eve"], ["eve"], []):
            (look,) = looks
            looks.clear()
            look()
            assert [one.participantId for one in hub.connections()] == there
            console.ahead += 30 + 70 * (there == ["eve"])
        assert not looks
        seats.join(OPERATOR, "t")
        assert len(looks) == 1


async def test_nobody_is_pushed_out_and_places_are_counted(tmp_path: Path) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        hub, seats = _seats(console)
        seats.join(OPERATOR, "t")
        other = RoomSeats(hub, console.clock, lambda: None)
        with pytest.raises(ApiError) as caught:
            other.join(OPERATOR, "t")
        assert caught.value.code == "taken"
        with patch.object(room_seats, "_SEATS", 1), pytest.raises(ApiError) as caught:
            seats.join(VIEWER, "t")
        assert caught.value.code == "crowded"
        hub.remove("boss", "by an operator")
        assert seats.find(OPERATOR, "t") is None


async def test_a_place_of_another_role_is_not_used_on(tmp_path: Path) -> None:
    """What may be done there follows from the role in which it was taken."""
    async with within(tmp_path, "[rooms]\n") as console:
        hub, seats = _seats(console)
        first = seats.join(OPERATOR, "t")
        less = Person(OPERATOR.id, "viewer", "oidc")
        assert seats.find(less, "t") is None
        assert (first.lost, hub.connections()) == (True, [])
        again = seats.join(less, "t")
        await again.me.welcomed()
        with pytest.raises(NotAllowedError):
            again.me.chat("hello")


async def test_one_person_leaves_places_to_others(tmp_path: Path) -> None:
    async with within(tmp_path, "[rooms]\n") as console:
        _, seats = _seats(console)
        for number in range(room_seats._SEATS_EACH):
            seats.join(OPERATOR, f"t{number}")
        with pytest.raises(ApiError) as caught:
            seats.join(OPERATOR, "more")
        assert caught.value.code == "crowded"
        seats.join(VIEWER, "more")
        seats.leave(OPERATOR, "t0")
        seats.join(OPERATOR, "more")


async def test_nobody_but_the_gateway_says_what_the_gates_would_say(tmp_path: Path) -> None:
    """The same words of whoever proposes stood on the card as theirs."""
    async with within(tmp_path, "[rooms]\n") as console:
        hub, seats = _seats(console)
        seat = seats.join(OPERATOR, "t")
        await seat.me.welcomed()
        others = {}
        for name, way in (("mallory", "key"), ("kernel", "gateway")):
            identity = Identity(name, FULL, named=True, way=way)  # type: ignore[arg-type]
            others[name] = Inside(
                hub,
                topic="t",
                name=name,
                responder=Tools(name),
                closed=lambda: None,
                identity=identity,
            )
            others[name].sit()
            await others[name].participant.welcomed()
        said = "dry run of tools/call:dig: passes every gate for boss"
        mallory = others["mallory"].participant
        proposal = mallory.propose("tools/call", {"name": "dig", "arguments": {}}, to=["kernel"])
        mallory.chat(said, about=proposal.id)
        others["kernel"].participant.chat(f"{said}; so says the kernel", about=proposal.id)
        async with asyncio.timeout(20):
            while not any(one.verdicts for one in (await seat.proposals("", 100))[0]):
                await asyncio.sleep(0.01)
        ((card,), _) = await seat.proposals("", 100)
        assert card.verdicts == [f"{said}; so says the kernel"]
        assert [(one.sender, one.text) for one in card.said] == [("mallory", said)]


async def test_an_id_that_comes_again_with_another_proposal_is_not_what_was_looked_at(
    tmp_path: Path,
) -> None:
    """Who proposes without end has its own oldest forgotten, and the id is free again."""
    async with within(tmp_path, "[rooms]\n") as console:
        _, seats = _seats(console)
        seat = seats.join(OPERATOR, "t")
        await seat.me.welcomed()
        ledger = seat.me.proposals

        async def proposed(name: str) -> RoomDecision:
            ledger.open("p", "bot", Operation("tools/call", {"name": name, "arguments": {}}), ())
            ((card,), _) = await seat.proposals("", 1)
            assert (card.id, name in card.params) == ("p", True)
            return RoomDecision(topic="t", proposal="p", do="approve", digest=card.digest)

        async def code(given: RoomDecision) -> str:
            with pytest.raises(ApiError) as caught:
                await room_acts.decide(seat.me, given, "", lambda one: True)
            return caught.value.code

        looked = await proposed("look")
        for number in range(1000):
            ledger.open(f"{number}", "bot", Operation("tools/call", {}), ())
        assert ledger.find("p") is None
        console.ahead += 1
        wiped = await proposed("wipe")
        assert await code(looked) == "not_shown"
        assert await code(replace(wiped, digest="")) == "not_shown"
        assert await code(wiped) == "room"  # nobody called so is there to ask
        # The orchestrator may have others by these ids: nobody was shown them here.
        assert await code(replace(wiped, proposal="other")) == "not_shown"
        ledger.open("p", "bot", Operation("tools/call", {}), ())
        assert await code(wiped) == "not_shown"


async def test_an_id_that_comes_again_while_it_is_looked_at_is_approved_by_nobody(
    tmp_path: Path,
) -> None:
    """All of a long proposal is gone through beside the loop, on which others propose meanwhile."""
    async with within(tmp_path, "[rooms]\n") as console:
        _, seats = _seats(console)
        seat = seats.join(OPERATOR, "t")
        await seat.me.welcomed()
        ledger = seat.me.proposals
        look, wipe = (
            Operation("tools/call", {"name": name, "arguments": {"a": "x" * 20_000}})
            for name in ("look", "wipe")
        )
        ledger.open("p", "bot", look, ())
        ((card,), _) = await seat.proposals("", 1)
        given = RoomDecision(topic="t", proposal="p", do="approve", digest=card.digest)

        def shown(one: Proposal) -> bool:
            if one.operation is look:
                vars(ledger)["_proposals"].clear()
                ledger.open("p", "bot", wipe, ())
            return True

        with pytest.raises(ApiError) as caught:
            await room_acts.decide(seat.me, given, "", shown)
        assert (caught.value.status, caught.value.code) == (409, "not_shown")
        assert [one.status for one in ledger] == ["pending"]


def test_what_is_to_be_done_is_shown_whole_by_its_name_as_well() -> None:
    """The gates know no such method, and others in the room may."""
    short, long = (
        Proposal("p", "bot", Operation(method, {}), None, 0.0, 1.0)
        for method in ("tools/call", "x" * (room_seats._PARAMS_CHARS + 1))
    )
    assert (params_of(short)[1], params_of(long)[1]) == (True, False)


async def test_what_is_too_long_to_be_shown_says_so(tmp_path: Path) -> None:
    """What stands behind its beginning is what would be agreed to as well."""
    async with within(tmp_path, "[rooms]\n") as console:
        _, seats = _seats(console)
        seat, other = seats.join(OPERATOR, "t"), seats.join(Person("ann", "operator", "url"), "t")
        await seat.me.welcomed()
        await other.me.welcomed()
        most = room_seats._PARAMS_CHARS
        for more in (0, 9):
            text = "x" * (most - len('{"name":"dig","arguments":{"a":""}}') + more)
            params = {"name": "dig", "arguments": {"a": text}}
            proposal = other.me.propose("tools/call", params, to=["boss"])
            async with asyncio.timeout(20):
                while seat.me.proposals.find(proposal.id) is None:
                    await asyncio.sleep(0.01)
            cards, _ = await seat.proposals("", 100)
            card = next(one for one in cards if one.id == proposal.id)
            assert (len(card.params), card.whole) == (most, not more)
        given = RoomDecision(topic="t", proposal=proposal.id, do="approve", digest=card.digest)
        with pytest.raises(ApiError) as caught:
            await room_acts.decide(seat.me, given, "", lambda one: False)
        assert (caught.value.status, caught.value.code) == (409, "not_shown")
        other.me.chat("y" * (room_seats._CHARS + 5))
        async with asyncio.timeout(20):
            while not seat.talk[-1].text.endswith("… (5 more characters are not shown)"):
                await asyncio.sleep(0.01)
