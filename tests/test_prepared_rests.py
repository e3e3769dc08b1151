"""Nothing outlives what a prepared call rests on: grants, definitions, names, keys, sessions, configurations, the record."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.access.grants import Grant
from gatewright.call import Refusal
from gatewright.secret_scanning import HELD
from tests.gate_parts import a_call
from tests.prepared_house import PreparedHouse, RawClient, prepared_house, settings_of

TELL = "obedient__tell"


def _deny(house: PreparedHouse) -> None:
    rights = house.gateway.kernel.policy
    access = next(one for one in rights.gates if one.name == "access")
    layer = access._grants._issued  # type: ignore[attr-defined]
    layer.put(Grant("*", "obedient", permission="deny", granted_by="test"))


async def _grant(house: PreparedHouse, client: RawClient) -> str:
    _deny(house)
    return "access_denied"


async def _grant_ends(house: PreparedHouse, client: RawClient) -> str:
    access = next(one for one in house.gateway.kernel.policy.gates if one.name == "access")
    grants = access._grants  # type: ignore[attr-defined]
    ends = time.time() + 0.4
    grants._issued.put(Grant("*", "obedient", "tell", expires_at=ends, granted_by="test"))
    await house.warm(client)
    grants._issued.put(Grant("*", "obedient", permission="deny", granted_by="test"))
    await house.warm(client)
    await asyncio.sleep(max(0.0, ends - time.time()))
    return "access_denied"


async def _held(house: PreparedHouse, client: RawClient) -> str:
    definition = next(one for one in house.gateway.kernel.policy.gates if one.name == "definition")
    pinning = definition._held.__self__  # type: ignore[attr-defined]
    for target, one in pinning._judged.items():
        pinning._judged[target] = replace(one, why="so")
    return "so"


async def _listed(house: PreparedHouse, client: RawClient) -> str:
    """Its server says another definition: the tool is held back until somebody looks at it."""
    await client.text(TELL, "Tells something else.", "offers")
    catalogue = house.gateway.supervisor.catalogue
    async with asyncio.timeout(5):
        while (tool := catalogue.tool("", TELL)) is not None and b"something else" not in bytes(
            tool.definition["description"]
        ):
            await asyncio.sleep(0.005)
    return "tool_disabled"


async def _named(house: PreparedHouse, client: RawClient) -> str:
    """The name is another tool's, or nobody's, in the profile."""
    tools: Any = house.gateway.supervisor.catalogue.view("").tools
    del tools[TELL]
    return "tool_not_found"


async def _barred(house: PreparedHouse, client: RawClient) -> str:
    permission = next(one for one in house.gateway.kernel.policy.gates if one.name == "permission")
    permission._barred["obedient"] = Refusal("permission_denied", "barred")  # type: ignore[attr-defined]
    return "permission_denied"


async def _drained(house: PreparedHouse, client: RawClient) -> str:
    draining = next(one for one in house.gateway.kernel.policy.gates if one.name == "draining")
    draining._reason = "operator_request"  # type: ignore[attr-defined]
    return "draining"


async def _reloaded(house: PreparedHouse, client: RawClient) -> str:
    folder = house.gateway.settings.storage.path.parent
    await house.gateway.adopt(settings_of(folder, grants=[]))
    return "access_denied"


async def _record_barred(house: PreparedHouse, client: RawClient) -> str:
    house.gateway.audit.bar("so")
    return "audit_unavailable"


async def _record_full(house: PreparedHouse, client: RawClient) -> str:
    house.gateway.audit._journal.fault = "so"
    return "audit_unavailable"


CHANGES: list[Callable[[PreparedHouse, RawClient], Awaitable[str]]] = [
    *(_grant, _grant_ends, _held, _listed, _named, _barred, _drained, _reloaded),
    *(_record_barred, _record_full),
]


@pytest.mark.parametrize("change", CHANGES)
async def test_a_call_after_a_change_goes_by_what_holds_then(
    tmp_path: Path, change: Callable[[PreparedHouse, RawClient], Awaitable[str]]
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        reason = await change(house, client)
        said, prepared = await house.served(client, TELL, "after")
        house.gateway.audit._journal.fault = None
        assert not prepared
        if reason != "so":
            assert said == reason
        client.close()


async def test_a_reload_that_changes_nothing_but_what_is_taken_out_holds_at_once(
    tmp_path: Path,
) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        assert house.prepared.known
        await house.gateway.adopt(settings_of(tmp_path, redaction={"terms": ["Nightjar"]}))
        assert not house.prepared.known
        for _ in range(5):
            assert "Nightjar" not in await client.text(TELL, "the project Nightjar")
        client.close()


async def test_a_key_that_is_revoked_or_ends_lets_nobody_in_from_then_on(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        keys = house.gateway.callers
        made = [
            keys.create("ada", by="test"),
            keys.create("bob", by="test", expires=time.time() + 2.0),
        ]
        clients = [await house.client(secret) for _, secret in made]
        for client in clients:
            await house.warm(client)
        keys.revoke(made[0][0].id, by="test")
        headers, _ = await clients[0].post(_asking())
        assert headers["status"] == "401"
        assert (await house.served(clients[1], TELL, "so")) == ("so", True)
        await asyncio.sleep(2.0)
        headers, _ = await clients[1].post(_asking())
        assert headers["status"] == "401"
        for client in clients:
            client.close()


async def test_a_session_is_its_callers_alone_and_ends_at_once(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        made = [house.gateway.callers.create(name, by="test") for name in ("ada", "bob")]
        ada, bob = [await house.client(secret) for _, secret in made]
        await house.warm(ada)
        await house.warm(bob)
        mine, bob._session = bob.session, ada.session
        for _ in range(2):  # its head is known by then
            headers, _ = await bob.post(_asking())
            assert headers["status"] == "404"
        bob._session = mine
        assert (await house.served(ada, TELL, "so")) == ("so", True)
        house.gateway._standing[ada.session].end()
        headers, _ = await ada.post(_asking())
        assert headers["status"] == "404"
        ada.close()
        bob.close()


async def test_what_is_prepared_goes_with_its_session_or_its_connection(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        ada, bob = await house.client(), await house.client(revision="2026-07-28")
        await house.warm(ada)
        await house.warm(bob)
        assert len(house.prepared.known) == 2
        house.gateway._standing[ada.session].end()
        assert len(house.prepared.known) == 1
        bob.close()
        async with asyncio.timeout(5):
            while house.prepared.known:
                await asyncio.sleep(0.001)
        ada.close()


async def test_what_somebody_waits_for_leaves_the_calls_of_all_others_prepared(
    tmp_path: Path,
) -> None:
    """It stays known until it would have ended, and longer where its caller never comes again."""
    limits = {"calls": {"caller": {"per_minute": 100}, "tool": {"per_minute": 100}}}
    async with prepared_house(tmp_path, limits=limits) as house:
        made = [house.gateway.callers.create(name, by="test") for name in ("ada", "bob")]
        ada, bob = [await house.client(secret) for _, secret in made]
        await house.warm(ada)
        await house.warm(bob)
        gates: Any = house.gateway.kernel.policy.gates
        looks = next(one for one in gates if one.name == "rate")._looks
        (hers,) = (one for one in house.prepared.known.values() if one.caller.id == "ada")
        asks = a_call(caller=hers.caller, facts={})
        with looks.held(asks, "ap_1", 60.0):
            pass
        assert await house.served(bob, TELL, "so") == ("so", True)
        assert await house.served(ada, TELL, "so") == ("so", False)
        ada.close()
        bob.close()


def _asking() -> dict[str, Any]:
    params = {"name": TELL, "arguments": {"text": "so"}}
    return {"id": 5, "method": "tools/call", "params": params}


async def test_a_new_secret_is_looked_for_in_names_of_records_from_then_on(tmp_path: Path) -> None:
    async with prepared_house(tmp_path) as house:
        client = await house.client()
        await house.warm(client)
        held = next(iter(house.prepared.known.values()))
        assert held.holds()
        HELD.version += 1
        assert not held.holds()
        client.close()


async def test_calls_of_a_session_stay_prepared_whatever_becomes_of_other_keys(
    tmp_path: Path,
) -> None:
    """Every caller is read anew then, and is an equal one: what was prepared for that was nobody's in a session that was opened before."""
    async with prepared_house(tmp_path) as house:
        _, key = house.gateway.callers.create("ada", by="test")
        client = await house.client(key)
        house.gateway.callers.create("bob", by="test")
        await house.warm(client)
        assert await house.served(client, TELL, "then") == ("then", True)
        client.close()
