from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.discovery_scale import made_up, main

TOOLS = [
    {"name": name, "description": f"This tool is for {name.replace('_', ' ')} and more of it"}
    for name in ("read_file", "send_email", "get_weather_forecast", "list_open_issues")
]


def test_made_up_tools_have_names_of_their_own_and_are_the_same_again() -> None:
    found = list(made_up(TOOLS, 300))
    assert len({one.name for one in found}) == 300
    assert len({one.description for one in found}) > 200
    assert found == list(made_up(TOOLS, 300))


def test_each_figure_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    tools, queries = tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"
    tools.write_text("\n".join(map(json.dumps, TOOLS)), encoding="utf-8")
    queries.write_text("\n".join([json.dumps({"query": "read file"})] * 3), encoding="utf-8")
    assert main([str(tools), str(queries), "700"]) == 0
    said = capsys.readouterr().out
    for what in (
        "1200 tools: built",
        "search: ",
        "500 tools more: ",
        "loaded in",
        "in a gateway on",
        "calls run",
    ):
        assert what in said
