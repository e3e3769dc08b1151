"""The driver's two people: a host that fills in forms, and a user who agrees to logins."""

from __future__ import annotations

import pytest
from aiohttp import web

from conformance.client import Host, agree, filled, plan
from gatewright.call import CannotAsk, Question
from tests.servers.guarded import serving

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "default": "Jo"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "state": {"type": "string", "enum": ["a", "b"], "default": "b"},
        "sure": {"type": "boolean", "default": False},
        "free": {"type": "string"},
        "must": {"type": "boolean"},
    },
    "required": ["name", "must"],
}


def test_a_form_is_filled_with_its_defaults_and_the_least_that_is_required() -> None:
    assert filled(SCHEMA) == {
        "name": "Jo",
        "age": 30,
        "score": 95.5,
        "state": "b",
        "sure": False,
        "must": True,
    }
    assert filled(None) == filled({}) == {}


async def test_the_host_accepts_a_form_and_answers_nothing_else() -> None:
    host = Host()
    answer = await host.ask(Question("elicitation/create", {"requestedSchema": SCHEMA}))
    assert answer == {"action": "accept", "content": filled(SCHEMA)}
    with pytest.raises(CannotAsk, match="sampling"):
        await host.ask(Question("sampling/createMessage", {}))


def test_the_calls_of_a_scenario_are_its_own_or_those_of_its_context() -> None:
    wanted = {"toolCalls": [{"name": "x", "arguments": {"a": None}}, {"name": "y"}]}
    assert plan("http-custom-headers", wanted) == [("x", {"a": None}), ("y", {})]
    assert plan("auth/anything", {}) == [("test-tool", {})]
    assert plan("tools_call", {}) == [("add_numbers", {"a": 2, "b": 3})]
    assert plan("initialize", {}) == []


async def test_the_user_is_sent_back_and_does_not_go() -> None:
    visited: list[str] = []

    async def authorize(request: web.Request) -> web.Response:
        visited.append(request.path)
        return web.Response(status=302, headers={"Location": "http://localhost:1/back?code=c"})

    app = web.Application()
    app.router.add_get("/authorize", authorize)
    async with serving(app) as origin:
        assert await agree(f"{origin}/authorize?x=1") == "http://localhost:1/back?code=c"
    assert visited == ["/authorize"]
