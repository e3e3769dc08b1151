"""A request for approval: what it is bound to, and how it reads."""

from gatewright.approvals.request import Approval, Asked
from tests.audit.parts import approval

CALL = Asked("ann", "files", "wipe", "a", "d", "p")


def test_a_request_says_who_wants_what_in_words_for_a_person() -> None:
    call = approval(CALL)
    assert (call.who, call.wish) == ("ann", "run files/wipe")
    wish = approval(Asked("files", "files", "camera", kind="server"))
    assert (wish.who, wish.wish) == ("the server files", "have the permission camera")


def test_a_request_carries_everything_that_it_is_bound_to() -> None:
    """Edited arguments or another definition are another request."""
    found = approval(CALL)
    assert {name: getattr(found, name) for name in Asked.__struct_fields__} == {
        name: getattr(CALL, name) for name in Asked.__struct_fields__
    }
    assert issubclass(Approval, Asked)
