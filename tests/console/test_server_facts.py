"""What can be done with a server as it stands. The rest of what is shown: `screens/test_servers.py`."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from gatewright.config import Server as Configured
from gatewright.console.server_facts import acts_of
from gatewright.servers.server import Server


@pytest.mark.parametrize(
    ("state", "spec", "acts"),
    [
        ("connected", {}, ["restart", "drain", "stop", "disable"]),
        ("connecting", {}, ["restart", "stop", "disable"]),
        ("draining", {}, ["disable"]),
        ("error", {}, ["start", "stop", "disable"]),
        ("disconnected", {"stopped": True}, ["start", "disable"]),
        ("registered", {"enabled": False}, ["enable"]),
    ],
)
@pytest.mark.parametrize("written", [True, False])
def test_acts_follow_from_the_state(
    state: str, spec: dict[str, Any], acts: list[str], written: bool
) -> None:
    """What was registered while the gateway runs stands in no file that could be changed."""
    server = SimpleNamespace(
        state=state, spec=SimpleNamespace(**{"enabled": True, "stopped": False, **spec})
    )
    configured = SimpleNamespace(created_by="" if written else "ann")
    found = acts_of(cast("Server", server), cast("Configured", configured))
    wanted = acts if written else [one for one in acts if one not in ("enable", "disable")]
    assert found == wanted
