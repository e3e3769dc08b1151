"""The limits screen without a browser: what is counted is what it says."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from gatewright.call import Caller
from gatewright.limits.gate import Rate
from tests.console.in_process import within

LIMITS = "[limits.calls.caller]\nper_minute = 4\nper_day = 100\n"


async def test_it_says_what_is_used_what_is_left_and_when_it_refills(tmp_path: Path) -> None:
    async with within(tmp_path, LIMITS) as console:
        viewer = await console.person("viewer")
        empty = await viewer.get("/limits")
        assert "Nothing used yet" in empty.text
        rate = console.parts.ground.now.gate("rate", Rate)
        assert rate is not None
        for name, count in (("ann", 4), ("bob", 1)):
            for _ in range(count):
                assert rate.meter.take("http", Caller(name).who, None) is None
        refusal = rate.meter.would("http", Caller("ann").who, None)
        assert refusal is not None
        found = (await viewer.api("GET", "/limits")).json()
        said = {(one["subject"], one["per"]): one for one in found["limits"]}
        assert (found["rules"], found["windows"]) == (1, 2)
        full = said["ann", "minute"]
        assert found["limits"][0] == full
        assert (full["used"], full["left"], full["limit"]) == (4, 0, 4)
        assert 0 < full["next_in"] <= full["empty_in"] <= 60
        assert full["next_in"] * 1000 <= (refusal.retry_after_ms or 0)
        free = said["bob", "minute"]
        assert (free["used"], free["left"], free["next_in"]) == (1, 3, 0)
        assert said["ann", "day"]["left"] == 96
        names = (await viewer.api("GET", "/limits?find=bob&sort=name")).json()["limits"]
        assert {one["subject"] for one in names} == {"bob"}
        assert (await viewer.api("GET", "/limits?scope=tool")).json()["limits"] == []
        page = await viewer.get("/limits")
        assert "none left" in page.text
        assert "2 limits configured" in page.text
        assert "next call in" in page.text


async def test_callers_of_one_name_are_told_apart_and_what_refills_keeps_its_place(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Each page is asked for later than the one before, so every wait has become shorter."""
    async with within(tmp_path, LIMITS) as console:
        viewer = await console.person("viewer")
        rate = console.parts.ground.now.gate("rate", Rate)
        assert rate is not None
        for kind in ("agent", "operator", "anonymous"):
            for name in ("ann", "bob", "cid"):
                assert rate.meter.take("http", Caller(name, kind).who, None) is None
        page = (await viewer.get("/limits")).text
        assert page.count('ann <span class="faint">operator</span>') == 2  # a minute, a day
        for sort in ("wait", "name", "full"):
            found: list[Any] = []
            after = ""
            while True:
                query = urlencode({"sort": sort, "limit": 1, "after": after})
                page = (await viewer.api("GET", f"/limits?{query}")).json()
                found += [(*one["names"], one["per"]) for one in page["limits"]]
                await asyncio.sleep(0.002)
                after = page["next"]
                if not after:
                    break
            assert len(found) == len(set(found)) == page["total"] == 18
    assert "cannot be told apart" not in caplog.text


async def test_consumers_are_those_of_the_record(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        viewer = await console.person("viewer")
        assert "No limits" in (await viewer.get("/limits")).text
        found = (await viewer.api("GET", "/limits/consumers")).json()
        since = found.pop("since")
        assert found == {"agents": [], "tools": [], "limited": [], "whole": True}
        assert since == pytest.approx(console.clock() - 3600, abs=60)
        assert "Agents with most calls that ran" in (await viewer.get("/limits/consumers")).text
