"""How many events a server may send, and whose."""

from __future__ import annotations

import pytest

from gatewright.events.event_rate import BURST, RATE, UNKNOWN_MOST, EventRate


@pytest.mark.parametrize("others", [1, 10, 200])
def test_who_subscribes_to_loud_channels_makes_nobody_deaf_to_a_rare_one(others: int) -> None:
    """One event in ten seconds is heard, however many others take however much."""
    rate, heard = EventRate(0.0), 0
    rate.share(0.0, ["rare", *(f"loud{n}" for n in range(others))])
    for second in range(60):
        for at in range(600):
            rate.takes(second + at / 1000, f"loud{at % others}")
        if second % 10 == 9:
            heard += rate.takes(second + 0.999, "rare")
    assert heard == 6
    assert "rare" not in rate.dropped


@pytest.mark.parametrize("subscriptions", [0, 1, 3, 40])
def test_all_together_say_no_more_than_the_server_may(subscriptions: int) -> None:
    rate, idents = EventRate(0.0), list(range(subscriptions))
    rate.share(0.0, idents)
    total = sum(rate.takes(at / 1000, at % (subscriptions + 1)) for at in range(20_000))
    assert total <= BURST + subscriptions + 20 * RATE
    alone = sum(rate.takes(100.0, 0) for _ in range(2 * BURST))
    assert alone <= BURST


def test_one_that_is_alone_has_nearly_all_of_it() -> None:
    rate = EventRate(0.0)
    rate.share(0.0, ["a"])
    assert sum(rate.takes(1.0, "a") for _ in range(2 * BURST)) == BURST
    assert sum(rate.takes(1 + at / 1000, "a") for at in range(10_000)) >= 10 * RATE - 2


def test_who_subscribes_anew_again_and_again_has_no_new_burst() -> None:
    rate = EventRate(0.0)
    while rate.takes(0.0, "a"):
        pass
    found = 0
    for number in range(10):
        rate.share(0.0, [f"a{number}"])
        found += sum(rate.takes(0.0, f"a{number}") for _ in range(20))
    assert found == 10


def test_what_is_dropped_of_ids_that_nobody_knows_takes_no_room_of_others() -> None:
    rate = EventRate(0.0)
    rate.share(0.0, ["known", "gone"])
    for number in range(3 * BURST):
        rate.takes(0.0, f"made up {number}")
    assert len(rate.dropped) == UNKNOWN_MOST
    for ident in ("known", "gone"):
        assert rate.takes(0.0, ident)
        assert not rate.takes(0.0, ident)
    assert (rate.dropped["known"], rate.dropped["gone"]) == (1, 1)
    rate.share(0.0, ["known"])
    assert "gone" not in rate.dropped
