"""Searches of people leave what agents have in their contexts as it is."""

from __future__ import annotations

from pathlib import Path

from tests.console.asking import Api
from tests.console.running import DEMO, running

_SMALL = "\n[discovery]\ndiscovery_reserve = 100\n"


def test_what_finds_no_room_is_named(tmp_path: Path) -> None:
    """A budget for one tool."""
    with running(tmp_path, DEMO + _SMALL) as console:
        found = Api(console).get("/tools/search", q="note", most=10)
        assert found["budget"]["room"] == 100
        assert found["budget"]["used"] <= 100
        names = {one["name"] for one in found["hits"]}
        assert names.isdisjoint(found["budget"]["left_out"])
        assert len(names) + len(found["budget"]["left_out"]) > 1
