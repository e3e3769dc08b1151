"""A policy knows which of its gates can be asked again and which of its filters hold something; a closed one refuses every call."""

from __future__ import annotations

from gatewright.call import Call, Event, Refusal
from gatewright.call_policy import CLOSED, Policy
from gatewright.kernel import Kernel
from tests.kernel_parts import Book, Line, Mark, Owner, Step, a_call


class Again(Step):
    """A gate that can be asked again."""

    def judge(self, call: Call) -> Refusal | None:
        return None


class Holds(Mark):
    """A filter that holds something."""

    def rest(self, call: Call) -> Event | None:
        return None


def test_gates_that_judge_and_filters_that_hold_are_found_once() -> None:
    gates = [Step("first", "pass", []), Again("second", "pass", [])]
    filters = [Holds("a"), Mark("b")]
    owner = Owner([])
    policy = Policy(gates, owner, filters)
    assert [[*policy.gates], [*policy.judges]] == [gates, gates[1:]]
    assert [[*policy.filters], [*policy.holding]] == [filters, filters[:1]]
    assert policy.dispatch is owner


async def test_a_kernel_that_is_closed_refuses_and_records_every_call_until_it_has_a_policy() -> (
    None
):
    book = Book()
    kernel = Kernel(*CLOSED, book)
    found = await kernel.handle(a_call(), Line())
    assert isinstance(found, Refusal)
    assert (found.reason, found.message) == ("server_not_ready", "the gateway is starting")
    assert [outcome for _, outcome in book.closed] == [found]
    (verdict,) = await kernel.rehearse(a_call())
    assert verdict.refusal == found
    kernel.swap([], Owner(book.events), [])
    await kernel.handle(a_call(), Line())
    assert "dispatch" in book.events
