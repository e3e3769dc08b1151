"""A server that takes nothing more is told from one that had trouble for a moment."""

from __future__ import annotations

from gatewright.transport.refusals import Refusals


class Clock:
    """The loop's."""

    def __init__(self) -> None:
        self.now = 100.0

    def time(self) -> float:
        """Now."""
        return self.now


def timed() -> tuple[Refusals, Clock]:
    """Refusals, and their clock."""
    refusals, clock = Refusals(), Clock()
    refusals._loop = clock  # type: ignore[assignment]
    return refusals, clock


async def test_refusals_last_from_the_first_until_something_gets_through() -> None:
    refusals, clock = timed()
    assert not refusals.last(0.0)
    refusals.again()
    clock.now = 105.0
    refusals.again()
    assert not refusals.last(10.0)
    clock.now = 110.0
    assert not refusals.last(10.0)
    refusals.again()
    assert refusals.last(10.0)
    refusals.over()
    assert not refusals.last(10.0)
    refusals.again()
    assert not refusals.last(10.0)


async def test_two_refusals_far_apart_are_none_that_lasted() -> None:
    """One refused connection, and one an hour later, and the connection of all was given up."""
    refusals, clock = timed()
    refusals.again()
    clock.now += 3600.0
    assert not refusals.last(10.0)
    refusals.again()
    assert not refusals.last(10.0)
    clock.now += 20.0
    refusals.again()
    assert refusals.last(10.0)
    clock.now += 3600.0
    assert not refusals.last(10.0)


async def test_refusals_are_as_old_as_the_first_of_them() -> None:
    refusals, clock = timed()
    assert refusals.for_s == 0.0
    refusals.again()
    clock.now += 20.0
    refusals.again()
    assert refusals.for_s == 20.0
    refusals.over()
    assert refusals.for_s == 0.0
