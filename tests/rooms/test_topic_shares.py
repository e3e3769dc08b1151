"""One participant can open a part of all topics, whoever else is in them."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from gatewright.call import Caller
from gatewright.rooms import topic_shares
from gatewright.rooms.hub import NoPlace, Place
from gatewright.rooms.policy import Identity, Topic
from gatewright.rooms.topic_shares import LEAST
from tests.rooms.hall import FULL
from tests.rooms.test_hub import Chair, Table


def join(table: Table, name: str, topic: str, **more: Any) -> Place:
    return table.hub.join(Identity(name, FULL, **more), topic, Chair())


def test_who_opens_topics_without_end_leaves_room_for_others() -> None:
    table = Table(max_topics=200, topics={"named": Topic()})
    places = [join(table, "eve", f"t{number}") for number in range(20)]
    with pytest.raises(NoPlace, match="20 topics that you opened exist still") as refused:
        join(table, "eve", "another")
    assert refused.value.refusal.reason == "resource_exhausted"
    join(table, "eve", "named")
    join(table, "ann", "another")
    join(table, "eve", "another")  # to join is not to open
    join(table, "eve", "by an operator", caller=Caller("eve", "operator"))  # another of that name
    places[0].leave()
    join(table, "eve", "instead")
    stays = join(table, "ann", "t1")
    places[1].leave()  # it exists still, and is for ann to answer for
    join(table, "eve", "and another")
    with pytest.raises(NoPlace, match="that you opened"):
        join(table, "eve", "and one more")
    stays.leave()
    assert table.hub._shares._each[("agent", "ann")] == 1


def test_two_who_stay_for_each_other_have_two_shares_and_no_more() -> None:
    table = Table(max_topics=200)
    for number in range(20):
        opened = join(table, "eve", f"t{number}")
        join(table, "mallory", f"t{number}")
        opened.leave()
    for number in range(20, 40):
        opened = join(table, "eve", f"t{number}")
        join(table, "mallory", f"t{number}")
        opened.leave()
    with pytest.raises(NoPlace, match="nobody else in them"):
        join(table, "eve", "another")
    with pytest.raises(NoPlace, match="nobody else in them"):
        join(table, "mallory", "another")
    house = join(table, "house", "t39", way="gateway")
    with pytest.raises(NoPlace, match="nobody else in them"):
        join(table, "eve", "another")
    house.leave()
    late = join(table, "ann", "t39")
    late.leave()
    join(table, "ann", "t38")
    join(table, "bob", "t38").leave()
    join(table, "eve", "another")  # ann answers for one of them


def test_all_without_a_token_share_and_the_gateway_has_no_bound() -> None:
    table = Table(max_topics=1000)
    for number in range(100):
        join(table, f"anonymous-{number}", f"t{number}", way="anonymous")
    with pytest.raises(NoPlace, match="that you opened"):
        join(table, "anonymous-100", "another", way="anonymous")
    for number in range(110):
        join(table, "house", f"own-{number}", way="gateway")


def test_where_there_may_be_few_topics_one_may_open_them() -> None:
    table = Table(max_topics=LEAST)
    for number in range(LEAST):
        join(table, "eve", f"t{number}")
    with pytest.raises(NoPlace, match="no room for another topic"):
        join(table, "eve", "another")


def test_who_leaves_a_large_topic_asks_a_few_of_the_others_at_most(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Also where all leave in the order in which they came, or nobody of them may open another."""
    asked: list[tuple[str, str]] = []

    class Noted(Counter[tuple[str, str]]):
        def __getitem__(self, who: tuple[str, str]) -> int:
            asked.append(who)
            return super().__getitem__(who)

    for share in (LEAST, 0):
        table = Table(max_topics=200)
        places = [join(table, f"p{number}", "t") for number in range(300)]
        monkeypatch.setattr(topic_shares, "_share", lambda _, share=share: share)
        table.hub._shares._each = Noted(table.hub._shares._each)
        for place in places:
            asked.clear()
            place.leave()
            assert len(asked) <= 40
        assert table.hub._shares._each == {}


def test_one_who_may_answer_for_a_topic_is_found_however_many_may_not() -> None:
    table = Table(max_topics=100)
    opened = join(table, "eve", "t")
    places = []
    for number in range(100):
        places.append(join(table, f"full-{number}", "t"))
        table.hub._shares._each["agent", f"full-{number}"] = LEAST
    join(table, "ann", "t")
    opened.leave()
    for place in places[:4]:
        place.leave()
    assert table.hub._shares._each["agent", "ann"] == 1
    assert table.hub._shares._each["agent", "eve"] == 0


def test_who_comes_again_in_anothers_rights_does_not_answer_for_what_the_former_opened() -> None:
    table = Table()
    join(table, "eve", "t")
    join(table, "eve", "t", caller=Caller("eve", "operator"))
    assert table.hub._shares._each == {("operator", "eve"): 1}
