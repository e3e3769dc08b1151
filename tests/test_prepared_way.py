"""Nothing outlives the way to its server that a prepared call takes, nor that nobody listens; and each thing that is looked at stands in the table of mutants."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchmarks.standing import BLIND
from gatewright.call import ANONYMOUS, Call, Caller
from gatewright.events.methods import EventMethods
from gatewright.events.subscription import Subscription
from gatewright.prepared import Prepared
from tests.gate_parts import a_call
from tests.prepared_blind import blind, names_of
from tests.prepared_house import PreparedHouse, prepared_house

TELL = "obedient__tell"
OPERATOR = Caller("op", "operator")
EVERYTHING: dict[str, Any] = {
    "redaction": {"terms": ["Nightjar"]},
    "of_tools": {"tell": {"validator": "paths", "validator_args": ["/text"]}},
}


def _made(house: PreparedHouse) -> Prepared:
    (made,) = house.prepared.known.values()
    found: Prepared = made
    return found


def _server(house: PreparedHouse) -> Any:
    return house.gateway.supervisor.fleet.servers["obedient"]


def _says_roots_late(house: PreparedHouse) -> None:
    line: Any = _made(house).line
    line._keeper.late = True


def _is_to_be_woken(house: PreparedHouse) -> None:
    _server(house).life.quiet = True


def _is_connected_anew(house: PreparedHouse) -> None:
    relisting = _server(house)._relisting
    relisting.begins()
    with relisting.ends():
        pass


def _is_listed_anew(house: PreparedHouse) -> None:
    server = _server(house)
    server.listing = server.listing.__copy__()


def _takes_no_more(house: PreparedHouse) -> None:
    _server(house)._lanes._closed = True


def _has_another_connection(house: PreparedHouse) -> None:
    """It is not there for a moment."""
    line: Any = _made(house).line
    line._keeper.link = None


def _has_a_connection_that_leaves(house: PreparedHouse) -> None:
    line: Any = _made(house).line
    line._link.open = False


def _events(house: PreparedHouse) -> EventMethods:
    hooks = (
        getattr(hook, "__self__", None)
        for one in house.gateway._around
        for hook in one.hooks.stands
    )
    return next(one for one in hooks if isinstance(one, EventMethods))


def _is_listened_to(house: PreparedHouse) -> None:
    """Somebody wants to hear of calls that start."""
    _hears_of_starts(house, OPERATOR)


def _hears_of_starts(house: PreparedHouse, caller: Caller, session: str = "its") -> Subscription:
    every = _events(house).every
    made = every.begin(a_call(caller=caller, session=session), ("tool.started",), None, 0)
    every.accept(made, ("tool.started",))
    return made


CHANGES: dict[str, Callable[[PreparedHouse], object]] = {
    "Reconnector.late": _says_roots_late,
    "ServerLife.quiet": _is_to_be_woken,
    "Relisting.count": _is_connected_anew,
    "Server.listing": _is_listed_anew,
    "SessionAffinity._closed": _takes_no_more,
    "Reconnector.link": _has_another_connection,
    "PipeLink.open": _has_a_connection_that_leaves,
    "EventMethods.tells_starts": _is_listened_to,
}


@pytest.mark.parametrize("name", sorted(CHANGES))
async def test_what_a_prepared_call_is_sent_by_is_looked_at_with_each(
    tmp_path: Path, name: str
) -> None:
    """Each by itself: whoever did not look at it would go by what was."""
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        made = _made(house)
        assert made.holds()
        CHANGES[name](house)
        assert not made.holds()
        client.close()


async def test_a_call_that_somebody_wants_to_hear_of_is_a_prepared_one(tmp_path: Path) -> None:
    """MGP-13.5-1. It is told once, and its caller's neighbour hears nothing of it; when nobody listens any more, nothing is told."""
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        operator = _hears_of_starts(house, OPERATOR)
        mine = _hears_of_starts(house, ANONYMOUS, client.session)
        other = _hears_of_starts(house, ANONYMOUS)
        await house.warm(client)
        heard = operator.sequence
        for at in range(3):
            assert await house.served(client, TELL, f"so {at}") == (f"so {at}", True)
        assert (operator.sequence, mine.sequence, other.sequence) == (heard + 3, heard + 3, 0)
        for one in (operator, mine, other):
            _events(house).every.end(one)
        await house.warm(client)
        assert operator.sequence == heard + 3
        client.close()


async def test_who_breaks_when_told_of_a_start_costs_no_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(call: Call) -> None:
        raise RuntimeError("so")

    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        _hears_of_starts(house, OPERATOR)
        await house.warm(client)
        monkeypatch.setattr(_made(house), "_sent", (breaks,))
        line: Any = _made(house).line
        sent = line._link._next
        assert await house.served(client, TELL, "so") == ("so", True)
        assert (line._link._next, house.gateway.kernel.in_flight) == (sent + 1, 0)
        client.close()


