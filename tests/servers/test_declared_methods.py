"""Which server a method that is not MCP's was declared for."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import ANONYMOUS, Caller, Refusal, Target
from gatewright.mcp.wire.headers_and_meta import META_SERVER
from gatewright.servers.catalogue import Catalogue, Sight
from gatewright.servers.declared_methods import owner_of_method, without_address
from gatewright.servers.spec import ServerSpec
from gatewright.servers.view import Profile
from tests.servers.rig import make_call

SPECS = {
    one.id: one
    for one in (
        ServerSpec(id="one", methods=("acme/*", "both/x")),
        ServerSpec(id="two", methods=("both/*", "notifications/acme.*")),
        ServerSpec(id="plain"),
        ServerSpec(id="hidden", methods=("both/*", "secret/*")),
    )
}
SIGHT = Sight(
    lambda caller, tool: True,
    lambda caller, server: server != "hidden" or caller.id == "boss",
    lambda: 0,
    lambda caller, target: True,
)


def owner(method: str, profile: str = "", caller: Caller = ANONYMOUS, **meta: Any) -> Any:
    profiles = {"": Profile(), "narrow": Profile(servers=("plain", "two"))}
    catalogue = Catalogue(list(SPECS.values()), profiles, SIGHT)
    params = {"_meta": {META_SERVER: meta["server"]}} if meta else {}
    call = make_call("method", method, params, profile=profile, caller=caller)
    found = owner_of_method(call, SPECS, catalogue)
    return found.reason if isinstance(found, Refusal) else found


def test_it_is_the_one_server_of_the_view_that_declares_it() -> None:
    assert owner("acme/report") == Target("one", "acme/report")
    assert owner("notifications/acme.x") == Target("two", "notifications/acme.x")
    assert owner("acme/report", "narrow") == "method_not_found"
    assert owner("both/x", "narrow") == Target("two", "both/x")
    assert owner("secret/x") == "method_not_found"
    assert owner("secret/x", caller=Caller("boss")) == Target("hidden", "secret/x")


@pytest.mark.parametrize(
    "method", ["acme/", "Acme/x", "acme//x", "acme/tools/call", "other", "tools/call"]
)
def test_what_no_pattern_covers_is_not_found(method: str) -> None:
    assert owner(method) == "method_not_found"


def test_of_several_the_caller_names_one() -> None:
    assert owner("both/x") == "invalid_params"
    assert owner("both/x", server="two") == Target("two", "both/x")
    assert owner("acme/x", server="one") == Target("one", "acme/x")
    for wrong in ("plain", "hidden", "none", 7, None):
        named = owner("both/x", server=wrong)
        assert named == ("invalid_params" if wrong is None else "method_not_found")


def test_the_address_is_for_the_gateway_alone() -> None:
    assert without_address({"n": 1}) == {"n": 1}
    assert without_address({"n": 1, "_meta": {META_SERVER: "x"}}) == {"n": 1}
    kept = {"n": 1, "_meta": {"k": 2}}
    assert without_address({"n": 1, "_meta": {META_SERVER: "x", "k": 2}}) == kept
    assert without_address(kept) is kept
