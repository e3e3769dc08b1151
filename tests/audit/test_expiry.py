"""From when on records are kept."""

from __future__ import annotations

from gatewright.audit.expiry import FOREVER, Expiry

DAY_S = 86_400.0


class Now:
    """A clock that is set."""

    def __init__(self, moment: float) -> None:
        self.moment = moment

    def __call__(self) -> float:
        return self.moment


def test_what_is_older_than_its_days_goes_and_is_asked_for_every_few_hours() -> None:
    now = Now(1_790_000_000.5)
    expiry = Expiry(90, now)
    assert expiry.due() == "2026-06-23T14:13:20.000Z"
    now.moment += 6 * 3600 - 1
    assert expiry.due() == ""
    now.moment += 1
    assert expiry.due() == "2026-06-23T20:13:20.000Z"


def test_where_there_is_more_it_goes_at_once() -> None:
    expiry = Expiry(1, Now(DAY_S))
    assert expiry.due() == "1970-01-01T00:00:00.000Z"
    assert expiry.due() == ""
    expiry.again()
    assert expiry.due() == "1970-01-01T00:00:00.000Z"


def test_a_clock_that_was_set_back_holds_nothing_up() -> None:
    now = Now(100 * DAY_S)
    expiry = Expiry(1, now)
    assert expiry.due()
    now.moment = 50 * DAY_S
    assert expiry.due() == "1970-02-19T00:00:00.000Z"


def test_what_is_older_than_time_itself_begins_with_it() -> None:
    assert Expiry(2, Now(DAY_S)).due() == "1970-01-01T00:00:00.000Z"


def test_for_no_days_everything_is_kept() -> None:
    assert FOREVER.due() == ""
