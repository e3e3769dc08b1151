"""`session list`: who has a session at the gateway that runs."""

from __future__ import annotations

import json
from typing import Any

from tests.cli.endpoints import Endpoint
from tests.cli.shell import Shell

ONE: dict[str, Any] = {
    "session_id": "aaaaaaaaaaaa",
    "door": "http",
    "profile": "",
    "key_id": None,
    "user_context": {
        "user_id": "ann",
        "role": "agent",
        "trust_level": "verified",
        "allowed_resources": [],
    },
    "permissions": [],
    "created_at": "2030-01-01T00:00:00Z",
    "last_used_at": "2030-01-01T00:00:00Z",
    "expires_at": None,
    "rate_limit_state": {"limited": False, "retry_after_ms": None},
}


def test_sessions_are_listed_with_their_users(shell: Shell, endpoint: Endpoint) -> None:
    """GRH-sec-1: the session view."""
    endpoint.replies["gatewright/session/list"] = lambda message: {"sessions": [ONE]}
    done = shell.run("session", "list")
    assert done.rows == [
        ["aaaaaaaaaaaa", "http", "ann", "agent", "verified", "2030-01-01T00:00:00Z", ""]
    ]
    assert json.loads(shell.run("session", "list", "--json").out) == [ONE]


def test_no_session_is_said_so(shell: Shell, endpoint: Endpoint) -> None:
    endpoint.replies["gatewright/session/list"] = lambda message: {"sessions": []}
    done = shell.run("session", "list")
    assert (done.code, done.out) == (0, "")
    assert "no sessions" in done.err
