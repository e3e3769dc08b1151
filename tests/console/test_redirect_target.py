"""Nobody is led to another site by a link to the console."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from starlette.requests import Request

from gatewright.console.redirect_target import path_in, way_on

OURS = ["/", "/audit", "/audit?tool=x&next=//elsewhere.example", "/rooms/a%2Fb"]
ELSEWHERE = [
    *("", "audit", "//elsewhere.example", "/\\elsewhere.example", "https://elsewhere.example"),
    *(
        "javascript:x",
        "/\t/elsewhere.example",
        "/\n/elsewhere.example",
        "/\u2044/elsewhere.example",
    ),
]


@pytest.mark.parametrize("path", OURS)
def test_a_path_of_the_console_stays(path: str) -> None:
    assert path_in(path) == path


@pytest.mark.parametrize("path", ELSEWHERE)
def test_everything_else_becomes_the_beginning(path: str) -> None:
    assert path_in(path) == "/"
    scope = {"type": "http", "query_string": f"next={quote(path)}".encode(), "headers": []}
    assert way_on(Request(scope)) == "/"


def test_who_was_going_nowhere_begins_at_the_beginning() -> None:
    assert way_on(Request({"type": "http", "query_string": b"", "headers": []})) == "/"
    going = Request({"type": "http", "query_string": b"next=/audit%3Ftool%3Dx", "headers": []})
    assert way_on(going) == "/audit?tool=x"
