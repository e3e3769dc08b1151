"""What the settings of rooms become."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from gatewright.config.rooms import Rooms
from gatewright.rooms.policy import Topic
from gatewright.rooms.policy_settings import policy_of
from tests.rooms.settings import TEXT, loaded


def test_the_settings_become_the_policy() -> None:
    """MCPX-5.1-1, MCPX-5.1-3."""
    rooms = loaded(TEXT).rooms
    assert rooms is not None
    found = policy_of(rooms)
    assert found.default == ("mcp/response:*", "chat")
    assert found.anonymous is not None
    assert found.bounds.message_bytes == 1000
    assert found.reserved == ()
    assert found.topics == {"own": Topic("private", ("ann",))}
    (ann,) = found.tokens.values()
    assert (ann.id, ann.capabilities, ann.mode) == ("ann", ("mcp/*", "chat"), "directed")


def test_what_the_gateways_own_are_called_is_reserved() -> None:
    more = '[rooms.kernel]\ntopics = ["a"]\n[rooms.orchestrator]\nname = "chief"\ntopics = ["a"]\npeople = ["ann"]\n'
    rooms = loaded(TEXT + more).rooms
    assert rooms is not None
    assert policy_of(rooms).reserved == ("gatewright", "chief")


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [
        ("violation_notice", "true", True),
        ("strict_proposals", "true", True),
        ("presence_to_joiner", "true", True),
        ("token_in_query", "true", True),
        ("refusal", '"close"', "close"),
        ("mode", '"directed"', "directed"),
        ("echo", "false", False),
        ("max_participants", "7", 7),
        ("messages_per_s", "7.5", 7.5),
        ("burst", "7", 7.0),
        ("bytes_per_s", "7777", 7777),
        ("burst_bytes", "7777777", 7777777.0),
        ("max_topics", "7", 7),
        ("recorded", '"all"', "all"),
        ("topic_access", '"private"', "private"),
    ],
)
def test_each_switch_of_the_file_is_one_of_the_policy(key: str, value: str, other: Any) -> None:
    """MCPX-6.4-2, MCPX-3.2.1-1, MCPX-6.2-2, MCPX-2.2-2: and none is on that was not written; what they do is in tests/behaviour."""
    plain, switched = loaded("[rooms]\n").rooms, loaded(f"[rooms]\n{key} = {value}\n").rooms
    assert plain is not None
    assert switched is not None
    renamed = {"max_participants": "participants"}.get(key, key)

    def said(rooms: Rooms) -> dict[str, Any]:
        found = msgspec.structs.asdict(policy_of(rooms))
        bounds = msgspec.structs.asdict(found.pop("bounds"))
        return {**found, **bounds}

    before, after = said(plain), said(switched)
    assert before[renamed] != other
    assert after == {**before, renamed: other}


def test_a_topic_that_says_only_how_many_it_has_is_as_closed_as_all_others() -> None:
    """MCPX-5.1-3."""
    rooms = loaded(
        """
[rooms]
topic_access = "private"
[rooms.topics.ops]
max_participants = 5
members = ["ann"]
[rooms.topics.lobby]
access = "public"
"""
    ).rooms
    assert rooms is not None
    found = policy_of(rooms)
    assert found.topic("ops") == Topic("private", ("ann",), 5)
    assert (found.topic("lobby").access, found.topic("other").access) == ("public", "private")


def test_a_profile_of_nothing_is_one_and_no_other_takes_its_place() -> None:
    """MCPX-5.1-2: `full` as the file has it counts before MCPx's."""
    text = """
[rooms]
profiles = {mute = [], full = []}
participants = [{id = "ann", profile = "mute"}, {id = "bob", profile = "full"}]
"""
    rooms = loaded(text).rooms
    assert rooms is not None
    known = policy_of(rooms).known
    assert [known[one].capabilities for one in ("ann", "bob")] == [(), ()]
