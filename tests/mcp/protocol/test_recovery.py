"""When a client asks again, how long it waits, and when it stops: MGP §14.5 and §14.6, GGEN-err-13."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.mcp.protocol import recovery as recovery_rules
from gatewright.mcp.protocol.recovery import (
    Again,
    Hint,
    Instead,
    Policy,
    Report,
    Retries,
)
from gatewright.mcp.protocol.retry_hints import MIRROR
from gatewright.mcp.wire.codes import REASONS, recovery


def read_hint(error: dict[str, Any], *, mgp: bool = True) -> Hint:
    """The hint of an error of a peer with which MGP was negotiated."""
    return recovery_rules.read_hint(error, mgp=mgp)


SEED: dict[str, Any] = {
    "code": 3000,
    "message": "Rate limited: 10 requests per minute exceeded",
    "data": {
        "_mgp": {
            "category": "resource",
            "retryable": True,
            "retry_after_ms": 5000,
            "retry_strategy": "exponential_backoff",
            "max_retries": 3,
            "details": {"limit": 10, "window_secs": 60, "current": 12},
        }
    },
}


def half() -> float:
    return 0.5


def least() -> float:
    return 0.0


def walk(retries: Retries, hint: Hint, most: int = 20) -> list[Any]:
    """What is said after the same failure, again and again, until the end."""
    found: list[Any] = []
    for _ in range(most):
        found.append(retries.after(hint))
        if isinstance(found[-1], Report):
            return found
    raise AssertionError("no end")


def test_the_seeds_example_is_read_word_for_word() -> None:
    """MGP-14.5-1."""
    assert read_hint(SEED) == Hint(
        True, 5000, "exponential_backoff", 3, None, refused=True, explicit=True
    )


def test_a_mirror_in_meta_is_read_where_the_object_itself_was_lost() -> None:
    """C-50."""
    mgp = SEED["data"]["_mgp"]
    mirrored = {**SEED, "data": {"_meta": {"dev.cloto/mgp": mgp}}}
    assert read_hint(mirrored) == read_hint(SEED)


def test_the_word_of_a_gateway_to_plain_callers_is_understood() -> None:
    error = {
        "code": 3000,
        "message": "x",
        "data": {"reason": "rate_limited", "retry_after_ms": 700},
    }
    assert read_hint(error) == Hint(True, 700, "fixed_delay", None, refused=True, explicit=True)
    # A plain caller cannot tell it from what any server writes: it waits with what harms nobody, and repeats nothing else.
    assert read_hint(error, mgp=False) == Hint(True, 700, "fixed_delay", None, explicit=True)


@pytest.mark.parametrize(
    "said",
    [
        {"retryable": "yes"},
        {"retryable": 1, "max_retries": "many"},
        {"retryable": False, "retry_after_ms": 5},
        {},
        {"retryable": None, "fallback_tool": 7},
    ],
)
def test_what_is_no_boolean_is_no_permission_to_ask_again(said: dict[str, Any]) -> None:
    """MGP-14.6-6."""
    hint = read_hint({"code": 5000, "message": "x", "data": {"_mgp": said}})
    assert hint.retryable is False
    assert isinstance(Retries(Policy(), half).after(hint), Report)


@pytest.mark.parametrize(
    ("said", "waited"),
    [(-5, 0), (float("nan"), 0), (1e300, 86_400_000), (True, 0), ("9", 0), (12.9, 12)],
)
def test_an_odd_time_is_brought_into_bounds(said: Any, waited: int) -> None:
    error = {"code": 1, "data": {"_mgp": {"retryable": True, "retry_after_ms": said}}}
    assert read_hint(error).retry_after_ms == waited


@pytest.mark.parametrize("row", sorted({one.mgp_code for one in REASONS.values()}))
def test_each_code_means_by_itself_what_the_careful_row_of_the_table_says(row: int) -> None:
    """MGP-14.3-1 to MGP-14.3-19, for clients: a bare code is understood."""
    rows = [one for one in REASONS.values() if one.mgp_code == row]
    expected = all(one.retryable for one in rows)
    assert read_hint({"code": row, "message": "x"}).retryable == expected


@pytest.mark.parametrize("row", sorted({one.mgp_code for one in REASONS.values()} - {-32603}))
@pytest.mark.parametrize("data", [{}, {"data": "2001"}, {"data": {"_mgp": None, "x": 1}}])
def test_no_code_means_anything_where_nobody_speaks_mgp(row: int, data: dict[str, Any]) -> None:
    if row > 0:
        assert read_hint({"code": row, "message": "x", **data}, mgp=False) == Hint(False, 1000)


def test_an_object_of_mgps_beside_a_code_says_whose_it_is() -> None:
    assert read_hint(SEED, mgp=False) == read_hint(SEED)


@pytest.mark.parametrize("name", sorted(REASONS))
def test_each_reason_we_speak_ourselves_is_read_back_as_we_mean_it(name: str) -> None:
    """MGP-14.5-2: what a gateway writes and what a client reads are one vocabulary."""
    said = recovery(name, fallback_tool="other")
    hint = read_hint({"code": REASONS[name].mgp_code, "data": {"_mgp": said}})
    assert (hint.retryable, hint.fallback_tool) == (REASONS[name].retryable, "other")
    if hint.retryable:
        assert hint.max_retries == REASONS[name].max_retries
        assert hint.strategy == REASONS[name].retry_strategy


@pytest.mark.parametrize(
    ("code", "retryable"),
    [
        (-32700, False),
        (-32600, False),
        (-32601, False),
        (-32602, False),
        (-32603, True),
        (-32001, False),
        (-32002, False),
        (-32003, True),
        (-32004, False),
        (-32005, False),
    ],
)
def test_the_retry_column_of_ggen_is_honoured(code: int, retryable: bool) -> None:
    """GGEN-err-13: the table of the seed, code by code."""
    hint = read_hint({"code": code, "message": "x", "data": {"error_type": "X"}})
    assert hint.retryable == retryable
    retries = Retries(Policy(), half, repeatable=True)
    assert isinstance(retries.after(hint), Again if retryable else Report)


def test_no_wait_is_shorter_than_the_server_asked_for() -> None:
    """MGP-14.6-1."""
    for strategy in ("immediate", "fixed_delay", "exponential_backoff"):
        for number in (least, half, lambda: 0.999):
            hint = Hint(True, 1500, strategy, 5)
            found = walk(Retries(Policy(retries=5), number, repeatable=True), hint)
            waits = [one.wait_s for one in found if isinstance(one, Again)]
            assert len(waits) == 5
            assert min(waits) >= 1.5


def test_growing_waits_grow_and_fixed_ones_do_not() -> None:
    """MGP-14.6-2."""
    grown = walk(
        Retries(Policy(retries=4), half, repeatable=True), Hint(True, 1000, "exponential_backoff")
    )
    assert [one.wait_s for one in grown[:-1]] == [1.25, 2.5, 5.0, 10.0]
    fixed = walk(Retries(Policy(retries=3), half, repeatable=True), Hint(True, 1000, "fixed_delay"))
    assert [one.wait_s for one in fixed[:-1]] == [1.0, 1.0, 1.0]
    at_once = walk(Retries(Policy(retries=2), half, repeatable=True), Hint(True, 0, "immediate"))
    assert [one.wait_s for one in at_once[:-1]] == [0.0, 0.0]


def test_a_growing_wait_stops_growing_at_our_own_limit() -> None:
    policy = Policy(retries=9, longest_s=8.0)
    found = walk(Retries(policy, least, repeatable=True), Hint(True, 1000, "exponential_backoff"))
    assert [one.wait_s for one in found[:-1]] == [1, 2, 4, 8, 8, 8, 8, 8, 8]


@pytest.mark.parametrize(
    ("said", "ours", "attempts"), [(2, 5, 2), (5, 2, 2), (0, 5, 0), (None, 4, 4)]
)
def test_the_smaller_limit_of_attempts_counts(said: int | None, ours: int, attempts: int) -> None:
    """MGP-14.6-3."""
    retries = Retries(Policy(retries=ours), half, repeatable=True)
    found = walk(retries, Hint(True, 10, max_retries=said))
    assert [one.attempt for one in found[:-1]] == list(range(1, attempts + 1))
    assert retries.attempts == attempts


def test_the_fallback_tool_is_taken_once_after_the_last_attempt() -> None:
    """MGP-14.6-4."""
    retries = Retries(Policy(), half, repeatable=True)
    found = walk(retries, Hint(True, 10, max_retries=2, fallback_tool="other"))
    assert [type(one) for one in found] == [Again, Again, Instead, Report]
    assert found[2] == Instead("other")


def test_a_fallback_tool_of_a_failure_that_may_not_be_retried_is_left_alone() -> None:
    """MGP-14.6-6: exactly one attempt."""
    hint = Hint(False, 10, fallback_tool="other")
    assert isinstance(Retries(Policy(), half, repeatable=True).after(hint), Report)


def test_who_wants_no_fallback_gets_the_error() -> None:
    retries = Retries(Policy(retries=0, fallback=False), half, repeatable=True)
    assert isinstance(retries.after(Hint(True, 0, fallback_tool="other")), Report)


def test_a_wait_beyond_the_deadline_or_our_patience_is_not_begun() -> None:
    retries = Retries(Policy(longest_s=2.0), half, repeatable=True)
    assert isinstance(retries.after(Hint(True, 2001)), Report)
    assert isinstance(retries.after(Hint(True, 1000), left_s=0.5), Report)
    assert retries.after(Hint(True, 1000, fallback_tool="other"), left_s=0.5) == Instead("other")


@pytest.mark.parametrize(
    ("code", "explicit", "trusting", "again"),
    [
        (3000, False, False, True),  # refused: nothing ran
        (2001, True, False, True),
        (5002, True, False, False),  # whoever is behind it may have been reached
        (5000, True, True, True),  # the server's own word, believed
        (5000, True, False, False),
        (5001, False, True, False),  # only what the code means
        (3003, True, False, False),
    ],
)
def test_a_call_that_may_have_had_effects_is_repeated_only_where_that_is_safe(
    code: int, explicit: bool, trusting: bool, again: bool
) -> None:
    data = {"_mgp": {"retryable": True, "retry_after_ms": 1}} if explicit else None
    hint = read_hint({"code": code, "message": "x", "data": data})
    retries = Retries(Policy(trusting=trusting), half, repeatable=False)
    assert isinstance(retries.after(hint), Again) == again


@pytest.mark.parametrize("place", ["bare", "_mgp", "mirror"])
@pytest.mark.parametrize("first", ["_mgp", "mirror", "bare"])
def test_that_a_call_was_sent_counts_wherever_the_server_says_it(place: str, first: str) -> None:
    """Also beside another place that is read first and does not say so."""
    hint: dict[str, Any] = {"retryable": True, "details": {"sent": False}}
    ran: dict[str, Any] = {"details": {"sent": True}}
    said: dict[str, dict[str, Any]] = {"bare": {}, "_mgp": {}, "mirror": {}}
    said[first] |= hint
    said[place] |= ran
    data: dict[str, Any] = {**said["bare"]}
    data |= {"_mgp": said["_mgp"]} if said["_mgp"] else {}
    data |= {"_meta": {MIRROR: said["mirror"]}} if said["mirror"] else {}
    found = read_hint({"code": 3000, "message": "x", "data": data})
    assert (found.refused, found.unsent) == (False, False)
