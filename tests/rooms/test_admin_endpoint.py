"""The paths of the administration; what it does, `tests/behaviour/test_rooms_admin.py` says."""

from __future__ import annotations

import json
from typing import Any

import pytest

from gatewright.call import Caller, Refusal
from gatewright.mcp.server.http_request import Connection
from gatewright.rooms import admin_endpoint
from gatewright.rooms.admin_endpoint import ADMIN, RoomsAdmin
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge
from tests.behaviour.test_rooms_admin import asked
from tests.rooms.hall import FULL, Hall


async def test_a_body_may_be_missing_where_nothing_has_to_be_said() -> None:
    assert ADMIN == "/admin/participants"
    async with Hall({"a": FULL}) as hall:
        assert (await asked(hall, "/a/block", b""))[0] == 503  # nowhere to keep it
        assert (await asked(hall, "/a/block", b"{"))[0] == 400
        assert (await asked(hall, "?x=1"))[1] == {"participants": []}
        assert (await asked(hall, "/a/b/c"))[0] == 404


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [(BodyTimeout, 408, "in time"), (BodyTooLarge, 400, "at most 65536 bytes")],
)
async def test_a_body_that_does_not_arrive_is_told_why(
    problem: type[Exception], status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def read(*_: object) -> bytes:
        raise problem

    sent: list[dict[str, Any]] = []

    async def send(message: Any) -> None:
        sent.append(message)

    nothing: Any = None
    monkeypatch.setattr(admin_endpoint, "read_body", read)
    admin = RoomsAdmin(nothing, nothing, lambda door, key: Caller("op", "operator"))
    scope = {"method": "POST", "raw_path": f"{ADMIN}/a/block".encode()}
    await admin(Connection(scope, nothing, send), "key")
    answer = json.loads(sent[1]["body"])
    assert (sent[0]["status"], answer["error"]) == (status, "invalid_request")
    assert said in answer["message"]


async def test_an_operator_whose_key_ends_while_the_body_comes_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    known: list[Caller | Refusal] = [Caller("op", "operator")]
    sent: list[dict[str, Any]] = []

    async def read(*_: object) -> bytes:
        known[0] = Refusal("auth_failed", "nobody is known by this")
        return b"{}"

    async def send(message: Any) -> None:
        sent.append(message)

    nothing: Any = None
    monkeypatch.setattr(admin_endpoint, "read_body", read)
    admin = RoomsAdmin(nothing, nothing, lambda door, key: known[0])
    scope = {"method": "POST", "raw_path": f"{ADMIN}/a/block".encode()}
    await admin(Connection(scope, nothing, send), "key")
    assert sent[0]["status"] == 401
    assert json.loads(sent[1]["body"])["error"] == "auth_failed"
