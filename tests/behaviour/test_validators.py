"""MGP §4.5 and §7: what a validator blocks never reaches the server, through every door.

The inputs are inert: the tool behind only says what it got.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.hosts import DOORS, RpcError, host

OFFER = {"mgp": {"version": "0.2.0", "extensions": ["security", "audit"]}}

pytestmark = pytest.mark.timeout(180)

RULES: dict[str, dict[str, Any]] = {
    "shell": {
        "validator": "sandbox",
        "validator_args": ["/message"],
        "validator_options": {"pipes": True},
    },
    "sql": {"validator": "readonly", "validator_args": ["/message"]},
    "web": {"validator": "network_restricted", "validator_args": ["/message"]},
    "files": {"validator": "paths", "validator_options": {"root": "/data/project"}},
    "code": {"validator": "code_safety", "validator_options": {"level": "strict"}},
    "free": {"validator": "none"},
}
CASES = [
    ("shell", "ls | wc -l", "ls; id"),
    ("sql", "SELECT 1", "DROP TABLE t"),
    ("web", "http://9.9.9.9/", "http://[::ffff:127.0.0.1]/"),
    ("files", "a/b.txt", "a/../../b.txt"),
    ("code", "import json", "import socket"),
]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One tool, six times: each time behind another validator."""
    servers = [server("echo", name, tools={"echo": rule}) for name, rule in RULES.items()]
    grants = [{"agent": "*", "server": name} for name in RULES]
    with running(tmp_path_factory.mktemp("judged"), config(*servers, grants=grants)) as gateway:
        yield gateway


def forwarded(gateway: Gateway) -> int:
    """How many calls have reached a server."""
    return len(gateway.audit("--tool", "echo", "--event", "TOOL_EXECUTED", "--limit", "1000"))


@pytest.mark.parametrize("door", DOORS)
async def test_what_is_blocked_is_never_forwarded(judged: Gateway, door: str) -> None:
    """MGP-4.5-1 to MGP-4.5-6, MGP-14.3-5 and MGP-14.3-6."""
    before = forwarded(judged)
    async with host(judged, door, can=OFFER) as client:
        for name, fine, blocked in CASES:
            assert fine in await client.text(f"{name}__echo", message=fine)
            with pytest.raises(RpcError) as caught:
                await client.call(f"{name}__echo", message=blocked)
            assert caught.value.code == (1011 if name == "code" else 1010)
            assert blocked in await client.text("free__echo", message=blocked)
    # Behind standard input and output stands a gateway of its own, with a record of its own.
    assert forwarded(judged) - before == (0 if door.startswith("stdio") else 2 * len(CASES))


async def test_rejected_code_comes_with_the_body_of_the_specification(judged: Gateway) -> None:
    """MGP-7.4-1, MGP-7.4-2 and MGP-7.4-3: what is wrong, and enough to write it anew."""
    async with host(judged, can=OFFER) as client:
        with pytest.raises(RpcError) as caught:
            await client.call("code__echo", message="import socket\neval('1')")
        details = caught.value.data["_mgp"]["details"]
        assert details["status"] == "rejected"
        assert details["reason"] == "Code validation failed"
        assert details["violations"] == ["Blocked import: 'socket'", "Blocked pattern: 'eval('"]
        assert details["hints"]["max_code_size_bytes"] == 10000
        allowed = details["hints"]["allowed_imports"]
        assert "".join(await client.text("code__echo", message=f"import {allowed[0]}"))
