"""Whose a server is that was registered while the gateway runs, scene by scene: what the two-sided model comes across by chance, in the fewest
steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_deciding import puts_off
from tests.behaviour.two_sided_facts import REGISTERED, visible
from tests.behaviour.two_sided_registering import deregisters, looked, reaches, registers
from tests.behaviour.two_sided_scene import calls, inside, played, work_of
from tests.behaviour.two_sided_streaming import finds, sends, subscribes

OTHERS = ("ida", "gus", "ann", "kim", "eve", "pat")


async def yes(house: House) -> None:
    """An operator agrees to all that waits."""
    for one in house.undecided():
        house.decides(one, yes=True)
    await house.rest()


@pytest.mark.parametrize("server", REGISTERED)
def test_who_registered_a_server_reaches_it_in_each_session_and_nobody_else_does(
    tmp_path: Path, server: str
) -> None:
    async def act(house: House) -> None:
        assert await registers(house, "lea", server)
        for number in range(4):
            for name in ("lea", "lou", "lux", "liz", *OTHERS):
                await reaches(house, name, server, number)
        assert {asked.who for asked in house.asked.values() if asked.got.get(server)} == {
            "lea",
            "lou",
            "lux",
            "liz",
        }

    played(tmp_path, act)


def test_whoever_has_no_session_registers_what_stays_and_nothing_else(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert not await registers(house, "liz", "reg_a")
        assert await registers(house, "liz", "reg_c")
        assert await registers(house, "lux", "reg_a")
        for name in ("liz", "lux", "lea", *OTHERS):
            await reaches(house, name, "reg_a", 0)
            await reaches(house, name, "reg_c", 3)
        await looked(house, ["reg_a"])
        house.clients["lux"].close()
        await house.pass_time(1.0)
        house.leaves("reg_a")
        house.clients["lux"].connect()
        await house.rest()
        await reaches(house, "liz", "reg_c", 1)

    played(tmp_path, act)


def test_others_neither_find_nor_take_nor_end_it(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert await registers(house, "lou", "reg_b")
        for name in ("ida", "gus", "kim"):
            assert not await registers(house, name, "reg_b")
            await deregisters(house, name, "reg_b")
            await finds(house, name, "mgp/discovery/list")
        await reaches(house, "lea", "reg_b", 0)
        await deregisters(house, "lea", "reg_b")
        assert not await registers(house, "ida", "reg_b")  # the id stays whose it was
        await finds(house, "lea", "mgp/discovery/list")
        assert await registers(house, "lea", "reg_b")

    played(tmp_path, act)


def test_others_hear_nothing_of_what_comes_and_goes(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("gus", "ida", "kim", "lea"):
            await subscribes(house, name, ["system.*"])
        before = house.heard.copy()
        assert await registers(house, "lea", "reg_a")
        await deregisters(house, "lou", "reg_a")
        after = house.heard - before
        told = {name for name in after if name.startswith("client notifications/mgp.")}
        assert "client notifications/mgp.event" in told
        # Whoever else had heard of it, the judge had said so.
        assert house.heard["client notifications/mgp.lifecycle"] > 0

    played(tmp_path, act)


def test_one_for_a_session_ends_with_that_and_another_stays(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for server in REGISTERED:
            assert await registers(house, "lea", server)
        asked, end, _ = await calls(house, "lou", "reg_a")
        house.clients["lou"].close()
        house.clients["lou"].connect()
        await house.pass_time(1.0)
        await reaches(house, "lou", "reg_a", 0)  # of which that is not the session
        house.comes_or_goes("reg_a")
        house.clients["lea"].close()
        await house.pass_time(1.0)
        house.leaves("reg_a")
        house.clients["lea"].connect()
        await house.rest()
        await house.pass_time(0.3)
        for server in REGISTERED:
            await reaches(house, "lea", server, 0)
        assert asked.gone
        assert not house.current(end)

    played(tmp_path, act)


def test_one_that_stays_is_there_after_a_restart_and_still_its_owners(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for server in REGISTERED:
            assert await registers(house, "lea", server)
        await house.restart()
        assert list(house.joined) == ["reg_b", "reg_c"]
        for name in ("lou", "lux", "liz", *OTHERS):
            for server in REGISTERED:
                await reaches(house, name, server, 0)
        assert not await registers(house, "ida", "reg_a")

    played(tmp_path, act)


def test_what_runs_when_it_is_deregistered_comes_to_its_end(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert await registers(house, "lea", "reg_b")
        asked, end, one = await calls(house, "lea", "reg_b")
        await deregisters(house, "lea", "reg_b")
        await reaches(house, "lea", "reg_b", 0)
        end.answered(one)
        end.say(one.ident, id=one.ident, result={"content": []})
        await house.rest()
        assert "content" in asked.heard
        await house.pass_time(0.1)
        assert house.servers["reg_b"].ends == []

    played(tmp_path, act)


def test_an_event_of_it_is_its_owners(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("lea", "gus", "kim"):
            assert await subscribes(house, name, ["tool.*"])
        assert await registers(house, "lea", "reg_a")
        (end,) = [one for one in house.servers["reg_a"].ends if one.subscribed_to]
        (ident,) = end.subscribed_to
        await sends(house, end, ident, "tool.flood")
        assert list(house.heard_events) == [("lea", 0)]

    played(tmp_path, act)


@pytest.mark.parametrize("name", ["ann", "cid"])
def test_what_another_registers_takes_no_yes_away(tmp_path: Path, name: str) -> None:
    """An approval is bound to what was configured, and not to what others register meanwhile."""

    async def act(house: House) -> None:
        asked = puts_off(house, name, "evil", "")
        await house.rest()
        assert await registers(house, "lea", "reg_a")
        await yes(house)
        assert asked.got == {"evil": 1}

    played(tmp_path, act)


def test_what_it_claims_changes_no_name_that_others_see(tmp_path: Path) -> None:
    """What it has is shown qualified, to who sees it."""

    async def act(house: House) -> None:
        evil, mine = house.servers["evil"], house.servers["reg_b"]
        evil.foreign, mine.foreign = "reg_b", "one"
        for end in list(evil.ends):
            house.promised("evil", "resources")
            end.say(None, method="notifications/resources/list_changed", params={})
        await house.rest()
        await house.pass_time(2.0)
        before = await resources(house, "ann")
        assert "one://r" in before
        assert await registers(house, "lea", "reg_b")
        assert await resources(house, "ann") == before
        both = await resources(house, "lea")
        assert "one://r" in both
        named = {uri for uri, whose in both.items() if whose == {"reg_b"}}
        assert named
        assert all(one.startswith("gatewright://reg_b/") for one in named)
        for uri in named:
            asked = house.clients["lea"].request(
                "resources/read", {"uri": uri}, frozenset({"reg_b"})
            )
            await house.rest()
            assert asked.got == {"reg_b": 1}

    played(tmp_path, act)


async def resources(house: House, who: str) -> dict[str, set[str]]:
    """What a client is shown, by URI: and whose that is."""
    client = house.clients[who]
    client.request("resources/list", {}, visible(who))
    await house.rest()
    return client.listed


def test_a_yes_is_to_what_was_registered_then(tmp_path: Path) -> None:
    """Another program may be behind the same name by now."""

    async def act(house: House) -> None:
        assert await registers(house, "lea", "reg_b")
        asked = puts_off(house, "lea", "reg_b", "same")
        await house.rest()
        await deregisters(house, "lea", "reg_b")
        assert await registers(house, "lea", "reg_b")
        again = puts_off(house, "lea", "reg_b", "same")
        await house.rest()
        old, new = house.undecided()
        house.decides(old, yes=True)
        await house.rest()
        assert not asked.got
        assert not again.got
        house.decides(new, yes=True)
        await house.rest()
        assert [asked.got, again.got].count({"reg_b": 1}) == 1

    played(tmp_path, act)


def test_a_call_to_what_is_not_registered_is_a_fault(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        assert await registers(house, "lea", "reg_b")
        asked, end, one = await calls(house, "lea", "reg_b")
        _, found = work_of(house, asked)
        assert found == one
        del house.joined["reg_b"]
        call = {"id": 20, "method": "tools/call", "params": {"name": "do", **one.params}}
        house.judge_server(end, call)
        assert any("not registered" in one for one in house.faults)
        house.faults.clear()

    assert inside(tmp_path, act).faults == []
