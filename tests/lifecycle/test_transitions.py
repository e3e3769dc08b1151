"""Clients hear of one server by name, whose states follow each other as the table has them."""

from __future__ import annotations

import itertools
from typing import Any

from gatewright.call import ANONYMOUS, KERNEL
from gatewright.lifecycle.transitions import Transitions, timestamp
from gatewright.servers.states import Change, State, allowed


class Told:
    """Whoever listens."""

    def __init__(self) -> None:
        self.every: list[tuple[str, dict[str, Any], Any]] = []

    def tell(
        self,
        server: str,
        method: str,
        params: dict[str, Any],
        session: str | None = None,
        owner: Any = None,
        sees: Any = None,
    ) -> None:
        assert method == "notifications/mgp.lifecycle"
        self.every.append((server, params, sees))

    @property
    def states(self) -> list[str]:
        steps = [one for _, one, _ in self.every]
        for one in steps:
            assert allowed(one["previous_state"], one["new_state"])
        for before, after in itertools.pairwise(steps):
            assert before["new_state"] == after["previous_state"]
        return [one["new_state"] for one in steps]


def made() -> tuple[Transitions, Told]:
    found, told = Transitions(lambda: 1772193600.005), Told()
    found.by(told)
    return found, told


def change(before: State, after: State, cause: str = "started") -> Change:
    return Change("s", before, after, cause)


def test_a_transition_has_the_members_of_the_specification() -> None:
    """MGP-11.4-4"""
    found, told = made()
    found.changed(change("connected", "draining", "idle_timeout"))
    assert told.every[0][:2] == (
        "s",
        {
            "server_id": "s",
            "previous_state": "connected",
            "new_state": "draining",
            "reason": "idle_timeout",
            "timestamp": "2026-02-27T12:00:00.005Z",
        },
    )


def test_of_a_server_those_are_told_who_may_see_it() -> None:
    """MGP-11.4-4: nobody else is named in their place, in any state that it comes to."""
    found, told = made()
    for before, after in (("registered", "connecting"), ("connecting", "connected"), ("connected", "disconnected")):  # fmt: skip
        found.changed(Change("s", before, after, "started"))  # type: ignore[arg-type]
    assert len(told.every) == 3
    assert [(server, sees) for server, _, sees in told.every] == [("s", None)] * 3


def test_nothing_is_told_before_there_is_anybody() -> None:
    found, told = Transitions(lambda: 0.0), Told()
    found.changed(change("registered", "connecting"))
    found.by(told)
    found.changed(change("connecting", "connected"))
    assert told.states == ["connected"]


def test_another_connection_in_the_place_of_one_is_the_same_server() -> None:
    found, told = made()
    found.changed(change("registered", "connecting"))
    found.changed(change("connecting", "connected"))
    found.replaced(change("connected", "connected", "configuration_change"))
    assert told.states == ["connecting", "connected", "draining", "restarting", "connected"]


def test_one_that_is_not_up_yet_is_told_as_restarting() -> None:
    found, told = made()
    found.replaced(change("connected", "connecting", "configuration_change"))
    found.changed(change("connecting", "error", "start_failed"))
    assert told.states == ["draining", "restarting", "error"]


def test_one_that_was_down_and_is_replaced_comes_up() -> None:
    found, told = made()
    found.replaced(change("error", "connected", "configuration_change"))
    assert told.states == ["restarting", "connected"]


def test_those_that_are_gone_are_forgotten() -> None:
    found, told = made()
    found.changed(change("registered", "connecting"))
    found.keep(["other"])
    found.changed(change("registered", "connecting"))
    assert [one["new_state"] for _, one, _ in told.every] == ["connecting"] * 2


def test_everybody_hears_of_the_gateway_itself() -> None:
    found, told = made()
    found.of_gateway("house", "connected", "draining", "kernel_shutdown")
    server, params, sees = told.every[0]
    assert (server, params["server_id"], sees(ANONYMOUS, "")) == (KERNEL, "house", True)


def test_a_moment_is_in_utc_with_milliseconds() -> None:
    assert timestamp(0.25) == "1970-01-01T00:00:00.250Z"


def test_a_restart_that_fails_again_is_told() -> None:
    """Whoever waits for the attempt of an operator would wait for ever."""
    found, told = made()
    found.changed(change("registered", "connecting"))
    found.changed(change("connecting", "error", "start_failed"))
    found.replaced(change("error", "error", "configuration_change"))
    assert told.states == ["connecting", "error", "restarting", "error"]
