"""Names that read as the members of MCP's messages, and those that do not."""

from typing import Any

import pytest

from gatewright.mcp.wire.methods import WORDS
from gatewright.mcp.wire.spellings import (
    META,
    MOST,
    PLAIN,
    SAID,
    TAKEN,
    flaw_of_members,
    flaw_of_meta,
    flaw_of_params,
    fold,
    members_of,
    misread,
)


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("Name", "name"),
        ("NA_ME", "name"),
        ("-name ", "name"),
        ("argument\u017f", "arguments"),
        ("tas\u212a", "task"),
        ("\uff4e\uff41\uff4d\uff45", "name"),
        ("ur\u0131", "uri"),
        ("UR\u0130", "uri"),
        ("names", "names"),
        ("_", ""),
        ("\u5143", "\u5143"),
    ],
)
def test_case_width_and_separators_make_no_other_name(name: str, read: str) -> None:
    assert fold(name) == read


def test_the_first_that_reads_as_a_known_name_is_found_and_a_known_one_never() -> None:
    known = frozenset(("name", "_meta"))
    assert misread(["name", "_meta", "other", "Meta", "NAME"], known) == ("Meta", "_meta")
    assert misread(["name", "surname", "_" * 300 + "name"], known) is None


def test_every_message_of_mcp_has_its_members_and_none_of_them_reads_as_another() -> None:
    for one in WORDS:
        members = members_of(one.method)
        assert len({fold(name) for name in members}) == len(members)
        assert flaw_of_params(one.method, dict.fromkeys(members)) == ""
        assert TAKEN.get(one.method, PLAIN) <= members


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"Name": 1}, "params has 'Name', which reads as name"),
        ({"task": {"TTL": 1}}, "params.task has 'TTL'"),
        ({"inputResponses": {"a": {"Action": "accept"}}}, "a member of params.inputResponses"),
        ({"inputResponses": {"a": {"_meta": {"progress_token": 1}}}}, "_meta has 'progress_token'"),
        ({"inputResponses": {"a": 1}, "task": 1, "_meta": None}, ""),
        (
            {"_meta": {"io.modelcontextprotocol/related-task": {"task_id": 1}}},
            "the related task has",
        ),
        ({"_meta": {"io.modelcontextprotocol/related-task": 1, "x": 2}}, ""),
        ({"Uri": 1, "vendor": 2}, ""),
        (dict.fromkeys(map(str, range(MOST + 1))), f"more than {MOST} members"),
    ],
)
def test_params_are_looked_at_as_far_as_they_are_known(params: dict[str, Any], said: str) -> None:
    assert said in flaw_of_params("tools/call", params)
    assert bool(said) == bool(flaw_of_params("tools/call", params))


def test_the_meta_of_a_server_has_fewer_known_members() -> None:
    assert flaw_of_meta({"DEV.gatewright/tool": 1})
    assert not flaw_of_meta({"DEV.gatewright/tool": 1}, SAID)
    assert flaw_of_meta({"ProgressToken": 1}, SAID)
    assert not flaw_of_meta(dict.fromkeys(META))


def test_a_name_that_is_shown_is_shown_in_ascii() -> None:
    assert flaw_of_members("x", ["\uff4eame"], frozenset(("name",))).isascii()
