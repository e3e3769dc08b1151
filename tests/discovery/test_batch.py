from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gatewright.cli.app import run
from gatewright.discovery.batch import entries_of, indexed, ranked_ids, records

TOOLS: list[dict[str, Any]] = [
    {"tool_id": "f::read", "server_id": "f", "name": "read_file", "description": "Read a file",
     "inputSchema": {"type": "object", "properties": {"path": {"description": "Where"}, "odd": 3}},
     "categories": ["data"]},
    {"tool_id": "o::mail", "server_id": "o", "name": "send_email", "description": None},
]  # fmt: skip


def test_each_query_is_answered_with_the_ids_of_tools() -> None:
    queries = [{"query_id": "q1", "query": "read a file"}, {"query_id": "q2", "query": "send mail"}]
    lines = list(ranked_ids(indexed(TOOLS), queries, "auto"))
    assert [one["query_id"] for one in lines] == ["q1", "q2"]
    assert [one["tool_ids"][0] for one in lines] == ["f::read", "o::mail"]


def test_what_a_record_lacks_is_empty() -> None:
    held = entries_of(TOOLS)
    assert held["f"][0].parameters == ("path: Where", "odd")
    assert held["o"][0].description == ""
    assert entries_of([{"name": "bare"}])[""][0].tool_id == "bare"


def test_a_record_without_id_or_a_query_without_text_is_named() -> None:
    with pytest.raises(ValueError, match="neither"):
        entries_of([{"description": "?"}])
    with pytest.raises(ValueError, match="'q9'"):
        list(ranked_ids(indexed(TOOLS), [{"query_id": "q9"}], "auto"))


def test_a_line_that_is_no_object_is_named(tmp_path: Path) -> None:
    file = tmp_path / "tools.jsonl"
    file.write_text(f"{json.dumps(TOOLS[0])}\n\n[1]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 3"):
        records(file)


def test_the_command_answers_a_file_of_queries_over_a_file_of_tools(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    tools, queries = tmp_path / "tools.jsonl", tmp_path / "queries.jsonl"
    tools.write_text("\n".join(map(json.dumps, TOOLS)), encoding="utf-8")
    queries.write_text('{"query_id": "q1", "query": "read a file"}', encoding="utf-8")
    both = ["tool", "search", "--catalogue", str(tools), "--queries", str(queries), "--json"]
    assert run(both) == 0
    lines = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [one["query_id"] for one in lines] == ["q1"]
    assert lines[0]["tool_ids"][0] == "f::read"
    assert run([*both, "--strategy", "keyword"]) == 0


@pytest.mark.parametrize("given", [["--catalogue", "t.jsonl"], ["--queries", "q.jsonl"], []])
def test_the_command_says_what_is_missing(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["tool", "search", *given]) == 2
    assert "error" in capsys.readouterr().err