async def test_a_session_that_nobody_owns_any_more_is_asked_about_with_each_call(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        del house.gateway._owners[client.session]
        assert await house.served(client, TELL, "so") == ("session_unknown", False)
        client.close()


async def test_what_a_validator_objects_to_is_refused_by_the_walk(tmp_path: Path) -> None:
    async with prepared_house(tmp_path, **EVERYTHING) as house:
        client = await house.client()
        await house.warm(client)
        said, prepared = await house.served(client, TELL, "../above")
        assert (said, prepared) == ("validation_blocked", False)
        client.close()


async def test_what_nobody_sees_leaves_the_arguments_of_a_call_like_many_others(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path, redaction={"hidden": "remove"}) as house:
        client = await house.client()
        said = [await client.text(TELL, f"{at}") for at in range(6)]
        assert said == [f"{at}" for at in range(6)]
        assert await house.served(client, TELL, "so\u200b") == ("so", False)
        client.close()


async def test_a_result_that_leads_to_a_resource_is_not_passed_on_as_it_is(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        link = b'{"content":[{"type":"resource_link","uri":"notes://a","name":"a"}]}'
        assert not _made(house).is_plain(link)
        assert _made(house).is_plain(b'{"content":[{"type":"text","text":"notes"}]}')
        client.close()


async def test_all_that_is_looked_at_stands_in_the_table_of_mutants(tmp_path: Path) -> None:
    async with prepared_house(tmp_path, **EVERYTHING) as house:
        _, key = house.gateway.callers.create("ada", by="test")
        client = await house.client(key)
        await house.warm(client)
        known = {one.name for one in BLIND}
        assert set(names_of(_made(house))) <= known
        client.close()


async def test_a_mutant_does_not_look(tmp_path: Path) -> None:
    with blind("Layer.changes"):
        async with prepared_house(tmp_path) as house:
            client = await house.client()
            await house.warm(client)
            assert "Layer.changes" not in names_of(_made(house))
            client.close()


async def test_a_call_that_cannot_be_sent_at_once_is_made_once_and_counted_once(
    tmp_path: Path,
) -> None:
    """Who counted it gives it back, and what was noted of it is taken back: the walk does both again."""
    most = {"per_minute": 12}
    limits = {"calls": {"caller": most, "server": most, "tool": most}}
    async with prepared_house(tmp_path, limits=limits) as house:
        client = await house.client()
        said: list[tuple[str, bool]] = []
        while not said or not said[-1][1]:
            said.append(await house.served(client, TELL, "so"))
        line: Any = _made(house).line
        line.send = lambda *_: False
        said += [await house.served(client, TELL, "so") for _ in range(13 - len(said))]
        assert [one for one, _ in said] == ["so"] * 12 + ["rate_limited"]
        assert sum(prepared for _, prepared in said) == 1
        record = house.gateway.audit
        assert (record._intents.running(), record._calls.running) == (0, 0)
        assert (line._calls.count, house.gateway.kernel.in_flight) == (0, 0)
        client.close()


async def test_what_one_limit_refuses_costs_nothing_of_another(tmp_path: Path) -> None:
    calls = {"caller": {"per_minute": 12}, "tool": {"per_minute": 6}}
    async with prepared_house(tmp_path, limits={"calls": calls}) as house:
        client = await house.client()
        said = [await house.served(client, TELL, "so") for _ in range(12)]
        assert [one for one, _ in said] == ["so"] * 6 + ["rate_limited"] * 6
        assert said[5][1]
        others = [await client.text("obedient__other", "so") for _ in range(6)]
        assert others == ["so"] * 6
        client.close()


async def test_what_breaks_once_a_call_is_sent_does_not_send_it_again(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """And it is one of those that run at its server, for as long as it does: who stops that waits for it, and for no other."""

    def breaks(party: str) -> None:
        raise RuntimeError("broken on purpose")

    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        line: Any = _made(house).line
        link, sent = line._link, line._link._next
        link.sole, link.serves = "its", breaks
        assert await house.served(client, TELL, "so") == ("so", True)
        assert "broken on purpose" in caplog.text
        link.sole = None
        assert await house.served(client, TELL, "so") == ("so", True)
        assert (link._next - sent, line._calls.count, len(link._pending)) == (2, 0, 0)
        assert house.gateway.kernel.in_flight == 0
        client.close()


async def test_a_result_that_is_longer_than_its_tool_may_say_is_not_passed_on(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path, of_tools={"tell": {"result_bytes": 100}}) as house:
        client = await house.client()
        await house.warm(client)
        said, prepared = await house.served(client, TELL, "so" * 100)
        assert (prepared, "so" * 100 in said) == (True, False)
        assert await house.served(client, TELL, "so") == ("so", True)
        client.close()
