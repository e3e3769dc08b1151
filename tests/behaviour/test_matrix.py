"""Every method at every door with every credential that must not do: all of it refused, and nothing learned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import aiohttp
import pytest

from tests.behaviour.access_house import House
from tests.behaviour.matrix import DOORS, METHODS, Request, credentials
from tests.behaviour.token_house import TokenHouse

pytestmark = pytest.mark.timeout(300)

EXPIRED = ("an expired key", "expired")
"""What may be said of a credential: that its time is over. Whoever has it knows that."""


@pytest.fixture(scope="module")
def bad(tokens: TokenHouse) -> dict[str, str | None]:
    return credentials(tokens)


@pytest.fixture
async def http() -> AsyncIterator[aiohttp.ClientSession]:
    timeout = aiohttp.ClientTimeout(total=60)
    async with aiohttp.ClientSession(timeout=timeout) as found:
        yield found


def _shape(name: str) -> str:
    """What is wrong with a credential is not said, but for its time; what kind of credential it is was plain before."""
    if name == "none" or name in EXPIRED:
        return ""
    return "key" if name.endswith("key") and name.startswith("a ") else "token"


async def ask(
    http: aiohttp.ClientSession, base: str, request: Request, key: str | None
) -> tuple[int, Any]:
    """Status, and the answer without what differs from one to the next."""
    headers = dict(request.headers) | ({} if key is None else {"authorization": f"Bearer {key}"})
    url = base + request.path
    async with http.request(request.verb, url, json=request.body, headers=headers) as answer:
        text = await answer.text()
    body = json.loads(text) if text[:1] == "{" else text
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        data = body["error"].get("data")
        if isinstance(data, dict):
            data.pop("trace_id", None)
    return answer.status, body


@pytest.mark.parametrize("door", DOORS)
async def test_no_bad_credential_gets_anything_of_any_method(
    tokens: TokenHouse, http: aiohttp.ClientSession, bad: dict[str, str | None], door: str
) -> None:
    """Judged point 3 of the policy: 401 everywhere, with one body for all methods and for all credentials of one kind."""
    table = DOORS[door]
    said: dict[str, list[Any]] = {}
    for name, key in bad.items():
        requests = [table.ask(method, METHODS.get(method, {})) for method in table.methods]
        found = await asyncio.gather(*(ask(http, tokens.base, one, key) for one in requests))
        assert {status for status, _ in found} <= table.refusals, (name, found)
        bodies = [body for status, body in found if status == 401]
        said[name] = bodies
        assert bodies
        assert all(body == bodies[0] for body in bodies), (name, bodies)
    for shape in ("key", "token"):  # what was shown, a caller knows by itself
        alike = [said[name][0] for name in bad if _shape(name) == shape]
        assert all(one == alike[0] for one in alike), alike
    assert len(said) >= 14


async def test_a_session_of_somebody_else_is_one_that_never_was_for_every_method(
    house: House, http: aiohttp.ClientSession
) -> None:
    """The credential is good; the session is another caller's."""
    _, key = house.agent()
    table = DOORS["http 2025-11-25"]
    async with house.operator("http 2025-11-25") as operator:
        base = house.gateway.url.removesuffix("/mcp")
        for method in table.methods:
            request = table.ask(method, METHODS[method])
            if method == "initialize":
                continue  # begins a session of its own
            said = []
            for session in (operator.session or "", "made-up-session"):
                headers = {**request.headers, "mcp-session-id": session}
                said.append(await ask(http, base, request._replace(headers=headers), key))
            assert said[0] == said[1]
            assert said[0][0] == 404


@pytest.mark.parametrize("door", ["http 2026-07-28", "ggen"])
async def test_a_caller_without_a_grant_gets_nothing_of_a_server(
    house: House, http: aiohttp.ClientSession, door: str
) -> None:
    """The credential is good, and not for this: lists say nothing of the server, calls are refused, and what is there sounds like
    what is not."""
    _, key = house.agent()
    base = house.gateway.url.removesuffix("/mcp")
    table = DOORS[door]
    for method in table.methods:
        if method == "subscriptions/listen":
            continue  # a stream that says nothing until something changes
        status, body = await ask(http, base, table.ask(method, METHODS[method]), key)
        assert "echo__" not in json.dumps(body).replace("echo__echo", "", 1) or "result" not in body
        if method in (
            "tools/call",
            "tools/validate",
            "resources/read",
            "gatewright/policy/explain",
            "mgp/access/grant",
        ):
            assert "error" in body, (method, status, body)
    said = []
    for name in ("echo__echo", "echo__none"):
        request = table.ask("tools/call", {"name": name, "arguments": {"message": "x"}})
        status, body = await ask(http, base, request, key)
        said.append((status, json.dumps(body).replace(name, "NAME")))
    assert said[0] == said[1]
