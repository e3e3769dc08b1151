"""What a ledger of proposals remembers."""

from __future__ import annotations

from gatewright.participants.proposals import Ledger
from gatewright.protocol.room_payload import Chat, Operation, Responded

DIG = Operation("tools/call", {"name": "dig"})


def test_a_proposal_is_kept_as_the_specification_lists_it() -> None:
    """MCPX-10.2-1."""
    now = [1000.0]
    ledger = Ledger(clock=lambda: now[0])
    made = ledger.open("p", "eve", DIG, "worker")
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
    ledger.open("p", "eve", DIG, None)
    assert ledger.fulfil("p", "r", "ada", DIG)
    assert not ledger.fulfil("p", "r2", "bob", DIG)
    assert ledger.answer("r", "a", Responded(b"1", {"isError": True})) is ledger.find("p")
    (found,) = ledger
    assert (found.status, found.record()["chain"]) == ("failed", ["p", "r", "a"])
    assert ledger.answer("r", "b", Responded(b"1", {})) is None


def test_only_the_proposer_withdraws_and_only_others_reject() -> None:
    ledger = Ledger(clock=lambda: 0.0)
    ledger.open("p", "eve", DIG, None)
    assert ledger.hear("p", "ada", Chat("withdrawn")) is None
    assert ledger.hear("p", "eve", Chat("rejected: no")) is None
    assert ledger.hear("p", "ada", Chat("I would not")) is None
    assert ledger.hear(None, "ada", Chat("rejected")) is None
    found = ledger.hear("p", "ada", Chat("Rejected: too deep"))
    assert found is not None
    assert (found.status, found.decided_by, found.reason) == ("rejected", "ada", "too deep")
    assert ledger.hear("p", "bob", Chat("rejected: late")) is None


def test_the_oldest_proposals_are_forgotten_and_an_id_opens_one_only() -> None:
    ledger = Ledger(clock=lambda: 0.0, kept=2)
    for id in ("a", "b", "c", "c"):
        ledger.open(id, "eve", DIG, None)
    assert [one.id for one in ledger] == ["b", "c"]
