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


def _use(handles: SealedHandles, handle: str) -> bool:
    """Whether it could be used up."""
    try:
        with handles.using(handle) as use_up:
            use_up()
    except KeyError:
        return False
    return True


def test_it_says_what_was_said_until_it_is_used_up() -> None:
    handles, _ = _handles()
    one, other = handles.made(SAID), handles.made(SAID)
    assert one != other
    assert one.replace(".", "").replace("-", "").replace("_", "").isalnum()
    assert (handles.read(one), handles.read(one)) == (SAID, SAID)
    assert (_use(handles, one), _use(handles, one)) == (True, False)
    assert handles.read(one) is None
    assert handles.read(other) == SAID


def test_it_is_used_by_one_at_a_time_and_is_good_again_where_nothing_came_of_it() -> None:
    handles, _ = _handles()
    one = handles.made(SAID)
    with handles.using(one):
        assert (handles.read(one), _use(handles, one)) == (None, False)
    assert handles.read(one) == SAID
    with pytest.raises(OSError, match="broken"), handles.using(one):
        raise OSError("broken")
    assert (len(handles._held), _use(handles, one)) == (0, True)


def test_it_is_good_in_its_time_and_what_was_used_is_forgotten_after_it() -> None:
    handles, time = _handles()
    one, late = handles.made(SAID), handles.made(SAID)
    assert _use(handles, one)
    time.now += 60.0
    assert (handles.read(one), handles.read(late)) == (None, None)
    assert _use(handles, handles.made(SAID))
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
        assert (handles.read(wrong), _use(handles, wrong)) == (None, False), wrong
    assert handles.read(one) == SAID


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


def test_any_number_may_be_made_and_none_is_used_twice_however_many_were(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """While too many that were used are remembered, others wait for their time to be over."""
    monkeypatch.setattr(sealed_handles, "_USED", 50)
    handles, time = _handles()
    first = handles.made(SAID)
    for _ in range(3000):
        handles.read(handles.made(SAID))
    assert _use(handles, first)
    time.now += 30.0
    for _ in range(49):
        assert _use(handles, handles.made({}))
    late = handles.made(SAID)
    assert (handles.read(late), handles.read(first)) == (None, None)
    assert len(handles._used) == 50
    time.now += 30.0  # that of the first is over
    assert (_use(handles, late), _use(handles, first)) == (True, False)
    assert len(handles._used) == len(handles._ends) == 50
