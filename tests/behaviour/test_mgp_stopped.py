"""What an operator's `server stop` and `server restart` come to, from outside."""

from __future__ import annotations

import json
from pathlib import Path

from tests.behaviour.gateway import config, running, server
from tests.behaviour.hosts import host
from tests.behaviour.test_mgp_lifecycle import OFFER, states, steps


def test_a_stopped_server_stays_stopped_over_a_restart_of_the_gateway(tmp_path: Path) -> None:
    content = config(server("echo"), server("echo", "other"))
    with running(tmp_path, content) as gateway:
        gateway.cli("server", "stop", "echo")
    with running(tmp_path, content) as gateway:
        shown = {
            one["id"]: one["status"] for one in json.loads(gateway.cli("server", "list", "--json"))
        }
        assert shown == {"echo": "disconnected", "other": "connected"}
        assert "connected" in gateway.cli("server", "start", "echo")
    with running(tmp_path, content) as gateway:
        shown = {
            one["id"]: one["status"] for one in json.loads(gateway.cli("server", "list", "--json"))
        }
        assert shown == {"echo": "connected", "other": "connected"}


async def test_a_restart_that_fails_again_is_told_to_clients_and_to_who_asked(
    tmp_path: Path,
) -> None:
    """MGP-11.2-4 and MGP-11.4-4."""
    policy = {"extensions": [], "restart_policy": "never"}
    broken = {"id": "s", "command": "/nonexistent/server", "mgp": policy}
    with running(tmp_path, config(server("echo"), broken)) as gateway:
        async with host(gateway, can=OFFER) as client:
            said = gateway.cli("server", "restart", "s", "--json", check=False)
            found = json.loads(said[said.index("{") :].splitlines()[0])
            assert (found["id"], found["status"]) == ("s", "error")
            assert "/nonexistent/server" in found["reason"]
            assert states(await steps(client, "s", "error")) == ["error", "restarting", "error"]
