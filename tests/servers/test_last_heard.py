"""What servers listed last, also while they are away."""

from __future__ import annotations

from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.servers.last_heard import LastHeard
from gatewright.servers.listing import Listing
from gatewright.servers.server_catalogue import build_listing
from gatewright.servers.spec import ServerSpec
from tests.servers.test_server_catalogue import listing

SPEC = ServerSpec(id="a")
OFFER = listing(
    resources=[{"uri": "x://1", "name": "r"}],
    resourceTemplates=[{"uriTemplate": "x://{n}", "name": "t"}],
    prompts=[{"name": "p"}],
)


def failing(*sections: str, unknown: frozenset[str] = frozenset()) -> Listing:
    failures = dict.fromkeys(sections, "failed")
    return Listing(Hello("2025-11-25", {"resources": {}}), {}, failures, unknown)  # type: ignore[arg-type]


def test_of_a_list_that_cannot_be_had_the_last_one_counts_and_of_the_others_what_is_said_now() -> (
    None
):
    heard, shelf = LastHeard(), build_listing(SPEC, OFFER)
    heard.put("a", OFFER, shelf)
    assert heard.shelves["a"] is shelf
    now = failing("resources")
    heard.put("a", now, build_listing(SPEC, now))
    found = heard.shelves["a"]
    assert (found.resources, found.templates, found.prompts) == (shelf.resources, (), ())
    gone = failing("resources", unknown=frozenset({"resources"}))
    heard.put("a", gone, build_listing(SPEC, gone))
    assert heard.shelves["a"].resources == ()


def test_what_will_be_is_said_without_taking_it() -> None:
    heard, shelf = LastHeard(), build_listing(SPEC, OFFER)
    assert heard.with_one("a", OFFER, shelf) == {"a": shelf}
    assert heard.shelves == {}


def test_who_leaves_the_configuration_is_forgotten_and_whoever_never_spoke_may_have_anything() -> (
    None
):
    heard = LastHeard()
    for one in ("a", "b"):
        heard.put(one, OFFER, build_listing(SPEC, OFFER))
    after = LastHeard(heard, ["b", "c"])
    assert after.shelves.keys() == {"b"}
    assert [after.may_have(one) for one in ("a", "b", "c")] == [True, False, True]
    after.put("c", failing(), build_listing(SPEC, failing()))
    assert after.may_have("c")
