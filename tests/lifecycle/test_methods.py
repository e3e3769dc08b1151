"""The three methods of MGP §11 at a gateway of one server: who may ask what, and what is recorded first."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Collection
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.call import (
    ANONYMOUS,
    Answer,
    Call,
    Caller,
    Client,
    Failure,
    Mgp,
    Outcome,
    Refusal,
    Unrecorded,
    UserContext,
)
from gatewright.call_policy import CLOSED
from gatewright.kernel import Kernel
from gatewright.lifecycle.gate import GatewayDrain
from gatewright.lifecycle.methods import PING, SHUTDOWN, STATUS, LifecycleMethods, Own
from gatewright.lifecycle.transitions import Transitions
from gatewright.mcp.wire.permissions import REGISTRY_WRITE
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.servers.administration import Administration
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.view import View
from gatewright.transport import slices
from tests.kernel_parts import Book
from tests.servers.rig import FakeBack, make_call, python, running, within

CHIEF = Caller("root", "operator")
SPEAKS = Client(LATEST_LEGACY, mgp=Mgp("0.2.0", ("lifecycle",)))


class House:
    """The methods, what was recorded, and whether the gateway was ended."""

    def __init__(self, supervisor: Supervisor) -> None:
        self.recorded: list[str] = []
        self.writable = True
        self.stopped = 0
        self.drain = GatewayDrain()
        own = Own(
            name=lambda: "house",
            recorded=lambda: self.writable,
            acted=self._acted,
            clock=lambda: 0.0,
            monotonic=lambda: 0.0,
            stop=self._stop,
        )
        administration = Administration(supervisor, self._again, self._of_server, set())
        kernel = Kernel(*CLOSED, Book())
        self.methods = LifecycleMethods(
            own, supervisor, kernel, administration, self.drain, Transitions(lambda: 0.0)
        )

    def _stop(self) -> None:
        self.stopped += 1

    async def _again(self, anew: Collection[str]) -> None:
        pass

    def _acted(self, call: Call, event: str, details: dict[str, Any]) -> None:
        if not self.writable:
            raise Unrecorded("the disk is full")
        self.recorded.append(event)

    def _of_server(self, caller: Caller, event: str, server: str, why: str) -> None:
        if not self.writable:
            raise Unrecorded("the disk is full")
        self.recorded.append(f"{event} {server}")

    async def ask(
        self, method: str, caller: Caller = CHIEF, client: Client = SPEAKS, **params: Any
    ) -> Outcome:
        call = make_call("method", method, params, caller=caller, client=client)
        outcome: Outcome = await within(self.methods.all[method](call, FakeBack()))
        return outcome

    async def said(self, method: str, **params: Any) -> dict[str, Any]:
        outcome = await self.ask(method, **params)
        assert isinstance(outcome, Answer), outcome
        found: dict[str, Any] = json.loads(outcome.raw)
        return found


@asynccontextmanager
async def house() -> AsyncIterator[House]:
    async with running(python("living", id="s")) as supervisor:
        found = House(supervisor)
        yield found
        found.drain.close()


async def test_the_receiver_is_the_gateway_unless_a_server_is_named() -> None:
    """C-56, MGP-11.3-2"""
    async with house() as found:
        assert (await found.said(PING))["server_id"] == "house"
        assert (await found.said(PING, server_id="house"))["server_id"] == "house"
        assert (await found.said(PING, server_id="s"))["server_id"] == "s"


async def test_without_the_extension_the_methods_are_not_there() -> None:
    async with house() as found:
        for method in (PING, STATUS, SHUTDOWN):
            refused = await found.ask(method, client=Client(LATEST_LEGACY))
            assert isinstance(refused, Failure)
            assert refused.reason == "method_not_found"


async def test_a_gateway_that_cannot_record_is_unhealthy() -> None:
    """MGP-11.3-3"""
    async with house() as found:
        assert (await found.said(PING))["status"] == "healthy"
        found.writable = False
        assert (await found.said(PING))["status"] == "unhealthy"
        status = await found.said(STATUS)
        assert (status["status"], status["checks"]["record_writable"]) == ("unhealthy", False)


async def test_a_shutdown_that_cannot_be_recorded_does_not_happen() -> None:
    async with house() as found:
        found.writable = False
        targets: list[dict[str, Any]] = [{}, {"server_id": "s"}]
        for target in targets:
            with pytest.raises(Unrecorded):
                await found.ask(SHUTDOWN, reason="operator_request", **target)
        assert not found.drain.draining
        found.writable = True
        assert (await found.said(PING, server_id="s"))["status"] == "healthy"


async def test_only_who_administers_may_shut_anything_down() -> None:
    async with house() as found:
        for caller in (ANONYMOUS, Caller("ann"), Caller("me", "owner")):
            targets: list[dict[str, Any]] = [{}, {"server_id": "s"}, {"server_id": "nobody"}]
            for target in targets:
                refused = await found.ask(SHUTDOWN, caller, reason="operator_request", **target)
                assert isinstance(refused, Refusal)
                assert refused.reason == "access_denied"
        assert found.recorded == []


async def test_the_right_to_write_registrations_is_enough_for_servers_and_not_for_the_gateway() -> (
    None
):
    """ggen's `AdminWrite`. Everybody's gateway is no registration."""
    chief = Caller("ann", user=(UserContext(permissions=(REGISTRY_WRITE,)),))
    async with house() as found:
        done = await found.ask(SHUTDOWN, chief, reason="idle_timeout", server_id="s")
        assert isinstance(done, Answer | Failure)
        targets: list[dict[str, Any]] = [{}, {"server_id": "house"}]
        for target in targets:
            refused = await found.ask(SHUTDOWN, chief, reason="idle_timeout", **target)
            assert isinstance(refused, Refusal)
            assert refused.reason == "access_denied"
        assert not found.drain.draining


async def test_a_shutdown_is_answered_and_recorded() -> None:
    """MGP-11.4-1"""
    async with house() as found:
        said = await found.said(SHUTDOWN, server_id="s", reason="resource_limit", timeout_ms=100)
        assert said == {"accepted": True, "pending_requests": 0, "estimated_drain_ms": 0}
        assert found.recorded == ["dev.gatewright.server.shutdown s"]
        said = await found.said(SHUTDOWN, reason="kernel_shutdown", timeout_ms=50)
        assert said["accepted"] is True
        assert found.recorded[1:] == ["dev.gatewright.shutdown"]
        assert found.drain.draining
        assert (await found.said(PING))["status"] == "degraded"


@pytest.mark.parametrize(
    "params",
    [
        {"reason": "boredom"},
        {"reason": ["idle_timeout"]},
        {"reason": "idle_timeout", "timeout_ms": "1"},
        {"reason": "idle_timeout", "timeout_ms": 3_600_001},
        {"reason": "idle_timeout", "server_id": ["s"]},
    ],
)
async def test_what_is_not_one_of_the_words_is_refused(params: dict[str, Any]) -> None:
    """MGP-11.4-2"""
    async with house() as found:
        refused = await found.ask(SHUTDOWN, **params)
        assert isinstance(refused, Failure)
        assert refused.reason == "invalid_params"
        assert found.recorded == []


async def test_of_calls_without_a_name_those_of_the_same_session_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Without a session a caller without a name is anybody, and how much others do is not for it."""
    async with running() as supervisor:
        methods = House(supervisor).methods
        runs = [make_call("tool", "tools/call", session=one) for one in ("a", "a", "b", None)]
        monkeypatch.setattr(methods._kernel, "running", lambda: runs)
        asked = [make_call("method", PING, session=one) for one in ("a", "b", None)]
        assert [methods._pending(one, None) for one in asked] == [2, 1, 0]


