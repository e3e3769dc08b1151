"""What a ledger of proposals remembers."""

from __future__ import annotations

import pytest

from gatewright.mcpx.payload import Chat, Operation, Responded
from gatewright.rooms.participants.proposals import Ledger

DIG = Operation("tools/call", {"name": "dig"})


def test_a_proposal_is_kept_as_the_specification_lists_it() -> None:
    """MCPX-10.2-1."""
    now = [1000.0]
    ledger = Ledger(clock=lambda: now[0])
    made = ledger.open("p", "eve", DIG, ["worker"])
    assert made.record() == {
        "proposalId": "p",
        "proposer": "eve",
        "target": "worker",
        "method": "tools/call",
        "params": {"name": "dig"},
        "status": "pending",
        "createdAt": 1000.0,
        "expiresAt": 1300.0,
        "decidedBy": None,
        "reason": "",
        "chain": ["p"],
    }
    now[0] = 1300.0
    found = ledger.find("p")
    assert found is not None
    assert found.status == "expired"


def test_the_chain_from_proposal_to_response_can_be_told() -> None:
    """MCPX-3.2.1-6 as a participant sees it."""
    ledger = Ledger(clock=lambda: 0.0)
    ledger.open("p", "eve", DIG, ())
    assert ledger.fulfil("p", "r", "ada", DIG, ["worker"])
    assert not ledger.fulfil("p", "r2", "bob", DIG, ["worker"])
    done = ledger.answer("r", "a", "worker", Responded(b"1", {"isError": True}))
    assert done is ledger.find("p")
    (found,) = ledger
    assert (found.status, found.record()["chain"]) == ("failed", ["p", "r", "a"])
    assert ledger.answer("r", "b", "worker", Responded(b"1", {})) is None


def test_only_the_proposer_withdraws_and_only_others_reject() -> None:
    ledger = Ledger(clock=lambda: 0.0)
    ledger.open("p", "eve", DIG, ())
    assert ledger.hear("p", "ada", Chat("withdrawn")) is None
    assert ledger.hear("p", "eve", Chat("rejected: no")) is None
    assert ledger.hear("p", "ada", Chat("I would not")) is None
    assert ledger.hear(None, "ada", Chat("rejected")) is None
    found = ledger.hear("p", "ada", Chat("Rejected: too deep"))
    assert found is not None
    assert (found.status, found.decided_by, found.reason) == ("rejected", "ada", "too deep")
    assert ledger.hear("p", "bob", Chat("rejected: late")) is None


@pytest.mark.parametrize("to", [(), ("worker",), ("worker", "other")])
def test_a_rejection_counts_of_who_is_to_do_it_or_could_ask_for_it(to: tuple[str, ...]) -> None:
    """Whoever may chat would otherwise end the proposals of everybody."""
    may = {("ada", "mcp/request:tools/call:dig")}
    for by, counts in (("mal", False), ("ada", True), ("worker", "worker" in to)):
        ledger = Ledger(clock=lambda: 0.0, may=lambda name, kind: (name, kind) in may)
        found = ledger.open("p", "eve", DIG, to)
        assert (ledger.hear("p", by, Chat("rejected: no")) is found) is counts, by
        assert found.status == ("rejected" if counts else "pending")


def test_who_was_asked_answers_and_a_request_that_was_not_passed_on_decides_nothing() -> None:
    """MCPX-3.2.1-4: everybody sees the id of a fulfilment, and could name it."""
    ledger = Ledger(clock=lambda: 0.0)
    ledger.open("p", "eve", DIG, ["worker"])
    assert ledger.fulfil("p", "r", "ada", DIG, ["worker"])
    ledger.reopen("other")
    ledger.reopen("r")
    found = ledger.find("p")
    assert found is not None
    assert (found.status, found.decided_by, found.record()["chain"]) == ("pending", None, ["p"])
    assert ledger.fulfil("p", "r2", "bob", DIG, ["worker"])
    assert ledger.answer("r2", "x", "mal", Responded(b"1", {})) is None
    assert ledger.answer("r2", "a", "worker", Responded(b"1", {})) is found


def test_who_proposes_without_end_pushes_out_its_own_alone() -> None:
    """MCPX-10.2-1: the others' proposals can still be decided."""
    ledger = Ledger(clock=lambda: 0.0, kept=4)
    ledger.open("a", "ada", DIG, ())
    ledger.open("b", "bob", DIG, ())
    for number in range(100):
        ledger.open(f"e{number}", "eve", DIG, ())
    assert [one.id for one in ledger] == ["a", "b", "e98", "e99"]


