"""Whoever is about a channel is found by its name and by what it begins with, as `matches` says it, without a look at the others."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.events import channel_index
from gatewright.events.channel_index import ChannelIndex
from gatewright.events.channels import matches
from tests.costs import lines_run

_SEGMENTS = st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(
    lambda some: ".".join(["tool", *some])
)
_PATTERNS = _SEGMENTS | _SEGMENTS.map(lambda name: f"{name}.*") | st.just("tool.*")


@given(st.lists(st.lists(_PATTERNS, max_size=3), max_size=6), _SEGMENTS)
def test_those_are_found_whose_patterns_match(put: list[list[str]], channel: str) -> None:
    index: ChannelIndex[int] = ChannelIndex()
    for at, names in enumerate(put):
        index.put(at, ("tool.a", "tool.c.*"))  # what it was about before
        index.put(at, tuple(names))
    expected = {at for at, names in enumerate(put) if any(matches(one, channel) for one in names)}
    found = index.about(channel)
    assert (set(found), len(found)) == (expected, len(expected))
    assert index.any(channel) == bool(expected)
    assert sorted(index.among(channel, range(3))) == sorted(expected & {0, 1, 2})
    assert len(index) == sum(bool(names) for names in put)


def test_what_is_about_nothing_any_more_leaves_nothing_behind() -> None:
    index: ChannelIndex[int] = ChannelIndex()
    index.put(1, ("tool.a", "tool.*"))
    index.put(1, ())
    assert (len(index), index.any("tool.a"), index._names._groups) == (0, False, {})


def test_a_change_of_one_costs_the_same_however_many_there_are() -> None:
    index: ChannelIndex[int] = ChannelIndex()
    counts = []
    for many in (10, 1000):
        for at in range(many):
            index.put(at, ("tool.*", "model.x"))

        def change() -> None:
            index.put(5, ("tool.completed",))
            index.any("tool.started")
            index.among("tool.completed", (5,))

        counts.append(lines_run(channel_index, change))
    assert counts[0] == counts[1]


def test_those_of_many_that_are_about_something_rare_are_found_without_a_look_at_the_others() -> (
    None
):
    counts = []
    for many in (100, 1000):
        index: ChannelIndex[int] = ChannelIndex()
        for at in range(many):
            index.put(at, ("x.*",))
        index.put(many, tuple(f"a.{'a.' * at}*" for at in range(20)))
        some = dict.fromkeys(range(many + 1))
        assert index.among(f"a.{'a.' * 20}b", some) == [many]
        counts.append(lines_run(channel_index, lambda: index.among(f"a.{'a.' * 20}b", some)))  # noqa: B023
    assert counts[0] == counts[1]
