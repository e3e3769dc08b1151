"""Many registrations at once leave most of the time to everybody else."""

from __future__ import annotations

import asyncio

import msgspec

from gatewright.call import Answer, Call, Caller, Failure, Refusal
from gatewright.dialects.groundhog.register import Register, Shipped
from gatewright.dialects.groundhog.sandboxed_run import Level
from gatewright.servers.listing import Listing
from tests.dialects.groundhog.requests import REGISTER
from tests.dialects.groundhog.test_register import BASE, NOBODY, House, by_connection, call


def named(name: str, caller: str = "root") -> Call:
    request = by_connection() | {"tool_metadata": {"name": name, "version": "1.0.0"}}
    return call("tools/register", request, Caller(caller, "operator"))


async def test_registrations_come_one_after_the_other_and_rest_between() -> None:
    """What is offered is made anew with each, so that nobody else would have a turn."""
    house, running = House(), set[str]()
    rests: list[float] = []

    async def rest(seconds: float) -> None:
        rests.append(seconds)
        assert len(running) == len(rests)
        await asyncio.sleep(0)

    def used(name: str) -> str:
        running.add(name)
        return ""

    register = Register(msgspec.structs.replace(house.making, used=used), rest)
    found = await asyncio.gather(*(register(named(f"t{n}"), NOBODY) for n in range(5)))
    assert all(isinstance(one, Answer) for one in found)
    assert len(rests) == 5
    assert min(rests) > 0


async def test_a_trial_of_isolation_holds_up_nobody_elses_registration() -> None:
    house, go, begun = House(), asyncio.Event(), asyncio.Event()

    async def prove(level: Level) -> str:
        begun.set()
        await go.wait()
        return "no such thing"

    shipped = Shipped(BASE, house._make, prove)
    register = Register(msgspec.structs.replace(house.making, shipped={"directory_list": shipped}))
    trying = [
        asyncio.create_task(
            register(call("tools/register", REGISTER, Caller(f"c{n}", "operator")), NOBODY)
        )
        for n in range(3)
    ]
    await begun.wait()
    async with asyncio.timeout(5):
        answered = await register(named("mine", "bob"), NOBODY)
    assert isinstance(answered, Answer)
    assert not any(one.done() for one in trying)
    go.set()
    found = await asyncio.gather(*trying)
    assert [type(one) for one in found] == [Refusal] * 3
    assert register._own == {}


async def test_who_registers_many_tools_is_in_front_of_others_once() -> None:
    house, order = House(), list[str]()

    async def rest(seconds: float) -> None:
        await asyncio.sleep(0)

    def used(name: str) -> str:
        order.append(name)
        return ""

    register = Register(msgspec.structs.replace(house.making, used=used), rest)
    asked = [*(named(f"a{n}", "ann") for n in range(20)), named("b", "bob")]
    await asyncio.gather(*(register(one, NOBODY) for one in asked))
    order = list(dict.fromkeys(order))
    assert order.index("b") <= 2
    assert [one for one in order if one != "b"] == [f"a{n}" for n in range(20)]
    assert register._own == {}


async def test_what_will_be_listed_is_made_ready_before_it_is_offered_and_is_what_is_then_listed() -> (
    None
):
    house, ready = House(), list[tuple[object, int]]()

    async def ahead(listing: Listing) -> None:
        ready.append((listing, len(house.registry.tools)))
        await asyncio.sleep(0)

    register = Register(msgspec.structs.replace(house.making, ahead=ahead))
    told: list[Listing] = []
    house.registry.changed.listen(told.append)
    for name in ("a", "b", "a"):
        assert isinstance(await register(named(name), NOBODY), Answer)
    assert [count for _, count in ready] == [0, 1]
    assert [id(one) for one in told] == [id(one) for one, _ in ready]


async def test_what_somebody_else_lists_while_it_is_made_ready_is_not_registered() -> None:
    house = House()

    async def ahead(listing: Listing) -> None:
        house.users["a"] = "files"

    register = Register(msgspec.structs.replace(house.making, ahead=ahead))
    found = await register(named("a"), NOBODY)
    assert isinstance(found, Failure)
    assert found.reason == "registration_conflict"
    assert house.registry.tools == ()


async def test_what_was_made_ready_is_not_offered_where_something_has_left_meanwhile() -> None:
    house = House()
    register = Register(house.making)
    assert isinstance(await register(named("a"), NOBODY), Answer)

    async def ahead(listing: Listing) -> None:
        house.registry.remove(("a", "1.0.0"))

    register = Register(msgspec.structs.replace(house.making, ahead=ahead))
    assert isinstance(await register(named("b"), NOBODY), Answer)
    assert [bytes(one["name"]) for one in house.registry.listing.of("tools")] == [b'"b"']


async def test_what_is_listed_is_made_ready_anew_where_something_has_left_meanwhile() -> None:
    """A few times: it is offered also where something leaves each time."""
    house, told = House(), list[Listing]()
    leaving = ["a", "b", "c", "d"]
    for name in leaving:
        assert isinstance(await house.register(named(name), NOBODY), Answer)
    ready: list[Listing] = []

    async def ahead(listing: Listing) -> None:
        ready.append(listing)
        if len(ready) in {1, 3, 4, 5}:
            house.registry.remove((leaving.pop(), "1.0.0"))

    house.registry.changed.listen(told.append)
    register = Register(msgspec.structs.replace(house.making, ahead=ahead))
    assert isinstance(await register(named("new"), NOBODY), Answer)
    assert len(ready) == 2
    assert told[-1] is ready[-1]
    assert isinstance(await register(named("newer"), NOBODY), Answer)
    assert len(ready) == 5
    assert [tool.name for tool in house.registry.tools] == ["new", "newer"]
    assert len(house.registry.listing.of("tools")) == 2
