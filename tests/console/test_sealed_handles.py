"""Handles that others keep: they say what was said, once, in their time, and none that was changed or made elsewhere opens."""

from __future__ import annotations

import pytest

from gatewright.console import sealed_handles
from gatewright.console.sealed_handles import SealedHandles

SAID = {"way": "/audit?a=b&c", "empty": "", "ünï": "\u202e"}


class Time:
    now = 100.0


def _handles() -> tuple[SealedHandles, Time]:
    time = Time()
    return SealedHandles(lambda: time.now, 60.0), time


def test_it_says_what_was_said_and_opens_once() -> None:
    handles, _ = _handles()
    one, other = handles.made(SAID), handles.made(SAID)
    assert one != other
    assert one.replace(".", "").replace("-", "").replace("_", "").isalnum()
    assert handles.opened(one) == SAID
    assert handles.opened(one) is None
    assert handles.opened(other) == SAID


def test_it_opens_in_its_time_and_what_was_opened_is_forgotten_after_it() -> None:
    handles, time = _handles()
    one, late = handles.made(SAID), handles.made(SAID)
    assert handles.opened(one) == SAID
    time.now += 60.0
    assert (handles.opened(one), handles.opened(late)) == (None, None)
    assert handles.opened(handles.made(SAID)) == SAID
    assert len(handles._used) == 1


def test_what_was_changed_or_made_elsewhere_opens_not() -> None:
    handles, _ = _handles()
    one, foreign = handles.made(SAID), _handles()[0].made(SAID)
    body, _, seal = one.partition(".")
    for wrong in (
        "",
        ".",
        body,
        one[:-1],
        f"A{one}",
        f"{body}x.{seal}",
        foreign,
        f"{body}.ü",
        "\ud800",
    ):
        assert handles.opened(wrong) is None, wrong
    assert handles.opened(one) == SAID


def test_secrets_belong_to_a_handle_a_purpose_and_a_process() -> None:
    handles, _ = _handles()
    one, other = handles.made(SAID), handles.made(SAID)
    found = {
        handles.secret("state", one),
        handles.secret("nonce", one),
        handles.secret("state", other),
        _handles()[0].secret("state", one),
    }
    assert len(found) == 4
    assert handles.secret("state", one) == handles.secret("state", one)


def test_any_number_may_be_made_and_none_opens_twice_however_many_were_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While too many that were opened are remembered, others wait for their time to be over."""
    monkeypatch.setattr(sealed_handles, "_USED", 50)
    handles, time = _handles()
    first = handles.made(SAID)
    for _ in range(3000):
        handles.made(SAID)
    assert handles.opened(first) == SAID
    time.now += 30.0
    for _ in range(49):
        assert handles.opened(handles.made({})) == {}
    late = handles.made(SAID)
    assert (handles.opened(late), handles.opened(first)) == (None, None)
    assert len(handles._used) == 50
    time.now += 30.0  # that of the first is over
    assert (handles.opened(late), handles.opened(first)) == (SAID, None)
    assert len(handles._used) == len(handles._ends) == 50
