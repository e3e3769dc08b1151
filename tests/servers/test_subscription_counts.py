"""How many resources of a server one caller may wait to hear of."""

from __future__ import annotations

from collections import Counter

import pytest
from msgspec.structs import replace

from gatewright.call import ANONYMOUS, Call, Caller, UserContext
from gatewright.servers import subscription_counts
from gatewright.servers.resource_subscriptions import SEVERAL
from gatewright.servers.subscription_counts import WishCounts
from tests.servers.rig import make_call

ANN, BOB = Caller("ann"), Caller("bob")


class Counted:
    """Counts of wishes that a test makes."""

    def __init__(self) -> None:
        self.has: Counter[str] = Counter()
        self.counts = WishCounts(lambda holder, _: self.has[holder])

    def wishes(self, call: Call, number: int = 1) -> None:
        """So many more."""
        for _ in range(number):
            assert not self.full(call)
            self.counts.add(str(call.holder), call)
            self.has[str(call.holder)] += 1

    def full(self, call: Call) -> bool:
        refused = self.counts.refusal(call)
        assert refused is None or refused.reason == "resource_exhausted"
        return refused is not None


def of(caller: Caller, session: str | None, listen: str | None = None) -> Call:
    return make_call("method", "resources/subscribe", session=session, caller=caller, listen=listen)


def test_a_caller_has_so_many_over_all_its_sessions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription_counts, "WISHES_EACH", 3)
    made = Counted()
    made.wishes(of(ANN, "s"), 2)
    made.wishes(of(ANN, "t", "listen 1"))
    assert made.full(of(ANN, "u"))
    assert not made.full(of(BOB, "v"))
    successor = WishCounts(lambda holder, _: made.has[holder])
    successor.follow(made.counts)
    assert successor.refusal(of(ANN, "u")) is not None
    assert [successor.whose(one) for one in ("s", "listen 1")] == [ANN.who] * 2


def test_what_is_not_wanted_any_more_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subscription_counts, "WISHES_EACH", 2)
    made = Counted()
    made.wishes(of(ANN, "s"), 2)
    made.counts.settle("s")
    assert made.full(of(ANN, "s"))
    made.has["s"] = 0
    assert not made.full(of(ANN, "s"))
    for end in (made.counts.settle, made.counts.forget, made.counts.forget):
        end("s")
    assert made.counts._whose == {}
    assert not any(made.counts._holders.values())


def test_callers_without_a_name_have_each_their_own_and_less_the_more_they_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A new one is refused nothing for what others have; who has most is refused first."""
    monkeypatch.setattr(subscription_counts, "WISHES_EACH", 6)
    monkeypatch.setattr(subscription_counts, "NAMELESS_MOST", 12)
    monkeypatch.setattr(subscription_counts, "NAMELESS_LEAST", 2)
    made = Counted()
    made.wishes(of(ANONYMOUS, "a"), 5)
    made.wishes(of(ANONYMOUS, "a", "listen 1"), 1)
    assert made.full(of(ANONYMOUS, "a", "listen 2"))
    made.wishes(of(ANONYMOUS, None, "listen 3"), 6)
    made.wishes(of(ANONYMOUS, "b"), 4)
    assert made.full(of(ANONYMOUS, "b"))
    for number in range(20):
        made.wishes(of(ANONYMOUS, f"more {number}"), 2)
        assert made.full(of(ANONYMOUS, f"more {number}")) is (number > 0)
    made.wishes(of(ANN, "z"), 6)


def test_for_whom_a_server_speaks_is_who_asked_or_nobody_where_two_with_other_limits_did() -> None:
    made = Counted()
    assert made.counts.party("s") == "s"
    made.wishes(of(ANN, "s"), 2)
    made.wishes(of(ANN, None, "listen 1"))
    found = [made.counts.party(one) for one in ("s", "listen 1")]
    assert found == [ANN.party("s"), "listen 1"]
    made.wishes(of(replace(ANN, user=(UserContext(resources=("/srv/**",)),)), "s"))
    successor = WishCounts(lambda holder, _: made.has[holder])
    successor.follow(made.counts)
    assert successor.party("s") == SEVERAL
    made.has["s"] = 0
    made.counts.settle("s")
    assert made.counts.party("s") == "s"


def test_whose_a_holder_is_that_nobody_counts_is_its_own() -> None:
    assert Counted().counts.whose("a") == ("", "a")
