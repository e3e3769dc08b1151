"""What is counted, and that counting changes nothing."""

from __future__ import annotations

import pytest

from gatewright.call import ANONYMOUS, Answer, Call, Client, Failure, Outcome, Refusal
from gatewright.compose.counted import Counted


def call(kind: str = "tool") -> Call:
    return Call(
        id="c",
        door="http",
        kind=kind,  # type: ignore[arg-type]
        method="tools/call",
        name="t",
        params={},
        caller=ANONYMOUS,
        client=Client("2025-11-25"),
        trace_id="t",
    )


class Book:
    """A trail that can turn an outcome into another."""

    def __init__(self, instead: Outcome | None = None) -> None:
        self.instead = instead

    def open(self, call: Call) -> Book:
        return self

    def intent(self, call: Call) -> bool:
        return True

    async def on_disk(self) -> None:
        return None

    def close(self, call: Call, outcome: Outcome) -> Outcome:
        return self.instead or outcome

    async def settled(self) -> None:
        return None


@pytest.mark.parametrize(
    ("outcome", "word"),
    [
        (Answer(b"{}"), "success"),
        (Answer(b"{}", tool_error=True), "tool_error"),
        (Refusal("access_denied", "no"), "denied"),
        (Failure("upstream_error"), "failure"),
        (Failure("cancelled"), "cancelled"),
    ],
)
def test_each_end_is_counted_by_its_word(outcome: Outcome, word: str) -> None:
    counted = Counted(Book())
    one = call()
    trail = counted.open(one)
    assert counted.in_flight == 1
    assert trail.close(one, outcome) == outcome
    assert counted.calls == {("tool", word): 1}
    assert counted.in_flight == 0


def test_what_the_caller_sees_is_what_is_counted() -> None:
    refused = Refusal("audit_unavailable", "full")
    counted = Counted(Book(refused))
    one = call("list")
    assert counted.open(one).close(one, Answer(b"{}")) == refused
    assert counted.calls == {("list", "denied"): 1}


def test_intents_go_to_the_record_below() -> None:
    assert Counted(Book()).open(call()).intent(call()) is True
