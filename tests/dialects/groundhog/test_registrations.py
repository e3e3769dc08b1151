from __future__ import annotations

import asyncio
import logging
from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Call, Caller, CannotAsk, Client, Failure
from gatewright.dialects.groundhog import registrations
from gatewright.dialects.groundhog.directory_tool import shipped_directory
from gatewright.dialects.groundhog.register import registered_of
from gatewright.dialects.groundhog.registration import read_registration
from gatewright.dialects.groundhog.registrations import RegisteredRequests, Registrations
from gatewright.dialects.groundhog.sandboxed_run import Isolation
from gatewright.dialects.groundhog.tool_registry import Registry
from gatewright.servers.listing import Listing
from gatewright.storage.errors import StoreError
from tests.dialects.groundhog.requests import REGISTER, changed
from tests.storage.parts import state_in

NOBODY: Any = None


def made(folder: Path) -> tuple[Registry, Registrations]:
    registry = Registry()
    shipped = {"directory_list": shipped_directory([str(folder)], Isolation())}
    return registry, Registrations(registry, state_in(folder), shipped)


def add(registry: Registry, found: Registrations, request: dict[str, Any]) -> None:
    wanted = read_registration(request)
    base = found.shipped[wanted.name]
    registry.add(registered_of(wanted, base.definition, base.make(wanted.profile), request))


def call() -> Call:
    return Call(
        id="c1",
        door="test",
        kind="tool",
        method="tools/call",
        name="theirs",
        params={},
        caller=Caller("ann"),
        client=Client("2025-11-25"),
        trace_id="t",
    )


async def test_what_is_registered_is_there_after_a_restart(tmp_path: Path) -> None:
    """GRH-reg-5."""
    registry, found = made(tmp_path)
    for request in (REGISTER, changed("tool_metadata.version", "1.1.0")):
        add(registry, found, request)
        await found.store(registry.tools[-1])
    await found.close()
    again, _ = made(tmp_path)
    assert [(one.name, one.version) for one in again.tools] == [
        ("directory_list", "1.0.0"),
        ("directory_list", "1.1.0"),
    ]
    assert [one.fingerprint for one in again.tools] == [one.fingerprint for one in registry.tools]


async def test_what_is_no_good_any_more_is_said_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bad = changed("security_profile.sandbox_level", "bunker")
    gone = changed("tool_metadata.name", "no_longer_shipped")
    kept = RegisteredRequests(state_in(tmp_path))
    for number, request in enumerate((bad, gone, REGISTER)):
        await kept.add("directory_list", str(number), request)
    await kept.close()
    with caplog.at_level(logging.WARNING, "gatewright.registry"):
        registry, found = made(tmp_path)
    assert [one.name for one in registry.tools] == ["directory_list"]
    assert len(caplog.records) == 2
    # It goes with the next change.
    request = changed("tool_metadata.version", "2.0.0")
    add(registry, found, request)
    await found.store(registry.tools[-1])
    await found.close()
    assert [*RegisteredRequests(state_in(tmp_path)).all.values()] == [REGISTER, request]


async def test_what_cannot_be_read_refuses_the_start(tmp_path: Path) -> None:
    state = state_in(tmp_path)
    kept = RegisteredRequests(state)
    await kept.add("directory_list", "1.0.0", REGISTER)
    await kept.close()
    state.engine.execute("UPDATE documents SET body = 'no json'")
    with pytest.raises(StoreError, match="registered tool"):
        made(tmp_path)


async def test_a_connection_is_asked_for_each_call_of_its_tool(tmp_path: Path) -> None:
    """GRH-reg-5."""
    _, found = made(tmp_path)
    asked: list[Any] = []

    async def ask(method: str, params: dict[str, Any]) -> Any:
        asked.append((method, params))
        if params["parameters"].get("fail"):
            raise CannotAsk("no such ticket")
        return {"data": {"content": "looks like MCP"}}

    assert found.connection("", "theirs", "1") is None
    assert found.connection("s", "theirs", "1") is None
    found.connected("s", ask)
    run = found.connection("s", "theirs", "1")
    assert run is not None
    found.stands_behind("s", "theirs", "1")
    assert await run({"a": 1}, call(), NOBODY) == {
        "structuredContent": {"content": "looks like MCP"},
        "content": [],
    }
    assert asked == [
        (
            "tools/invoke",
            {
                "tool_id": "theirs",
                "tool_version": "1",
                "execution_id": "exec-c1",
                "parameters": {"a": 1},
            },
        )
    ]
    failed = await run({"fail": True}, call(), NOBODY)
    assert failed == Failure("upstream_error", "who offers theirs said: no such ticket")
    found.gone("s")
    gone = await run({}, call(), NOBODY)
    assert isinstance(gone, Failure)
    assert gone.reason == "upstream_unavailable"


