"""Acts on servers through a whole gateway; what is asked of them by their screen: `screens/test_servers.py`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gatewright.servers.stopped_servers import StoppedServers
from gatewright.storage.errors import StoreError
from tests.console.asking import Api
from tests.console.in_process import newest, within
from tests.console.running import ROOT, running

_LOCAL = f"""
[[servers]]
id = "demo"
command = "{sys.executable}"
args = ["{ROOT}/examples/demo_server.py"]
"""


def test_what_is_not_there_is_neither_acted_on_nor_written(tmp_path: Path) -> None:
    with running(tmp_path, _LOCAL) as console:
        api = Api(console)
        before = console.config.read_text()
        said = [
            api.post("/servers/nothing/stop", reason="x"),
            api.post("/servers/nothing/drain"),
            api.post("/servers/nothing/disable"),
            api.get("/servers/nothing/pin", tool="x"),
            api.post("/servers/demo/pin/accept", tool="x", digest="0" * 64),
            api.post("/servers/demo/pin/refuse", tool="x" * 600, reason="x"),
        ]
        assert [one["status"] for one in said] == [404, 404, 404, 404, 409, 422]
        assert console.config.read_text() == before


async def test_a_drain_that_is_not_kept_for_the_next_start_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What `mgp/lifecycle/shutdown` has to say of it reaches whoever asked."""

    def full(self: StoppedServers, value: str) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(StoppedServers, "add", full)
    async with within(tmp_path, _LOCAL) as console:
        operator = await console.person("operator")
        said = (await operator.api("POST", "/servers/demo/drain", {})).json()
        assert said["state"] == "draining"
        assert "a restart of the gateway forgets it; the disk is full" in said["note"]


async def test_the_record_says_that_a_drain_was_asked_for_in_the_console(tmp_path: Path) -> None:
    async with within(tmp_path, _LOCAL) as console:
        operator = await console.person("operator")
        await operator.api("POST", "/servers/demo/drain", {"reason": "it leaks"})
        kept = [
            one for one in newest(console) if one["event_type"] == "dev.gatewright.server.drain"
        ]
        assert [one["details"] for one in kept] == [{"reason": "it leaks", "door": "console"}]


async def test_what_stays_down_is_not_said_to_come_back(tmp_path: Path) -> None:
    """What an operator stopped is down after a start of the gateway as well."""
    async with within(tmp_path, _LOCAL) as console:
        operator = await console.person("operator")
        page = (await operator.get("/servers/demo")).text
        assert page.count("It stays down until somebody starts it.") == 2
