"""Whose a resource is and who hears of it, scene by scene: what the two-sided model comes across by chance, in the fewest steps."""

from __future__ import annotations

from pathlib import Path

import pytest

from gatewright.call import Target
from gatewright.servers.names import wrap_uri
from tests.behaviour.two_sided import House
from tests.behaviour.two_sided_scene import calls, played, work_of


def test_word_of_a_resource_is_from_whom_it_is_of(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        ann = house.clients["ann"]
        ann.wants["two://r"] = {"two"}
        ann.request("resources/subscribe", {"uri": "two://r"}, frozenset({"two"}))
        await house.rest()
        assert ann.holds == {"two://r": "two"}
        (two,), (evil,) = house.servers["two"].ends, house.servers["evil"].ends
        house.servers["evil"].foreign = "two"
        for end in (evil, two, evil):
            params = {"uri": "two://r", "x": f"by-{end.server.name}"}
            end.say(None, method="notifications/resources/updated", params=params)
            await house.rest()
        assert house.told["ann", "two://r"] == 1
        house.promised("evil", "resources")
        evil.say(None, method="notifications/resources/list_changed")
        await house.pass_time(1.0)
        params = {"uri": "two://r", "x": "by-evil"}  # which it lists now
        evil.say(None, method="notifications/resources/updated", params=params)
        await house.rest()
        assert house.told["ann", "two://r"] == 1

    played(tmp_path, act)


def test_a_resource_is_wanted_as_long_as_anybody_wants_it(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        for name in ("ann", "gus"):
            house.clients[name].wants["one://r"] = {"one"}
            whose = frozenset({"one"})
            house.clients[name].request("resources/subscribe", {"uri": "one://r"}, whose)
        await house.rest()
        (end,) = house.servers["one"].ends
        assert end.wanted == {"one://r"}
        house.clients["gus"].close()
        await house.rest()
        assert end.wanted == {"one://r"}
        house.must_be_wanted()
        await house.dies("one")
        (end,) = house.servers["one"].ends
        assert end.wanted == {"one://r"}
        house.clients["ann"].close()
        await house.rest()
        assert end.wanted == set()

    played(tmp_path, act)


def test_a_resource_is_wanted_again_on_the_connection_of_its_session(tmp_path: Path) -> None:
    """Where a server asks things, each session has a connection of its own, and that may end like any other."""

    async def act(house: House) -> None:
        asked, end, one = await calls(house, "gus", "evil")
        end.ask("elicitation/create", one, f"about {asked.mark} by-evil", {})
        await house.rest()
        ann = house.clients["ann"]
        ann.wants["evil://r"] = {"evil"}
        ann.request("resources/subscribe", {"uri": "evil://r"}, frozenset({"evil"}))
        await house.rest()
        assert len(house.servers["evil"].ends) == 2
        assert ann.holds == {"evil://r": "evil"}
        house.must_be_wanted()
        await house.dies("evil")
        assert len(house.servers["evil"].ends) == 2
        house.must_be_wanted()

    played(tmp_path, act)


def test_a_link_leads_whom_it_was_shown_to_and_nobody_else(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        asked, end, one = await calls(house, "ann", "two")
        link = {"type": "resource_link", "uri": "two://l", "name": "l"}
        text = {"type": "text", "text": f"about {asked.mark} by-two"}
        end.answered(one)
        end.say(one.ident, id=one.ident, result={"content": [text, link]})
        await house.rest()
        assert house.links["ann", ""] == {"two://l": {"two"}}
        house.clients["fay"].request("resources/read", {"uri": "two://l"}, frozenset(), may=False)
        await house.rest()
        assert house.every_work() == []
        read = house.clients["ann"].request(
            "resources/read", {"uri": "two://l"}, frozenset({"two"})
        )
        await house.rest()
        assert work_of(house, read)[0] is end

    played(tmp_path, act)


async def names(house: House, server: str, uri: str) -> None:
    """A result of a server names a resource to ann."""
    asked, end, one = await calls(house, "ann", server)
    text = {"type": "text", "text": f"about {asked.mark} by-{server}"}
    link = {"type": "resource_link", "uri": uri, "name": "l"}
    end.answered(one)
    end.say(one.ident, id=one.ident, result={"content": [text, link]})
    await house.rest()


@pytest.mark.parametrize("uri", ["two://r", "two://r/7"])
def test_a_link_to_what_another_claims_is_qualified(tmp_path: Path, uri: str) -> None:
    async def act(house: House) -> None:
        await names(house, "evil", uri)
        assert house.links["ann", ""] == {wrap_uri(Target("evil", uri)): {"evil"}}

    played(tmp_path, act)


def test_what_two_results_name_alike_is_plain_for_the_first_alone(tmp_path: Path) -> None:
    async def act(house: House) -> None:
        await names(house, "two", "any://l")
        await names(house, "evil", "any://l")
        second = wrap_uri(Target("evil", "any://l"))
        assert house.links["ann", ""] == {"any://l": {"two"}, second: {"evil"}}

    played(tmp_path, act)
