"""The JSON API: it describes itself, takes an operator's key, and answers errors as JSON."""

from __future__ import annotations

import json

import pytest
from openapi_spec_validator import validate

from tests.console.client import Visitor
from tests.console.running import Console


def test_its_document_is_openapi_and_names_every_operation(operator: Visitor) -> None:
    document = operator.call("GET", "/openapi.json").json()
    validate(document)
    names = {one["operationId"] for path in document["paths"].values() for one in path.values()}
    assert {"inbox.list", "inbox.approve", "inbox.deny", "sign_ins.list"} <= names


def test_an_operators_key_is_enough_and_needs_no_session(
    console: Console, stranger: Visitor
) -> None:
    key = json.loads(console.command("key", "create", "ops", "--operator", "--json").stdout)["key"]
    assert (
        stranger.call("GET", "/approvals", authorization=f"Bearer {key}").json()["approvals"] == []
    )
    agent = json.loads(console.command("key", "create", "bot", "--json").stdout)["key"]
    for shown in (f"Bearer {agent}", f"Basic {key}", "Bearer", f"Bearer {key}x"):
        said = stranger.call("GET", "/approvals", authorization=shown)
        assert (said.status, said.json()["code"]) == (401, "wrong_key")


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (b"{", 400),
        (b'{"minutes": 0}', 422),
        (b'{"minutes": "1"}', 422),
        (b"[]", 422),
        (b"\xff", 400),
        (b"x" * 300_000, 413),
    ],
)
def test_a_body_that_cannot_be_is_refused_by_name(
    operator: Visitor, body: bytes, status: int
) -> None:
    said = operator.ask(
        "POST", "/api/v1/approvals/x/approve", body, {"x-csrf-token": operator.csrf}
    )
    assert said.status == status
    assert said.json()["message"]
