"""A page that a server sends one caller to is no other's, also where callers have no sessions."""

from __future__ import annotations

import pytest

from gatewright.call import ANONYMOUS, Call, Caller, CannotAsk, Client, Question
from gatewright.mcp.wire.versions import LATEST_MODERN
from gatewright.servers.elicitation import ELICIT
from gatewright.transport.slices import whole
from tests.servers.rig import make_call
from tests.servers.test_server_screen import House

PAGES = Client(LATEST_MODERN, {"elicitation": {"url": {}}})
ANN, BOB = Caller("ann"), Caller("bob")


def stateless(caller: Caller, **more: str) -> Call:
    return make_call("tool", "tools/call", {}, session=None, caller=caller, client=PAGES, **more)


def page(ident: str = "e-1") -> Question:
    url = f"https://a.test/{ident}"
    return Question(
        ELICIT, {"mode": "url", "message": "log in", "url": url, "elicitationId": ident}
    )


def test_a_page_of_one_who_has_no_session_is_not_put_to_another() -> None:
    screen = House().screen
    for _ in range(2):
        asked = whole(screen.question(stateless(ANN), page()))
        assert (asked.params or {})["elicitationId"] == "files/e-1"
    for other in (BOB, ANONYMOUS, Caller("ann", "operator")):
        with pytest.raises(CannotAsk, match="belongs to what another caller was asked"):
            whole(screen.question(stateless(other), page()))
    with pytest.raises(CannotAsk, match="belongs to what another caller was asked"):
        whole(screen.question(stateless(ANN, profile="narrow"), page()))
    asked = whole(screen.question(stateless(BOB), page("e-2")))
    assert (asked.params or {})["elicitationId"] == "files/e-2"
