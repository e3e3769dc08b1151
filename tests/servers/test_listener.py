"""Whose a listener is, of whose records it hears, and that it breaks for nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Caller, Refusal
from gatewright.servers.listener import OPERATORS, Listener
from gatewright.servers.task_owners import place_of

ANN, OLGA = Caller("ann"), Caller("olga", "operator")


def _listener(caller: Caller = ANN, session: str | None = "s", **more: Any) -> Listener:
    return Listener(caller, "", session, lambda *_: None, **more)


def test_records_are_heard_by_whose_they_are_by_operators_and_without_a_name_by_session() -> None:
    assert _listener().hears() == ()
    assert _listener(audit=True).hears() == (ANN.who,)
    assert _listener(OLGA, audit=True).hears() == (OLGA.who, OPERATORS)
    assert _listener(ANONYMOUS, audit=True).hears() == ("s",)
    assert _listener(ANONYMOUS, None, audit=True).hears() == ()


def test_who_is_somebody_else_by_now_is_nobody() -> None:
    narrow = Caller("ann", key_id="k")
    assert _listener().now() is ANN
    assert _listener(still=lambda: narrow).now() is narrow
    for other in (OLGA, Refusal("auth_failed", "no")):
        assert _listener(still=lambda other=other: other).now() is None


def test_a_task_is_theirs_whose_place_it_has() -> None:
    one, place = _listener(door="http"), place_of(ANN, "http", "", "s")
    assert one.owns((*ANN.who, place))
    assert not any(one.owns((*who, place)) for who in (OLGA.who, Caller("bob").who))
    assert not one.owns((*ANN.who, f"{place} else"))


def test_one_that_breaks_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    def broken(*_: Any) -> None:
        raise RuntimeError("broken")

    Listener(ANN, "", None, broken).tell("srv", "notifications/x", {})
    assert "a listener failed to take notifications/x of server srv" in caplog.text