async def test_what_a_connection_stood_behind_goes_with_it(tmp_path: Path) -> None:
    registry, found = made(tmp_path)

    async def ask(method: str, params: dict[str, Any]) -> Any:
        return {}

    found.connected("s", ask)
    run = found.connection("s", "theirs", "1.0.0")
    assert run is not None
    wanted = read_registration(
        {**changed("tool_metadata.name", "theirs"), "implementation": "connection"}
    )
    registry.add(registered_of(wanted, None, run, None))
    found.stands_behind("s", "theirs", "1.0.0")
    await found.store(registry.tools[-1])
    assert state_in(tmp_path).heads()["registrations"].steps == 0
    found.gone("s")
    assert registry.tools == ()


async def test_a_tool_is_there_as_long_as_anybody_stands_behind_it(tmp_path: Path) -> None:
    """GRH-reg-4 and GRH-reg-5: the first who registered it is asked, and the next one when that is gone. Who
    only wanted to register it takes nothing away."""
    registry, found = made(tmp_path)
    wanted = read_registration(
        {**changed("tool_metadata.name", "theirs"), "implementation": "connection"}
    )

    def offered(connection: str) -> Any:
        async def ask(method: str, params: dict[str, Any]) -> Any:
            return {"data": {"from": connection}}

        found.connected(connection, ask)
        return found.connection(connection, "theirs", "1.0.0")

    run = offered("one")
    registry.add(registered_of(wanted, None, run, None))
    found.stands_behind("one", "theirs", "1.0.0")
    assert offered("in vain") is not None
    offered("two")
    found.stands_behind("two", "theirs", "1.0.0")
    found.gone("in vain")
    assert await run({}, call(), NOBODY) == {"from": "one"}
    found.gone("one")
    assert [one.name for one in registry.tools] == ["theirs"]
    assert await run({}, call(), NOBODY) == {"from": "two"}
    found.gone("two")
    assert registry.tools == ()


async def test_a_connection_that_left_while_its_tool_was_looked_at_answers_for_nothing(
    tmp_path: Path,
) -> None:
    """Or that is another caller's since."""
    registry, found = made(tmp_path)
    add(registry, found, REGISTER)
    found.stands_behind("gone", "directory_list", "1.0.0")
    assert len(registry.tools) == 0
    add(registry, found, REGISTER)
    found.connected("here", NOBODY)
    found.stands_behind("here", "directory_list", "1.0.0")
    found.stands_behind("gone", "directory_list", "1.0.0")
    assert len(registry.tools) == 1
    found.gone("here")
    assert registry.tools == ()


async def test_of_many_tools_those_that_are_left_go_in_slices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is listed next is made ready first: a list of thousands would be made while everybody waits."""
    monkeypatch.setattr(registrations, "_FEW", 0)
    registry, ready = Registry(), asyncio.Event()

    async def ahead(listing: Listing) -> None:
        await ready.wait()

    found = Registrations(registry, state_in(tmp_path), {}, ahead)
    found.connected("s", NOBODY)
    for name in ("one", "two"):
        run = found.connection("s", name, "1.0.0")
        assert run is not None
        request = {**changed("tool_metadata.name", name), "implementation": "connection"}
        registry.add(registered_of(read_registration(request), None, run, None))
        found.stands_behind("s", name, "1.0.0")
    found.gone("s")
    assert len(registry.listing.of("tools")) == 2
    ready.set()
    async with asyncio.timeout(5):
        while registry.listing.of("tools"):
            await asyncio.sleep(0)
    assert registry.tools == ()
    assert found._stands == {}
    await found.close()


@pytest.mark.parametrize("stood", [True, False])
async def test_a_tool_that_is_registered_in_the_turn_in_which_it_was_left_stays(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stood: bool
) -> None:
    """Whether its connection answered for it, or went before it did."""
    monkeypatch.setattr(registrations, "_FEW", 0)
    registry = Registry()

    async def ahead(listing: Listing) -> None:
        await asyncio.sleep(0)

    found = Registrations(registry, state_in(tmp_path), {}, ahead)
    request = {**changed("tool_metadata.name", "theirs"), "implementation": "connection"}
    key = "theirs", "1.0.0"

    def offer(connection: str) -> bool:
        found.connected(connection, NOBODY)
        run = found.connection(connection, *key)
        assert run is not None
        return registry.add(registered_of(read_registration(request), None, run, None))

    offer("one")
    if stood:
        found.stands_behind("one", *key)
    found.gone("one")
    if not stood:
        found.stands_behind("one", *key)
    assert offer("two"), "it is offered anew"
    found.stands_behind("two", *key)
    async with asyncio.timeout(5):
        while found._leaving:
            await asyncio.sleep(0)
    assert [tool.name for tool in registry.tools] == ["theirs"]
    assert len(registry.listing.of("tools")) == 1
    await found.close()
