"""What a participant was asked for, and is asked for again."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcpx.envelope import Envelope, read
from gatewright.mcpx.payload import Chat, Operation, Requested, Responded
from gatewright.rooms.participants.deduplication import ANOTHER, ELSEWHERE, Once
from gatewright.rooms.participants.proposals import Ledger

OPERATION = Operation("tools/call", {"name": "pay", "arguments": {}})


def envelope(id: str, sender: str = "ana", about: str | None = None, **more: Any) -> Envelope:
    body: dict[str, Any] = {
        "protocol": "mcpx/v0.1",
        "id": id,
        "ts": "2026-01-01T00:00:00Z",
        "from": sender,
        "to": ["gatewright"],
        "kind": "mcp/request:tools/call:pay",
        "payload": {},
        **({} if about is None else {"correlation_id": about}),
        **more,
    }
    found = read(json.dumps(body).encode())
    assert isinstance(found, Envelope)
    return found


def asked(ident: bytes | None = b"1", **arguments: Any) -> Requested:
    params = {"name": "pay", "arguments": arguments}
    return Requested(Operation("tools/call", params), ident, b"{}")


def ledger(now: float = 0.0) -> tuple[Ledger, list[float]]:
    clock = [now]
    found = Ledger(clock=lambda: clock[0])
    found.open("p", "eve", OPERATION)
    return found, clock


def test_a_message_that_is_said_again_is_not_new_and_its_id_with_something_else_is() -> None:
    once = Once(ledger()[0])
    assert once.is_new(envelope("a"), asked())
    assert not once.is_new(envelope("a"), asked())
    assert once.is_new(envelope("a", "bob"), asked())
    assert once.is_new(envelope("a"), asked(more=1))
    assert once.is_new(envelope("a", to=["gatewright", "other"]), asked())
    assert once.is_new(envelope("a", about="p"), asked())
    assert once.is_new(envelope("n"), asked(ident=None))
    assert once.is_new(envelope("n"), asked(ident=None))


def test_what_was_heard_stays_heard_after_another_message_of_its_id() -> None:
    once = Once(ledger()[0])
    assert once.is_new(envelope("1"), asked(to="A"))
    assert once.is_new(envelope("1"), asked(to="B"))
    assert not once.is_new(envelope("1"), asked(to="A"))


@pytest.mark.parametrize(
    "params",
    [
        {"arguments": {"b": 1, "a": 2}, "name": "pay"},
        {"name": "pay", "arguments": {"a": 2, "b": 1}, "_meta": {"progressToken": 7}},
        {"name": "pay", "arguments": {"a": 2, "b": 1}, "task": {"ttl": 1}, "trace_id": "x"},
    ],
)
def test_another_order_and_what_clients_add_by_themselves_is_the_same_message(
    params: dict[str, Any],
) -> None:
    proposals, _ = ledger()
    once = Once(proposals)
    assert once.is_new(envelope("1"), asked(a=2, b=1))
    again = Requested(Operation("tools/call", params), b"1", b"{}")
    assert not once.is_new(envelope("1"), again)


@pytest.mark.parametrize("more", [{"_meta": {"progressToken": 1}}, {"task": {}}, {"trace_id": "t"}])
def test_a_proposal_is_fulfilled_once_however_the_requests_are_dressed(
    more: dict[str, Any],
) -> None:
    """Three people ask for it, two of them with what their clients add, one without empty arguments."""
    proposals, _ = ledger()
    once, done = Once(proposals), []
    dressed = [{"name": "pay", "arguments": {}, **more}, {"name": "pay"}, {"name": "pay", **more}]
    for number, params in enumerate(dressed):
        said = Requested(Operation("tools/call", params), b"1", b"{}")
        asks = envelope(f"r{number}", f"p{number}", "p")
        if not once.flaw(asks, said):
            done.append(number)
        proposals.fulfil("p", asks.id, asks.sender, said.operation, asks.to)
    assert done == [0]


def test_who_says_much_pushes_out_its_own_messages_alone() -> None:
    once = Once(ledger()[0])
    assert once.is_new(envelope("a", "bob"), asked())
    for number in range(300):
        assert once.is_new(envelope(f"m{number}"), asked())
    assert not once.is_new(envelope("a", "bob"), asked())
    assert not once.is_new(envelope("m299"), asked())
    assert once.is_new(envelope("m0"), asked())


def test_of_many_senders_the_last_are_remembered() -> None:
    once = Once(ledger()[0])
    for number in range(300):
        assert once.is_new(envelope("a", f"s{number}"), asked())
    assert not once.is_new(envelope("a", "s299"), asked())
    assert once.is_new(envelope("a", "s0"), asked())


@pytest.mark.parametrize(
    "then", ["fulfilling", "fulfilled", "failed", "rejected", "withdrawn", "expired"]
)
def test_only_what_is_open_is_carried_out(then: str) -> None:
    """Every state of a proposal but the first."""
    proposals, clock = ledger()
    once = Once(proposals)
    second = envelope("r2", "bob", "p")
    assert once.flaw(second, asked()) == ""
    if then in {"fulfilling", "fulfilled", "failed"}:
        assert proposals.fulfil("p", "r1", "ana", OPERATION, ["gatewright"])
    if then in {"fulfilled", "failed"}:
        error = {"code": 1, "message": "no"} if then == "failed" else None
        proposals.answer("r1", "a1", "gatewright", Responded(b"1", {}, error))
    if then in {"rejected", "withdrawn"}:
        proposals.hear("p", "eve" if then == "withdrawn" else "ana", Chat(then))
    clock[0] = 1000.0 if then == "expired" else 1.0
    assert once.flaw(second, asked()).startswith(f"the proposal is {then}")
    other = Requested(Operation("tools/call", {"name": "other"}), b"1", b"{}")
    assert once.flaw(second, other) == ANOTHER
    assert once.flaw(second, Requested(Operation("tools/list", {}), b"1", b"{}")) == ""
    assert once.flaw(envelope("r3", "bob", "unknown"), asked()) == ""


@pytest.mark.parametrize("to", [["other"], ["gatewright", "other"], []])
def test_what_is_put_to_others_than_the_proposal_is_not_carried_out(to: list[str]) -> None:
    proposals = Ledger(clock=lambda: 0.0)
    proposals.open("p", "eve", OPERATION, ["gatewright"])
    once = Once(proposals)
    assert once.flaw(envelope("r", about="p", to=to), asked()) == ELSEWHERE
    assert once.flaw(envelope("r", about="p"), asked()) == ""


def test_who_comes_under_many_names_makes_nobody_forgotten_who_is_there() -> None:
    here = {"ana", "bob"}
    once = Once(ledger()[0], here.__contains__)
    assert once.is_new(envelope("a"), asked())
    for number in range(1000):
        assert once.is_new(envelope("a", f"guest-{number}"), asked())
    assert not once.is_new(envelope("a"), asked())
    assert len(once._said) <= 256
