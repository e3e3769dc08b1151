"""Signals: who listens hears, in order, until it does not listen any more."""

from __future__ import annotations

from gatewright.listeners import Groups, Signal


def test_listeners_hear_in_the_order_in_which_they_came_until_they_end() -> None:
    signal, heard = Signal[int](), list[tuple[str, int]]()
    signal.send(0)
    first = signal.listen(lambda value: heard.append(("first", value)))
    signal.listen(lambda value: heard.append(("second", value)))
    signal.send(1)
    first()
    first()
    signal.send(2)
    assert heard == [("first", 1), ("second", 1), ("second", 2)]


def test_the_same_listener_may_listen_twice_and_each_ends_by_itself() -> None:
    signal, heard = Signal[str](), list[str]()
    ends = [signal.listen(heard.append) for _ in range(2)]
    signal.send("a")
    ends[0]()
    signal.send("b")
    ends[1]()
    signal.send("c")
    assert heard == ["a", "a", "b"]
    assert not signal.listeners


def test_who_ends_or_begins_while_it_is_told_changes_the_next_turn_only() -> None:
    signal, heard = Signal[int](), list[int]()

    def once(value: int) -> None:
        end()
        signal.listen(heard.append)

    end = signal.listen(once)
    signal.listen(heard.append)
    signal.send(1)
    assert heard == [1]
    signal.send(2)
    assert heard == [1, 2, 2]


def test_groups_are_those_who_have_something_in_common() -> None:
    groups: Groups[str, int] = Groups()
    groups.add("a", 1)
    groups.add("a", 2)
    groups.remove("b", 1)
    groups.remove("a", 1)
    assert (list(groups.of("a")), list(groups.of("b")), list(groups)) == ([2], [], ["a"])
