"""Where the id of a task stands, and another one in its place."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.mcp.protocol.task_ids import Created, created, listed, renamed, renamed_params
from gatewright.transport.slices import whole

RELATED = "io.modelcontextprotocol/related-task"


@pytest.mark.parametrize(
    ("raw", "modern", "found"),
    [
        ({"task": {"taskId": "t", "ttl": 1500}}, False, Created("t", 1.5)),
        ({"task": {"taskId": "t", "ttl": None}}, False, Created("t")),
        ({"task": {"taskId": "t", "ttl": -1}}, False, Created("t")),
        ({"task": {"taskId": "t", "ttl": True}}, False, Created("t")),
        ({"taskId": "t"}, False, None),
        ({"task": {"taskId": 7}}, False, None),
        ({"task": 7}, False, None),
        ({"content": [{"taskId": "t"}]}, False, None),
        ({"resultType": "task", "taskId": "t", "ttlMs": 2000}, True, Created("t", 2.0)),
        ({"resultType": "complete", "taskId": "t"}, True, None),
        ({"task": {"taskId": "t"}}, True, None),
        ([], False, None),
    ],
)
def test_what_makes_a_task_says_so_in_its_dialect(raw: Any, modern: bool, found: Any) -> None:
    assert created(json.dumps(raw).encode(), modern) == found


def test_an_id_is_put_where_it_names_the_task_and_nowhere_else() -> None:
    raw = b'{"n":1.50,"taskId":"a","task":{"taskId":"a","x":1e400},"_meta":{"%s":{"taskId":"a"},"k":"a"},"other":{"taskId":"a"}}'
    said = raw.replace(b"%s", RELATED.encode())
    found = renamed(said, "a", "b")
    assert found == (
        b'{"n":1.50,"taskId":"b","task":{"taskId":"b","x":1e400},"_meta":{"'
        + RELATED.encode()
        + b'":{"taskId":"b"},"k":"a"},"other":{"taskId":"a"}}'
    )
    assert renamed(said, "z", "b") is said
    escaped = b'{"task\\u0049d":"\\u0061"}'
    assert json.loads(renamed(escaped, "a", "b")) == {"taskId": "b"}
    for odd in (b'{"task":7,"_meta":[]}', b'{"_meta":{"%s":7}}' % RELATED.encode()):
        assert renamed(odd, "a", "b") is odd
    with pytest.raises(ValueError, match="object"):
        renamed(b"[]", "a", "b")


def test_in_params_it_is_put_without_changing_the_original() -> None:
    params = {"taskId": "a", "_meta": {RELATED: {"taskId": "a", "k": 1}, "v": 1}}
    assert renamed_params(params, "a", "b") == {
        "taskId": "b",
        "_meta": {RELATED: {"taskId": "b", "k": 1}, "v": 1},
    }
    assert params["taskId"] == "a"
    for odd in ({"taskId": 7}, {"_meta": 1}, {"_meta": {RELATED: 1}}, {}):
        assert renamed_params(odd, "a", "b") is odd


def test_of_a_list_those_come_that_have_a_name() -> None:
    every = [
        {"taskId": "a", "n": 1.5, "statusMessage": "private"},
        {"taskId": "b"},
        {"taskId": 7},
        7,
    ]
    raw = json.dumps({"tasks": every, "nextCursor": "c"}).encode()
    found, cursor = whole(listed(raw, {"a": "mine"}))
    assert ([json.loads(bytes(one)) for one in found], cursor) == (
        [{"taskId": "mine", "n": 1.5}],
        "c",
    )
    assert whole(listed(b"{}", {"a": "mine"})) == ([], None)
    with pytest.raises(ValueError, match="array"):
        whole(listed(b'{"tasks":{}}', {"a": "mine"}))


def test_a_task_is_found_among_thousands_and_its_name_is_used_once() -> None:
    every = [{"taskId": f"t{number}"} for number in range(5000)] + [{"taskId": "t4999", "n": 1}]
    names = {"t4999": "mine", "t9999": "later"}
    found, _ = whole(listed(json.dumps({"tasks": every}).encode(), names))
    assert [json.loads(bytes(one)) for one in found] == [{"taskId": "mine"}]
    assert names == {"t9999": "later"}
    with pytest.raises(ValueError, match="more than"):
        whole(listed(json.dumps({"tasks": every * 3}).encode(), names))
