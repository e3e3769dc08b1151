"""`mgp/permission/…` from clients: an operator decides, everybody else hears that nothing is decided here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from gatewright.access.permission_methods import permission_methods
from gatewright.access.permissions import Word
from gatewright.call import Answer, Caller, Client, Failure, Mgp, Outcome, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.permission_admission import Standing
from tests.servers.rig import FakeBack, make_call

OPERATOR, AGENT = Caller("olga", "operator"), Caller("bot")
SPEAKS = Client("2025-11-25", mgp=Mgp("0.2.0", ("security",)))
RULING = {
    "request_id": "perm-001",
    "grants": {"shell": "approved", "camera": "denied", "memory.read": "deferred"},
    "approved_by": "admin",
    "expires_at": "2036-03-01T00:00:00Z",
}


class House:
    """Knows of two servers, and takes down what is said."""

    def __init__(self, **requests: set[str]) -> None:
        self.requests = requests
        self.said: list[Word] = []

    def of(self, server: str) -> Mapping[str, Standing]:
        if server not in ("files", "web"):
            return {}
        return {one.permission: Standing(one.value, one.by, one.expires) for one in self.said} or {
            "camera": Standing("deferred")
        }

    def servers_of(self, ident: str) -> set[str]:
        return self.requests.get(ident.replace("-", "_"), set())

    def say(self, *words: Word) -> None:
        self.said.extend(words)


async def ask(
    house: House,
    method: str,
    params: Any,
    caller: Caller = OPERATOR,
    client: Client = SPEAKS,
) -> Outcome:
    call = make_call("method", method, params, caller=caller, client=client)
    return await permission_methods(house)[method](call, FakeBack())


@pytest.mark.parametrize("method", ["mgp/permission/response", "mgp/permission/grant"])
async def test_an_operator_decides_with_the_body_of_the_specification(method: str) -> None:
    """MGP-3.6-1 and decision C-09: who decided is who is connected, whatever the body says."""
    house = House(perm_001={"files"})
    found = await ask(house, method, RULING)
    assert isinstance(found, Answer)
    ends = 2087942400.0
    assert house.said == [
        Word("files", "shell.execute", "approved", "olga", expires=ends),
        Word("files", "camera", "denied", "olga", expires=ends),
    ]
    assert jsonrpc.decode(found.raw) == {
        "request_id": "perm-001",
        "grants": {"shell.execute": "approved", "camera": "denied"},
        "approved_by": "olga",
        "expires_at": "2036-03-01T00:00:00Z",
    }


async def test_which_server_is_meant_has_to_be_certain() -> None:
    both = House(perm_001={"files", "web"})
    for house, words in ((both, "several servers"), (House(), "no server asked")):
        found = await ask(house, "mgp/permission/response", RULING)
        assert isinstance(found, Failure)
        assert words in found.message
        assert house.said == []
    await ask(both, "mgp/permission/response", RULING | {"server_id": "web"})
    assert {one.server for one in both.said} == {"web"}
    found = await ask(House(), "mgp/permission/response", RULING | {"server_id": "nope"})
    assert isinstance(found, Failure)


@pytest.mark.parametrize(
    "bad",
    [{"grants": {"camera": "yes"}}, {"grants": []}, {"expires_at": "soon"}, {"request_id": None}],
)
async def test_a_body_that_is_none_decides_nothing(bad: dict[str, Any]) -> None:
    house = House(perm_001={"files"})
    found = await ask(house, "mgp/permission/response", RULING | bad)
    assert isinstance(found, Failure)
    assert found.reason == "invalid_params"
    assert house.said == []


async def test_nobody_else_decides() -> None:
    """Decision C-08"""
    house = House(perm_001={"files"})
    found = await ask(house, "mgp/permission/response", RULING, AGENT)
    assert isinstance(found, Refusal)
    assert house.said == []


@pytest.mark.parametrize("method", ["mgp/permission/request", "mgp/permission/await"])
async def test_a_client_that_announces_a_wait_hears_that_nothing_is_decided_here(
    method: str,
) -> None:
    """MGP-3.5-1: the gateway as a server."""
    asked = {"request_id": "perm-001", "permissions": ["shell", "camera"]}
    found = await ask(House(), method, asked, AGENT)
    assert isinstance(found, Answer)
    assert jsonrpc.decode(found.raw)["grants"] == {
        "shell.execute": "deferred",
        "camera": "deferred",
    }
    assert isinstance(await ask(House(), method, {}, AGENT), Failure)
    plain = await ask(House(), method, asked, AGENT, Client("2025-11-25"))
    assert isinstance(plain, Failure)
    assert plain.reason == "method_not_found"


async def test_two_spellings_of_one_permission_say_the_same_or_nothing() -> None:
    house = House(perm_001={"files"})
    both = {"shell": "approved", "shell.execute": "denied", "camera": "approved"}
    found = await ask(house, "mgp/permission/response", RULING | {"grants": both})
    assert isinstance(found, Failure)
    assert "two spellings of shell.execute" in found.message
    assert house.said == []


@pytest.mark.parametrize("method", ["mgp/permission/response", "mgp/permission/request"])
@pytest.mark.parametrize("mgp", [None, Mgp("0.2.0", ("audit",))])
async def test_who_did_not_negotiate_security_has_no_such_method(
    method: str, mgp: Mgp | None
) -> None:
    house = House(perm_001={"files"})
    found = await ask(house, method, RULING, client=Client("2025-11-25", mgp=mgp))
    assert isinstance(found, Failure)
    assert found.reason == "method_not_found"
    assert not house.said
