from __future__ import annotations

from gatewright.mcpx.capabilities import PROFILES
from gatewright.rooms.policy import Policy, Topic


def test_a_topic_without_a_table_is_as_all_others() -> None:
    """MCPX-5.1-3."""
    one = Policy(topics={"a": Topic("private", ("x",))}, topic_access="restricted")
    assert one.topic("a") == Topic("private", ("x",))
    assert one.topic("b") == Topic("restricted")


def test_the_default_is_to_propose_only() -> None:
    """MCPX-7.1-1, MCPX-6.2-7."""
    assert Policy().default == PROFILES["proposal-only"]
    assert Policy().anonymous is None
