"""Nobody answers in the place of another: who was asked what in a room (`mcpx.asked`)."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatewright.mcpx.envelope import Envelope
from gatewright.mcpx.open_requests import OpenRequests

NAMES = ("a", "b", "c", "gateway", "mallory")


def said(
    kind: str, id: str, sender: str, to: tuple[str, ...] = (), about: str | None = None
) -> Envelope:
    return Envelope(id, sender, kind, to, about, None, b"{}", b"{}")


def family(envelope: Envelope) -> str:
    return envelope.kind.partition(":")[0]


ASKS = ("mcp/request", "mcp/proposal")
REQUEST = ("mcp/request",)


class Model:
    """What must hold, said in another way: a list of all that passed."""

    def __init__(self) -> None:
        self.passed: list[Envelope] = []

    def asked(self, id: str | None) -> Envelope | None:
        found = [one for one in self.passed if one.id == id and family(one) in ASKS]
        return found[-1] if found else None

    def fulfilled(self, envelope: Envelope, before: int | None = None) -> Envelope | None:
        """The proposal that a request asks for what is proposed of; `before` so many messages had passed."""
        some = self.passed[:before]
        found = [one for one in some if one.id == envelope.correlation_id and family(one) in ASKS]
        proposal = found[-1] if found and family(envelope) in REQUEST else None
        if proposal is None or family(proposal) != "mcp/proposal":
            return None
        methods = {one.kind.split(":")[1] for one in (proposal, envelope) if ":" in one.kind}
        return proposal if len(methods) < 2 else None

    def may(self, envelope: Envelope) -> bool:
        if family(envelope) in ASKS:
            known = self.asked(envelope.id)
            proposal = self.fulfilled(envelope)
            named = set() if proposal is None else set(proposal.to)
            meant = not named or (bool(envelope.to) and set(envelope.to) <= named)
            return meant and (known is None or known.sender == envelope.sender)
        request = self.asked(envelope.correlation_id)
        if family(envelope) != "mcp/response" or request is None or family(request) not in REQUEST:
            return True
        since = next(  # said once more, it is answered no second time
            at for at, one in enumerate(self.passed) if one.id == request.id and family(one) in ASKS
        )
        again = any(
            family(one) == "mcp/response"
            and (one.correlation_id, one.sender) == (request.id, envelope.sender)
            for one in self.passed[since:]
        )
        at = max(number for number, one in enumerate(self.passed) if one is request)
        proposal = self.fulfilled(request, at)
        itself = proposal is not None and request.sender in proposal.to
        meant = not request.to or envelope.sender in request.to
        return meant and (itself or envelope.sender != request.sender) and not again


KINDS = ("mcp/request", "mcp/request:tools/call:x", "mcp/response", "mcp/response:tools/call:x")
ENVELOPES = st.builds(
    said,
    st.sampled_from(
        [*KINDS, *KINDS, "chat", "mcp/proposal:tools/call:x", "mcp/proposal:ping", "mcp/responses"]
    ),
    st.sampled_from(["1", "2"]),
    st.sampled_from(NAMES),
    st.lists(st.sampled_from(NAMES), max_size=2).map(tuple),
    st.sampled_from([None, "1", "2", "1", "2", "never"]),
)


AGAIN = [
    said("mcp/request", "1", "a"),
    said("mcp/response", "1", "c", about="1"),
    said("mcp/request", "1", "a", ("c",)),
    said("mcp/response", "1", "c", about="1"),
]


PAY = "mcp/request:tools/call:pay"


@pytest.mark.parametrize("to", [("mallory",), ("bank", "mallory"), ()])
def test_what_is_proposed_is_asked_of_those_alone_whom_the_proposal_names(
    to: tuple[str, ...],
) -> None:
    room = OpenRequests()
    room.note(said("mcp/proposal:tools/call:pay", "p", "ann", ("bank",)))
    for kind in (PAY, "mcp/request:tools/call", "mcp/request"):
        assert "named in its `to`" in room.objection(said(kind, "r", "mallory", to, "p"))
        assert not room.objection(said(kind, "r", "mallory", ("bank",), "p"))
    assert not room.objection(said("mcp/request:tools/list", "r", "mallory", to, "p"))


def test_nobody_answers_a_request_of_its_own_but_who_was_named_in_the_proposal() -> None:
    room = OpenRequests()
    room.note(said("mcp/proposal:tools/call:pay", "all", "ann"))
    room.note(said("mcp/proposal:tools/call:pay", "p", "ann", ("bank",)))
    for id, asker, about in (
        ("r1", "mallory", "all"),
        ("r2", "mallory", None),
        ("r3", "bank", "p"),
    ):
        room.note(said(PAY, id, asker, (asker,), about))
    answers = [
        room.objection(said("mcp/response:tools/call:pay", "a", asker, ("ann",), id))
        for id, asker in (("r1", "mallory"), ("r2", "mallory"), ("r3", "bank"))
    ]
    assert [bool(one) for one in answers] == [True, True, False]


@settings(max_examples=500)
@example(AGAIN)
@given(st.lists(ENVELOPES, max_size=30))
def test_whatever_is_said_only_who_was_asked_answers_and_once(envelopes: list[Envelope]) -> None:
    """MCPX-3.1.2-1: forged senders, ids of others, second and late answers, in any order."""
    asked, model = OpenRequests(), Model()
    for envelope in envelopes:
        objection = asked.objection(envelope)
        assert (objection == "") is model.may(envelope), envelope
        if not objection:
            asked.note(envelope)
            model.passed.append(envelope)


def test_whoever_asks_without_end_forgets_its_own_requests_alone() -> None:
    asked = OpenRequests(kept_each=3)
    asked.note(said("mcp/request", "mine", "a", ("b",)))
    for number in range(100):
        asked.note(said("mcp/request", f"m{number}", "mallory", ("mallory",)))
    assert asked.objection(said("mcp/response", "r", "mallory", about="mine"))
    assert asked.objection(said("mcp/response", "r", "b", about="mine")) == ""
    assert asked.objection(said("mcp/response", "r", "b", about="m99"))
    assert asked.objection(said("mcp/response", "r", "b", about="m0")) == ""  # not known any more


def test_who_came_and_went_is_forgotten_before_who_still_asks() -> None:
    asked = OpenRequests(askers=2)
    asked.note(said("mcp/request", "1", "a", ("b",)))
    asked.note(said("mcp/request", "2", "c", ("b",)))
    asked.note(said("mcp/request", "3", "a", ("b",)))
    asked.note(said("mcp/request", "4", "gateway", ("b",)))
    assert asked.objection(said("mcp/response", "r", "mallory", about="2")) == ""
    for known in ("1", "3", "4"):
        assert asked.objection(said("mcp/response", "r", "mallory", about=known))


def test_a_notification_is_no_request_and_takes_no_place() -> None:
    asked = OpenRequests(kept_each=1)
    asked.note(said("mcp/request:tools/call:x", "1", "a", ("b",)))
    asked.note(said("mcp/request:notifications/progress", "2", "a", ("b",)))
    assert asked.objection(said("mcp/response", "r", "mallory", about="1"))


@pytest.mark.parametrize("spelled", ["AB-1", "{ab-1}", " ab-1", "ab1", "URN:UUID:ab-1", "a\tb-1"])
def test_an_answer_that_spells_its_request_otherwise_does_not_pass(spelled: str) -> None:
    room = OpenRequests(kept_each=1)
    room.note(said("mcp/request", "ab-1", "a", ("b",)))
    assert "spelled" in room.objection(said("mcp/response", "r", "mallory", (), spelled))
    assert not room.objection(said("mcp/response", "r", "b", (), "ab-1"))
    room.note(said("mcp/request", "other", "a", ("b",)))  # and the first is forgotten
    assert not room.objection(said("mcp/response", "r", "mallory", (), spelled))


def test_ids_that_read_alike_are_two_requests() -> None:
    room = OpenRequests()
    room.note(said("mcp/request", "x", "a", ("b",)))
    room.note(said("mcp/request", "X", "c", ("b",)))
    assert not room.objection(said("mcp/response", "r", "b", (), "x"))
    assert not room.objection(said("mcp/response", "r", "b", (), "X"))


def test_of_what_becomes_of_a_proposal_hears_its_proposer_and_of_a_request_nobody_more() -> None:
    asked = OpenRequests()
    asked.note(said("mcp/proposal:tools/call:x", "1", "a", ("b",)))
    asked.note(said("mcp/request:tools/call:x", "2", "c", ("b",)))
    about = [said("mcp/response:tools/call:x", "9", "b", ("c",), one) for one in ("1", "2", "3")]
    assert [asked.proposer(one) for one in about] == ["a", None, None]
    assert asked.proposer(said("chat", "10", "b")) is None


def test_what_becomes_of_a_proposal_is_not_for_whoever_takes_the_name_of_who_left() -> None:
    asked = OpenRequests()
    asked.note(said("mcp/proposal:tools/call:x", "1", "ann", ("b",)))
    asked.note(said("mcp/proposal:tools/call:x", "2", "eve", ("b",)))
    asked.left("ann")
    about = [said("mcp/response:tools/call:x", "9", "b", ("c",), one) for one in ("1", "2")]
    assert [asked.proposer(one) for one in about] == [None, "eve"]
    asked.note(said("mcp/proposal:tools/call:x", "3", "ann", ("b",)))
    assert asked.proposer(said("chat", "9", "b", ("c",), "3")) == "ann"


def test_what_one_asker_has_remembered_is_bounded_by_what_it_says() -> None:
    asked = OpenRequests(kept_chars=1000)
    asked.note(said("mcp/request", "mine", "a", ("b",)))
    names = tuple(f"name {number}" for number in range(10))
    for number in range(100):
        asked.note(said("mcp/request", f"m{number}", "mallory", names))
        assert asked._sizes["mallory"] <= 1000
    assert (len(asked._requests), len(asked._by["mallory"])) == (2, 1)
    for number in range(100):  # the same one, to ever more
        asked.note(said("mcp/request", "again", "mallory", (str(number), *names)))
    assert asked.objection(said("mcp/response", "r", "mallory", about="again"))
    assert asked.objection(said("mcp/response", "r", "mallory", about="mine"))


def test_what_is_forgotten_counts_no_more() -> None:
    asked = OpenRequests(kept_each=1, askers=1)
    for asker in ("a", "b"):
        for number in range(3):
            asked.note(said("mcp/request", f"{asker}{number}", asker, ("c", "d")))
    assert (list(asked._requests), list(asked._by), asked._folded) == (["b2"], ["b"], {"b2": 1})
    assert asked._sizes == {"b": asked._requests["b2"].size}


def test_one_request_to_very_many_is_remembered_all_the_same() -> None:
    asked = OpenRequests(kept_chars=10)
    asked.note(said("mcp/request", "1", "a", ("b" * 20,)))
    assert asked.objection(said("mcp/response", "r", "mallory", about="1"))


def test_who_takes_the_name_of_one_who_left_answers_nothing_that_was_put_to_that_one() -> None:
    asked = OpenRequests()
    kind = "mcp/request:tools/call:x"
    for name in ("ann", "bank"):
        asked.joined(name)
    asked.note(said("mcp/proposal:tools/call:x", "p", "ann", ("bank",)))
    asked.note(said(kind, "1", "ann", ("bank",)))
    asked.left("bank")
    asked.joined("bank")
    answers = [said("mcp/response:tools/call:x", "9", "bank", ("ann",), one) for one in "12"]
    assert asked.objection(answers[0])
    asked.note(said(kind, "2", "ann", ("bank",), "p"))
    assert not asked.objection(answers[1])
    # Nor does it itself what was proposed to that one.
    asked.note(said(kind, "3", "bank", ("bank",), "p"))
    assert asked.objection(said("mcp/response:tools/call:x", "9", "bank", ("ann",), "3"))
    assert set(asked._since) == {"ann", "bank"}
    asked.left("bank")
    assert set(asked._since) == {"ann"}


def test_a_request_names_a_proposal_letter_by_letter() -> None:
    """Whoever reads ids as UUIDs would take it for one, though it was not judged as one."""
    asked = OpenRequests()
    asked.note(said("mcp/proposal:tools/call:x", "ab-1", "ann", ("bank",)))
    kind = "mcp/request:tools/call:x"
    assert "spelled" in asked.objection(said(kind, "r", "eve", ("eve",), "{AB1}"))
    assert not asked.objection(said(kind, "r", "eve", ("eve",), "ab2"))
    assert not asked.objection(said(kind, "r", "eve", ("bank",), "ab-1"))
