from __future__ import annotations

from functools import partial

from hypothesis import given
from hypothesis import strategies as st

from gatewright.dialects.groundhog import name_owners
from gatewright.dialects.groundhog.name_owners import NameOwners
from gatewright.schemas.lookalikes import keys
from tests.costs import lines_run

NAMES = st.sampled_from(["pay_out", "Pay.out", "pay-0ut", "tool", "t00l", "tooI", "other"])
OWNERS = st.sampled_from(["", "key ann", "key bob"])


@given(st.lists(st.tuples(NAMES, st.none() | OWNERS), max_size=40), NAMES, OWNERS)
def test_a_look_up_finds_what_a_walk_through_all_finds(
    done: list[tuple[str, str | None]], name: str, owner: str
) -> None:
    names, expected = NameOwners(), dict[str, str]()
    for one, whose in done:
        expected.pop(one, None)
        if whose is None:
            names.free(one)
        else:
            names.take(one, whose)
            expected[one] = whose
    assert names.owner(name) == expected.get(name)
    looks = set(keys(name))
    others = {
        one
        for one, whose in expected.items()
        if whose != owner and one != name and not looks.isdisjoint(keys(one))
    }
    found = names.alike(name, owner)
    assert found in others if others else found == ""
    for one in list(expected):
        names.free(one)
    assert not names._alike


def come(names: NameOwners) -> None:
    assert not names.alike("fresh", "key new")
    names.take("fresh", "key new")


def test_one_more_name_costs_the_same_however_many_there_are() -> None:
    def of(count: int) -> int:
        names = NameOwners()
        for number in range(count):
            names.take(f"n{number}", f"key {number % 10}")
        return lines_run(name_owners, partial(come, names))

    assert of(1000) <= of(10)
