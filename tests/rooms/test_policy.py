from __future__ import annotations

from gatewright.mcpx.capabilities import PROFILES
from gatewright.rooms.policy import Identity, Policy, Topic


def test_a_topic_without_a_table_is_as_all_others() -> None:
    """MCPX-5.1-3."""
    one = Policy(topics={"a": Topic("private", ("x",))}, topic_access="restricted")
    assert one.topic("a") == Topic("private", ("x",))
    assert one.topic("b") == Topic("restricted")


def test_the_default_is_to_propose_only() -> None:
    """MCPX-7.1-1, MCPX-6.2-7."""
    assert Policy().default == PROFILES["proposal-only"]
    assert Policy().anonymous is None


def test_the_names_of_the_gateways_own_are_reserved_and_what_looks_like_them() -> None:
    policy = Policy(reserved=("gatewright", "orchestrator"))
    for name in ("gatewright", "Gatewright", "0rchestrator", "orchestrat\u043er"):
        assert policy.is_reserved(name), name
    for name in ("gate", "ann", "orchestrators"):
        assert not policy.is_reserved(name), name
    assert not Policy().is_reserved("gatewright")


def test_a_topic_is_open_to_whom_its_access_names() -> None:
    """MCPX-5.1-3."""
    policy = Policy(topics={"r": Topic("restricted"), "p": Topic("private", ("ann",))})
    ann, eve = Identity("ann", ()), Identity("eve", (), named=True)
    opens = {one.id: [policy.lets_in(one, topic) for topic in "xrp"] for one in (ann, eve)}
    assert opens == {"ann": [True, False, True], "eve": [True, True, False]}
    assert not policy.lets_in(Identity("ann", (), topics=("p",)), "x")
    assert policy.lets_in(Identity("house", (), way="gateway"), "p")
