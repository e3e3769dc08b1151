from __future__ import annotations

from gatewright.call import Caller, Refusal
from gatewright.mcpx.capabilities import PROFILES
from gatewright.rooms.identities import Identities, digest
from gatewright.rooms.policy import Identity, Known, Policy
from tests.rooms.hall import policy, token_of

NO = Refusal("auth_failed", "no")
KEYS = {"key-ann": Caller("ann"), "key-op": Caller("op", "operator"), "a.b.c": Caller("dots")}


def identities(of: Policy) -> Identities:
    return Identities(
        of, keys=lambda token: KEYS.get(token, NO), random=lambda size: b"\x01" * size
    )


def test_a_configured_token_is_found_by_its_digest() -> None:
    """MCPX-5.1-1."""
    known = Known("ann", ("chat",), "directed", False, ("t",))
    found = identities(policy({"ann": known})).of(token_of("ann"))
    assert found == Identity("ann", ("chat",), "directed", False, ("t",), True, "configuration")
    assert len(digest("x")) == 32


def test_a_key_of_the_gateway_is_a_participant_of_its_name() -> None:
    """MCPX-5.1-2."""
    found = identities(Policy())
    assert found.of("key-ann") == Identity(
        "ann", PROFILES["proposal-only"], "directed", caller=Caller("ann")
    )
    operator = Caller("op", "operator")
    assert found.of("key-op") == Identity("op", PROFILES["full"], caller=operator)
    named = identities(policy({"ann": ("chat",)}, mode="directed")).of("key-ann")
    assert named == Identity("ann", ("chat",), mode="directed", named=True, caller=Caller("ann"))


def test_who_presents_something_wrong_is_nobody() -> None:
    """MCPX-6.2-7: and never anonymous."""
    open_ = identities(Policy(anonymous=("chat",)))
    assert open_.of("wrong") == NO
    assert open_.of("") == NO
    assert open_.of(None) == Identity(
        f"anonymous-{'01' * 8}", ("chat",), "directed", way="anonymous"
    )
    closed = identities(Policy()).of(None)
    assert isinstance(closed, Refusal)
    assert closed.reason == "auth_required"


def test_a_key_with_dots_in_it_is_still_a_key_where_nothing_is_signed() -> None:
    found = identities(Policy()).of("a.b.c")
    assert isinstance(found, Identity)
    assert found.id == "dots"
