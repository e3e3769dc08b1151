"""The pages of an error, as questions."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Answer, Failure, Outcome
from gatewright.mcp.server.url_elicitations import URL_NEEDED, pages


def failed(code: int, data: Any) -> Failure:
    error = {"code": code, "message": "open it", "data": data}
    return Failure("upstream_error", error=json.dumps(error).encode())


def test_each_page_with_an_id_is_a_question_of_its_server() -> None:
    found = pages(
        failed(
            URL_NEEDED,
            {
                "elicitations": [
                    {"elicitationId": "one/a/b", "url": "x"},
                    {},
                    5,
                    {"elicitationId": 7},
                ]
            },
        )
    )
    assert [(one.server, one.params) for one in found] == [("one", {"elicitationId": "one/a/b"})]
    many = [{"elicitationId": f"one/{n}"} for n in range(100)]
    assert len(pages(failed(URL_NEEDED, {"elicitations": many}))) == 16


@pytest.mark.parametrize(
    "outcome",
    [
        failed(-32000, {"elicitations": [{"elicitationId": "one/a"}]}),
        failed(URL_NEEDED, {"elicitations": "elicitationId"}),
        failed(URL_NEEDED, {"elicitations": {"elicitationId": "x"}}),
        failed(URL_NEEDED, ["elicitationId"]),
        failed(URL_NEEDED, "elicitationId"),
        Failure("upstream_error", error=b'{"elicitationId'),
        Failure("upstream_error", error=b'["elicitationId"]'),
        Failure("upstream_error"),
        Answer(b'{"elicitationId":"one/a"}'),
    ],
)
def test_everything_else_has_none(outcome: Outcome) -> None:
    assert pages(outcome) == []