class _Many:
    """A catalogue of a thousand tools, and how often it was asked whether somebody may see one."""

    def __init__(self, catalogue: Catalogue, number: int) -> None:
        self.asked = 0
        self.sight, self.tools, self._catalogue = self, range(number), catalogue

    def __getattr__(self, name: str) -> Any:
        return getattr(self._catalogue, name)

    def shelf(self, server: str) -> _Many:
        return self

    def tool(self, caller: Caller, tool: int) -> bool:
        self.asked += 1
        return tool % 2 == 0


@pytest.mark.parametrize("about", [{}, {"server_id": "s"}])
async def test_tools_are_counted_with_turns_for_others_between_them(
    about: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any change of rights each of them is decided on anew."""
    monkeypatch.setattr(slices, "_SLICE_S", 0.0)
    async with house() as found:
        many = _Many(found.methods._servers.catalogue, 1000)
        seen = SimpleNamespace(catalogue=many, fleet=found.methods._servers.fleet)
        monkeypatch.setattr(found.methods, "_servers", seen)
        asking = asyncio.ensure_future(found.said(STATUS, **about))
        before, most = 0, 0
        while not asking.done():
            await asyncio.sleep(0)
            most = max(most, many.asked - before)
            before = many.asked
        said = asking.result()
        assert (said["tools_available"], said["tools_total"], many.asked) == (500, 500, 1000)
        assert most <= 2


@pytest.mark.parametrize("method", [PING, STATUS])
async def test_a_view_that_is_missing_is_made_in_slices_before_an_operator_is_answered(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with house() as found:
        catalogue, missing = found.methods._servers.catalogue, list[bool]()
        catalogue._views.clear()
        made = catalogue.view

        def view(profile: str) -> View:
            missing.append(profile not in catalogue._views)
            return made(profile)

        monkeypatch.setattr(catalogue, "view", view)
        await found.said(method)
        assert missing
        assert not any(missing)