def test_the_oldest_proposals_are_forgotten_and_an_id_opens_one_only() -> None:
    ledger = Ledger(clock=lambda: 0.0, kept=2)
    for id in ("a", "b", "c", "c"):
        ledger.open(id, "eve", DIG, ())
    assert [one.id for one in ledger] == ["b", "c"]


def test_who_proposes_at_length_pushes_out_its_own_alone() -> None:
    ledger = Ledger(clock=lambda: 0.0, held_bytes=1000)
    ledger.open("a", "ada", DIG, (), 100)
    for number in range(100):
        ledger.open(f"e{number}", "eve", DIG, (), 300)
    assert [one.id for one in ledger] == ["a", "e97", "e98", "e99"]
    ledger.open("b", "bob", DIG, (), 5000)  # by itself more than all may have
    assert [one.id for one in ledger] == ["a", "e97", "e98", "e99"]


SAID = ("request", "answer", "rejection", "withdrawal")
"""What decides about a proposal of eve to `worker`, or to everybody."""
COUNTS = {
    # (to whom it was put, who says so) -> what of it counts
    (("worker",), "eve"): {"withdrawal"},
    (("worker",), "worker"): {"answer", "rejection"},
    (("worker",), "ada"): {"request", "rejection"},
    (("worker",), "mal"): set[str](),
    ((), "eve"): {"withdrawal"},
    ((), "worker"): {"answer"},
    ((), "ada"): {"request", "rejection"},
    ((), "mal"): set[str](),
}


@pytest.mark.parametrize("about", ["p", "P", "guessed", None])
@pytest.mark.parametrize(("to", "who"), COUNTS)
def test_each_word_about_a_proposal_counts_of_whose_it_is_alone(
    to: tuple[str, ...], who: str, about: str | None
) -> None:
    """`ada` may ask for it; `mal` asks itself and answers, `worker` does what ada asks for."""
    found: set[str] = set()
    for said in SAID:
        may = lambda name, kind: name == "ada"  # noqa: E731
        ledger = Ledger(clock=lambda: 0.0, may=may)
        proposal = ledger.open("p", "eve", DIG, to)
        if said == "request":
            asked = ["worker"] if who == "ada" else [who] if who != "worker" else []
            counts = ledger.fulfil(about, "r", who, DIG, asked)
        elif said == "answer":
            assert ledger.fulfil("p", "r", "ada", DIG, ["worker"])
            request = {"p": "r", "P": "R"}.get(about or "", about)
            counts = ledger.answer(request, "a", who, Responded(b"1", {})) is proposal
        else:
            word = {"rejection": "rejected: no", "withdrawal": "withdrawn"}[said]
            counts = ledger.hear(about, who, Chat(word)) is proposal
        found |= {said} if counts else set()
    assert found == (COUNTS[to, who] if about == "p" else set())


def test_who_takes_the_name_of_one_who_left_does_not_answer_in_its_place() -> None:
    ledger = Ledger(clock=lambda: 0.0)
    for id, asked in (("p", ["worker"]), ("q", ["worker", "other"])):
        ledger.open(id, "eve", DIG, asked)
        assert ledger.fulfil(id, f"r{id}", "ada", DIG, asked)
    ended = ledger.left("worker")
    assert [(one.id, one.status, one.response) for one in ended] == [("p", "failed", None)]
    assert "worker" in ended[0].reason
    for id in ("p", "q"):
        assert ledger.answer(f"r{id}", "a", "worker", Responded(b"1", {})) is None
    assert ledger.answer("rq", "a", "other", Responded(b"1", {})) is ledger.find("q")


def test_who_takes_a_name_neither_withdraws_nor_rejects_nor_does_what_was_put_to_that_name() -> (
    None
):
    able = {"ada"}
    ledger = Ledger(clock=lambda: 0.0, may=lambda name, kind: name in able)
    found = ledger.open("p", "eve", DIG, ["worker"])
    assert ledger.left("worker") == ledger.left("eve") == []
    assert ledger.hear("p", "worker", Chat("rejected")) is None
    assert ledger.hear("p", "eve", Chat("withdrawn")) is None
    assert not ledger.fulfil("p", "r", "worker", DIG, ["worker"])
    able |= {"eve"}
    assert (ledger.word_of(found, "eve"), ledger.word_of(found, "ada")) == ("rejected", "rejected")
    # Who is called so now may be asked by others, who see who that is.
    assert ledger.fulfil("p", "r", "ada", DIG, ["worker"])
    assert ledger.answer("r", "a", "worker", Responded(b"1", {})) is found
