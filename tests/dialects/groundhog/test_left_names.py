"""Names whose owners are away."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from gatewright.dialects.groundhog import left_names
from gatewright.dialects.groundhog.left_names import LeftNames
from tests.costs import lines_run


def test_one_more_name_costs_the_same_however_many_there_are() -> None:
    def of(size: int, owners: int) -> int:
        names = LeftNames(size)
        for number in range(size):
            names.keep(f"n{number}", f"o{number % owners}")
        return lines_run(left_names, lambda: names.keep("one more", "o0"))

    few = of(10, 2)
    assert max(of(1000, 1), of(1000, 10), of(1000, 1000)) <= few + 5


@given(st.lists(st.tuples(st.sampled_from("abcdefgh"), st.sampled_from("xyz")), max_size=60))
def test_who_left_most_loses_its_oldest(kept: list[tuple[str, str]]) -> None:
    names = LeftNames(4)
    expected: dict[str, str] = {}
    for name, owner in kept:
        names.keep(name, owner)
        expected.pop(name, None)
        expected[name] = owner
        if len(expected) > 4:
            most = max(Counter(expected.values()).values())
            lost = [one for one in expected if names.owner(one) is None]
            assert len(lost) == 1
            greedy = expected[lost[0]]
            assert Counter(expected.values())[greedy] == most
            assert lost[0] == next(one for one, whose in expected.items() if whose == greedy)
            del expected[lost[0]]
        assert dict(names.items()) == expected
