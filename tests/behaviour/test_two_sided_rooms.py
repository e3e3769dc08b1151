"""Who hears what is said in rooms, and whose call it is that is made there: what the two-sided model comes across by chance, in the fewest
steps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.audit.reader import AuditReader
from gatewright.rooms.gateway_participant import DOOR
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_deciding import puts_off
from tests.behaviour.two_sided_facts import DEN, HALL, PEOPLE, token_of
from tests.behaviour.two_sided_gathering import fulfilled, payload
from tests.behaviour.two_sided_guests import Guest
from tests.behaviour.two_sided_rooms import KERNEL, Said
from tests.behaviour.two_sided_scene import calls, inside, played, work_of

ASK = "mcp/request:x/ask"
REPLY = "mcp/response:x/ask"


async def says(house: House, who: str, kind: str, topic: str = HALL, **more: Any) -> Said:
    """Somebody says something, and whoever it is for hears it."""
    found = house.rooms.chairs[who, topic].say(kind, payload(kind, 1), **more)
    assert found is not None
    await house.rest()
    house.rooms.must_arrive()
    return found


def heard(found: Said) -> set[str]:
    return {chair.name for chair in found.got}


def test_what_is_put_to_one_is_heard_by_that_one_and_by_who_hears_all(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert heard(await says(house, "pat", "chat")) == {"pat", "quin", "rob", "mal"}
        assert heard(await says(house, "quin", "chat")) == {"pat", "rob", "mal"}
        assert heard(await says(house, "mal", "chat", to=["rob"])) == {"pat", "rob", "mal"}
        assert heard(await says(house, "rob", "chat", to=["quin"])) == {"pat", "quin", "mal"}
        assert heard(await says(house, "rob", "chat", DEN)) == {"pat", "rob"}

    played(tmp_path, act)


def test_who_was_asked_answers_once_and_nobody_else(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = await says(house, "pat", ASK, to=["quin"])
        for who, passes in (("mal", False), ("rob", False), ("quin", True), ("quin", False)):
            reply = await says(house, who, REPLY, to=["pat"], correlation_id=asked.ident)
            assert bool(heard(reply)) is passes
        await says(house, "pat", ASK, to=["quin"], id=asked.ident)  # once more, and no new one
        assert not heard(await says(house, "quin", REPLY, to=["pat"], correlation_id=asked.ident))
        every = await says(house, "mal", ASK)
        for who, passes in (("mal", False), ("rob", True), ("quin", True), ("rob", False)):
            reply = await says(house, who, REPLY, to=["mal"], correlation_id=every.ident)
            assert bool(heard(reply)) is passes

    played(tmp_path, act)


def test_what_somebody_may_not_say_reaches_nobody(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = await says(house, "pat", ASK, to=["quin"])
        for kind, more in (
            ("chat", {"from": "pat"}),
            ("system/welcome", {}),
            (ASK, {"id": asked.ident}),
        ):
            assert not heard(await says(house, "mal", kind, **more))
        assert not heard(await says(house, "rob", ASK))
        assert not house.rooms.chairs["mal", DEN].sit(token_of("mal"))
        assert not house.rooms.chairs["quin", DEN].sit(token_of("quin"))

    played(tmp_path, act)


def test_who_proposed_hears_of_what_is_put_to_another(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        proposal = await says(house, "rob", "mcp/proposal:x/do", to=["pat"])
        request = await says(house, "pat", ASK, to=["quin"], correlation_id=proposal.ident)
        assert heard(request) == {"pat", "quin", "rob", "mal"}
        plain = await says(house, "pat", ASK, to=["quin"])
        about = await says(house, "quin", "chat", to=["mal"], correlation_id=plain.ident)
        assert heard(about) == {"pat", "mal"}

    played(tmp_path, act)


def test_whose_place_was_taken_says_and_hears_nothing(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        chair = house.rooms.chairs["rob", HALL]
        former = chair.line
        assert former is not None
        assert chair.sit(token_of("rob"))
        await house.rest()
        assert former.over
        assert former.receiver is not None
        forged = {"protocol": "mcpx/v0.1", "id": "z", "from": "rob", "kind": "chat"}
        former.receiver.message(json.dumps({**forged, "payload": {"text": "late"}}).encode())
        former.receiver.closed("late")
        await house.rest()
        assert heard(await says(house, "rob", "chat")) == {"pat", "quin", "rob", "mal"}

    played(tmp_path, act)


async def answers(house: House, asked: Any) -> None:
    end, one = work_of(house, asked)
    end.answered(one)
    content = [{"type": "text", "text": f"about {asked.mark} by-{end.server.name}"}]
    end.say(one.ident, id=one.ident, result={"resultType": "complete", "content": content})
    await house.rest()


def test_each_call_in_a_room_is_its_senders(tmp_path: Path) -> None:
    """Whose caller it is decides what it may reach, and the answer is put to who asked."""

    async def act(house: House) -> None:
        both = [await calls(house, name, "one") for name in ("pat", "quin", "pat")]
        for name, server in (("pat", "two"), ("quin", "own")):
            refused = house.clients[name].request(
                "tools/call", {"name": f"{server}__do", "arguments": {}}, frozenset()
            )
            await house.rest()
            assert refused.heard
        for asked, _, _ in reversed(both):
            await answers(house, asked)
            assert f"about {asked.mark} by-one" in asked.heard

    house = played(tmp_path, act)
    records = list(AuditReader(house.folder / "state").tail(1000))
    ran = [one for one in records if one["event_type"] == "TOOL_EXECUTED"]
    assert {one["door"] for one in ran} == {DOOR}
    assert sorted(one["actor"]["id"] for one in ran) == ["pat", "pat", "quin"]


def test_a_question_in_a_room_is_answered_by_whom_it_was_put_to(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("pat", "quin"):
            asked, end, one = await calls(house, name, "evil" if name == "pat" else "two")
            words = f"about {asked.mark} by-{end.server.name}"
            end.ask("elicitation/create", one, words, {})
            await house.rest()
            client = house.clients[name]
            (question,) = client.asked
            about, _ = house.rooms.questions[question.ident]
            for other in sorted(PEOPLE.keys() - {name}):
                reply = payload("mcp/response", 1) | {"id": question.ident}
                reply["result"] = {"action": "accept", "content": {"who": f"answer-of-{other}/"}}
                more = {"to": [KERNEL], "correlation_id": about}
                house.rooms.chairs[other, HALL].say(REPLY, reply, **more)
                await house.rest()
                assert end.asked
            client.answer(0)
            await house.rest()
            assert not end.asked

    played(tmp_path, act)


def test_a_question_that_is_taken_back_in_a_room_is_that_one(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        client = house.clients["pat"]
        for _ in range(2):
            asked, end, one = await calls(house, "pat", "evil")
            end.ask("elicitation/create", one, f"about {asked.mark} by-evil", {})
            await house.rest()
        first, second = list(end.asked)
        end.withdraw(second)
        await house.rest()
        assert [one.puts for one in client.asked] == [(f"evil.{first}",)]
        house.must_be_forgotten(f"evil.{second}")
        client.answer(0)
        await house.rest()
        assert not end.asked

    played(tmp_path, act)


def test_what_a_proposal_came_to_is_told_to_both(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        rob = house.rooms.chairs["rob", HALL]
        asked = await fulfilled(house, "quin", "one")
        await house.rest()
        await answers(house, asked)
        house.rooms.must_know(rob, asked, 0)
        assert house.rooms.results[rob] == 1
        other, _, _ = await calls(house, "pat", "one")
        await answers(house, other)
        assert house.rooms.results[rob] == 1

    played(tmp_path, act)


@pytest.mark.parametrize("again", [False, True])
def test_who_comes_in_under_the_name_of_one_who_left_gets_nothing_of_it(
    tmp_path: Path, again: bool
) -> None:
    """Who takes its own place anew is who it was, and hears what it asked."""

    async def act(house: House) -> None:
        client = house.clients["pat"]
        assert isinstance(client, Guest)
        asked, end, one = await calls(house, "pat", "one")
        end.ask("elicitation/create", one, f"about {asked.mark} by-one", {})
        await house.rest()
        if again:
            client.sits()
            await house.rest()
            client.answer(0)
            await house.rest()
            await answers(house, asked)
            assert f"about {asked.mark} by-one" in asked.heard
            return
        client.close()
        await house.rest()
        house.must_stop([asked])
        client.connect()
        await house.rest()
        mine, _, _ = await calls(house, "pat", "one")
        end.answered(one)
        end.say(one.ident, id=one.ident, result={"content": [], "x": f"about {asked.mark} by-one"})
        await house.rest()
        assert asked.heard == ""
        await answers(house, mine)
        assert f"about {mine.mark} by-one" in mine.heard

    played(tmp_path, act)


def test_what_somebody_in_a_room_is_told_is_put_to_that_one(tmp_path: Path) -> None:
    """Log lines, progress and word of a resource."""

    async def act(house: House) -> None:
        both = [await calls(house, name, "one") for name in ("pat", "quin")]
        for asked, end, one in both:
            token = one.params["_meta"]["progressToken"]
            note = {"progressToken": token, "progress": 1, "message": f"about {asked.mark} by-one"}
            end.say(one.ident, method="notifications/progress", params=note)
            await house.rest()
            house.must_hear(asked.who, "progress", 0, asked.mark)
        client = house.clients["pat"]
        client.wants["one://r"] = {"one"}
        client.request("resources/subscribe", {"uri": "one://r"}, frozenset({"one"}))
        await house.rest()
        end.say(
            None,
            method="notifications/resources/updated",
            params={"uri": "one://r", "x": "by-one"},
        )
        await house.rest()
        house.must_hear("pat", "one://r", 0)

    played(tmp_path, act)


def test_a_call_in_a_room_waits_for_an_operator_on_the_line(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked = puts_off(house, "pat", "one", "same")
        other = puts_off(house, "ann", "one", "same")
        await house.rest()
        (one,) = [one for one in house.undecided() if one.agent == "pat"]
        house.decides(one, yes=True)
        await house.rest()
        assert [work.mark for _, work in house.every_work()] == [asked.mark]
        await answers(house, asked)
        assert f"about {asked.mark} by-one" in asked.heard
        assert "working" in other.heard

    played(tmp_path, act)


FORGED: dict[str, tuple[str, dict[str, Any]]] = {
    "heard what nobody said": ("rob", {"from": "pat", "id": "m0", "kind": "chat"}),
    "heard what may not pass": ("rob", {}),
    "heard what is not for it": ("quin", {}),
    "heard something twice": ("pat", {}),
    "heard of somebody elsewhere": (
        "rob",
        {
            "from": "system:gateway",
            "kind": "system/presence",
            "payload": {"participant": {"id": "x"}},
        },
    ),
    "heard what the gateway told another": (
        "rob",
        {"from": "system:gateway", "kind": "system/error", "to": ["mal"]},
    ),
    "was welcomed as another": (
        "rob",
        {
            "from": "system:gateway",
            "kind": "system/welcome",
            "to": ["rob"],
            "payload": {"you": {"id": "mal"}, "participants": []},
        },
    ),
    "was refused what may pass": (
        "rob",
        {"from": "system:gateway", "kind": "system/error", "to": ["rob"], "correlation_id": "m0"},
    ),
    "heard what the gateway told another ": ("quin", {"from": KERNEL, "kind": ASK, "to": ["pat"]}),
    "tell somebody what is another's": (
        "mal",
        {"from": KERNEL, "kind": "chat", "to": ["pat"], "payload": {"text": "about quin-1"}},
    ),
    "ask or tell all what is one's": ("mal", {"from": KERNEL, "kind": ASK}),
    "answer what nobody asked it": ("mal", {"from": KERNEL, "kind": REPLY, "correlation_id": "m0"}),
    "answer another than who asked": ("mal", {"from": KERNEL, "kind": REPLY, "to": ["mal"]}),
    "answer one who is gone": ("mal", {"from": KERNEL, "kind": REPLY, "to": ["pat"]}),
}


def test_what_nobody_may_hear_in_a_room_is_a_fault(tmp_path: Path) -> None:
    missed = []

    async def forge(house: House) -> None:
        rooms = house.rooms
        barred = rooms.chairs["mal", HALL].say("chat", payload("chat", 1), **{"from": "pat"})
        narrow = rooms.chairs["mal", HALL].say("chat", payload("chat", 1), to=["rob"])
        asked = rooms.chairs["pat", HALL].say(ASK, payload(ASK, 1), to=[KERNEL])
        assert barred is not None
        assert narrow is not None
        assert asked is not None
        await house.rest()
        house.faults.clear()
        known = {"may not pass": barred, "is not for it": narrow, "something twice": narrow}
        for fault, (who, words) in FORGED.items():
            chair = rooms.chairs[who, HALL]
            assert chair.line is not None
            about = {"correlation_id": asked.ident} if words.get("kind") == REPLY else {}
            said = {"id": "m0", "payload": {}, **about, **words}
            for part, one in known.items():
                said = dict(one.envelope) if part in fault else said
            asked.turn += "is gone" in fault
            house.faults.clear()
            rooms.judge(chair, chair.line, said)
            if not any(fault.strip() in one for one in house.faults):
                missed.append(fault)
        house.faults.clear()
        narrow.readers[rooms.chairs["quin", HALL]] = rooms.chairs["quin", HALL].place
        rooms.every = [narrow]
        rooms.must_arrive()
        assert "did not hear what is for it" in house.faults[0]
        house.faults.clear()

    assert inside(tmp_path, forge).faults == []
    assert missed == []
