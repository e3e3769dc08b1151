"""Whose a URI is, where nobody has said anything of it; the rest is in `test_catalogue` and `test_catalogue_absent`."""

from __future__ import annotations

import pytest

from gatewright.call import Target
from gatewright.servers.catalogue import EVERYTHING, Catalogue, Sight
from gatewright.servers.spec import ServerSpec
from gatewright.servers.stopped_servers import word_of
from tests.servers.test_catalogue import ANN, BOB, having

SPECS = [ServerSpec(id="a"), ServerSpec(id="b"), ServerSpec(id="off", enabled=False)]


def test_a_guess_waits_for_every_server_that_its_caller_may_see() -> None:
    """One that is switched off and was never heard is waited for by nobody."""
    sight = Sight(lambda *_: True, lambda caller, server: caller is ANN or server == "a", lambda: 0)
    found = Catalogue(SPECS, {}, sight)
    found.put("a", having({"resources": {}}))
    assert [found.resource("", "x://1", one) for one in (ANN, BOB)] == [None, Target("a", "x://1")]
    assert [found.away("", "x://1", one) for one in (ANN, BOB)] == ["b", None]
    found.put("b", having({"tools": {}}))
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    found.put("b", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) is None
    assert found.away("", "x://1", ANN) is None


def test_a_qualified_uri_waits_for_its_server_and_a_plain_one_says_who_is_away() -> None:
    found = Catalogue(SPECS[:2], {}, EVERYTHING)
    found.put("a", having({"resources": {}}))
    assert found.resource("", "gatewright://b/x%3A%2F%2F1", ANN) == Target("b", "x://1")
    assert found.resource("", "gatewright://off/x%3A%2F%2F1", ANN) is None
    assert found.away("", "gatewright://off/x%3A%2F%2F1", ANN) is None


@pytest.mark.parametrize(
    "down",
    [
        ServerSpec(id="b", enabled=False),
        word_of(ServerSpec(id="b"), ["b"]),
        ServerSpec(id="b", problem="its secret is missing"),
    ],
)
def test_no_guess_waits_for_a_server_that_stays_down_and_was_never_heard(down: ServerSpec) -> None:
    """One that was heard is waited for: what it has is its own while it is down."""
    found = Catalogue([ServerSpec(id="a"), down], {}, EVERYTHING)
    found.put("a", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) == Target("a", "x://1")
    before = Catalogue(SPECS[:2], {}, EVERYTHING)
    before.put("b", having({"resources": {}}))
    found = before.renewed([ServerSpec(id="a"), down], {}, EVERYTHING, {})
    found.put("a", having({"resources": {}}))
    assert found.resource("", "x://1", ANN) is None
