"""What a registration asks for is read within bounds, and says what is wrong with it."""

from __future__ import annotations

from typing import Any

import pytest

from gatewright.call import Failure
from gatewright.registration.request import Ending, Wanted, read_ending, read_wanted

ASKED = {"id": "dynamic.x", "command": "python", "justification": "why"}


def test_the_request_of_the_specification_is_read_with_what_it_leaves_out() -> None:
    found = read_wanted(
        {
            **ASKED,
            "args": ["scripts/mcp_custom.py"],
            "transport": "stdio",
            "mgp": {
                "extensions": ["security"],
                "permissions_required": ["network"],
                "trust_level": "sandboxed",
                "permission_policy": "auto_approve",
            },
            "created_by": "agent.cloto_default",
        }
    )
    assert isinstance(found, Wanted)
    assert found.mgp is not None
    assert found.mgp.permissions_required == ("network.outbound",)
    assert (found.trust_level, found.lifetime, found.env) == ("sandboxed", None, {})
    bare = read_wanted(ASKED)
    assert isinstance(bare, Wanted)
    assert (bare.trust_level, bare.created_by) == (None, "")


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"id": 1}, "id"),
        ({"id": ""}, "id"),
        ({"command": None}, "command"),
        ({"args": ["a"] * 65}, "args"),
        ({"args": ["a" * 4097]}, "args"),
        ({"args": ["a\0"]}, "NUL"),
        ({"args": ["${file:x}"]}, "not replaced"),
        ({"command": "${HOME}/x"}, "not replaced"),
        ({"env": {"A": "${secret:x}"}}, "not replaced"),
        ({"env": {"PYTHONPATH": "x"}}, "env.PYTHONPATH"),
        ({"env": {"GATEWRIGHT_KEY": "x"}}, "env.GATEWRIGHT_KEY"),
        ({"env": {str(n): "" for n in range(33)}}, "env"),
        ({"justification": "   "}, "justification"),
        ({"justification": "x" * 1001}, "justification"),
        ({"created_by": "x" * 129}, "created_by"),
        ({"transport": "http"}, "transport"),
        ({"lifetime": "ever"}, "lifetime"),
        ({"mgp": {"permissions_required": ["\n"]}}, "permission"),
        ({"mgp": {"extensions": ["x"] * 33}}, "extensions"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(change: dict[str, Any], says: str) -> None:
    found = read_wanted({**ASKED, **change})
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"
    assert says in found.message


def test_an_ending_names_a_server_and_may_say_why() -> None:
    assert read_ending({"id": "a", "reason": "b"}) == Ending("a", "b")
    assert read_ending({"id": "a"}) == Ending("a")
    assert isinstance(read_ending({"reason": "b"}), Failure)
