"""A call that has waited in a gate goes on only where every gate before it would still let it pass: each gate that waits, each way back."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from gatewright.access import touched
from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants, Layer
from gatewright.access.permission_gate import Permission
from gatewright.access.resolve_gate import Catalogue, Resolve
from gatewright.approvals import Confirm
from gatewright.call import Back, Call, Caller, Gate, Outcome, Refusal, Tool, UserContext
from gatewright.flow.gate import Flow
from gatewright.identity.gate import Authenticate
from gatewright.identity.session_gate import Session
from gatewright.kernel import Kernel
from gatewright.lifecycle.gate import GatewayDrain
from gatewright.limits.gate import Rate
from gatewright.limits.tool_gate import ToolRate
from gatewright.pins.gate import Definition
from gatewright.pipeline import Gates
from gatewright.redaction.sanitize_gate import Sanitize, Wanted
from gatewright.schemas.gate import Schema
from gatewright.validators.gate import Judged, Validators
from tests.gate_parts import AGENT, Asked, a_tool, a_tool_call
from tests.kernel_parts import ANSWER, Book

BEARER = Caller("agent.one", "agent", token=True)
LIMITED = Caller("agent.one", "agent", "key1", user=(UserContext(resources=("/data/*",)),))
ARGUMENTS = {"text": "a " * 40_000, "url": "https://example.test/"}
BARRED = Refusal("permission_denied", "barred")


class World:
    """The gates as they stand in the pipeline, one of which waits for `go`."""

    def __init__(self, waits: str, monkeypatch: pytest.MonkeyPatch) -> None:
        self.waits, self.reached, self.go = waits, asyncio.Event(), asyncio.Event()
        self.credential: Caller | None = {"authenticate": BEARER, "access": LIMITED}.get(
            waits, AGENT
        )
        self.issued = Layer([Grant(AGENT.id, "srv")])
        self.held, self.sent = "", 0
        self.barred: dict[str, Refusal] = {}
        grants = Grants((), issued=self.issued)
        access = Access(grants, lambda: 0.0)
        if waits == "access":
            monkeypatch.setattr(touched, "in_slices", self._sliced)
        risky = {"risk_level": "dangerous"} if waits == "confirm" else {}
        self._tool = tool = a_tool(
            "run", schema={"type": "object"}, validator="network_restricted", **risky
        )
        gates: dict[str, Gate] = {
            "authenticate": Authenticate(self, bearers=self),
            "resolve": Resolve(cast("Catalogue", self), lambda *_: True),
            "access": access,
            "definition": Definition(lambda _: self.held, lambda _: tool),
            "sanitize": Sanitize(Wanted(True), self._looking if waits == "sanitize" else None),
            "schema": Schema(beside=self._checking if waits == "schema" else None),
            "validators": Validators(
                self._names if waits == "look-ups" else None,
                self._judging if waits == "validators" else None,
            ),
            "permission": Permission(grants, lambda: 0.0, barred=self.barred),
            "confirm": Confirm(Passing(), lambda: 0.0),
        }
        ordered = [gates[one] for one in Gates._fields if one in gates]
        self.kernel = Kernel(ordered, self._owner, [], Book())

    # -- what waits

    async def _wait(self) -> None:
        self.reached.set()
        await self.go.wait()

    def fresh(self, credential: str) -> bool:
        return False

    def making(self, profile: str) -> Awaitable[None] | None:
        return self._wait() if self.waits == "resolve" else None

    def tool(self, profile: str, name: str) -> Tool:
        return self._tool

    async def look(self, credential: str) -> Refusal | None:
        await self._wait()
        return None

    async def _sliced(self, steps: Any) -> Any:
        await self._wait()
        return ()

    async def _looking(self, call: Call) -> tuple[Any, int]:
        await self._wait()
        return call.arguments, 0

    async def _checking(self, *_: Any) -> None:
        await self._wait()

    async def _judging(self, *_: Any) -> Judged:
        await self._wait()
        return Judged()

    async def _names(self, host: str) -> list[str]:
        await self._wait()
        return ["93.184.216.34"]

    async def ask(self, question: Any) -> dict[str, Any]:
        await self._wait()
        return {"action": "accept", "content": {"confirm": True}}

    def emit(self, event: Any) -> None:
        raise AssertionError("gates send no events")

    # -- who comes

    def verify(self, credential: str) -> Caller | str:
        return "revoked" if self.credential is None or credential != "good" else self.credential

    def known(self, credential: str) -> Caller | None:
        return self.credential

    async def _owner(self, call: Call, back: Back) -> Outcome:
        self.sent += 1
        return ANSWER

    async def outcome(self, meanwhile: Callable[[World], object]) -> Outcome:
        """That of one call, while which waits something happens."""
        call = a_tool_call(
            self._tool, arguments=ARGUMENTS, caller=self.credential, credential="good"
        )
        task = asyncio.create_task(self.kernel.handle(call, self))
        async with asyncio.timeout(10):
            await self.reached.wait()
            meanwhile(self)
            self.go.set()
            return await task


class Passing:
    """What `confirm` asks once more, where it has nothing to say."""

    name = "access"

    def __call__(self, call: Call, back: Back) -> Call:
        return call


class Gone:
    """What whoever follows tokens says of one that was taken back."""

    name = "authenticate"

    def judge(self, call: Call) -> Refusal | None:
        """Why not."""
        return Refusal("auth_failed", "taken back")


def revoke_grant(world: World) -> None:
    world.issued.remove(Grant(AGENT.id, "srv").key)
    world.kernel.end_refused()


def revoke_key(world: World) -> None:
    if world.waits == "authenticate":
        assert world.kernel.tokens() == {"good"}
        world.kernel.end_refused([Gone()])
    world.credential = None
    world.kernel.end_refused()


def refuse_pin(world: World) -> None:
    world.held = "its definition was refused"


def bar(world: World) -> None:
    world.barred["srv"] = BARRED
    world.kernel.end_refused()


WAITING = [
    *(
        "authenticate",
        "resolve",
        "access",
        "sanitize",
        "schema",
        "validators",
        "look-ups",
        "confirm",
    ),
]


@pytest.mark.parametrize("waits", WAITING)
async def test_a_call_that_waits_goes_on_where_nothing_was_taken_back(
    waits: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(waits, monkeypatch)
    assert await world.outcome(lambda _: None) == ANSWER


@pytest.mark.parametrize("taken", [revoke_grant, revoke_key, refuse_pin, bar])
@pytest.mark.parametrize("waits", WAITING)
async def test_what_is_taken_back_while_a_call_waits_ends_it_before_it_is_sent(
    waits: str, taken: Callable[[World], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = World(waits, monkeypatch)
    outcome = await world.outcome(taken)
    assert isinstance(outcome, Refusal)
    assert (world.sent, outcome.once, "sent" in outcome.details) == (0, False, False)
    gates: dict[Any, str] = {
        revoke_grant: "access",
        revoke_key: "authenticate",
        refuse_pin: "definition",
        bar: "permission",
    }
    assert outcome.gate == gates[taken]


@pytest.mark.parametrize(("hidden", "passes"), [("a\u200bb", True), ("\u200b/etc/passwd", False)])
async def test_many_arguments_that_sanitize_changes_are_looked_through_again_in_slices(
    hidden: str, passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def owner(call: Call, back: Back) -> Outcome:
        return ANSWER

    monkeypatch.setattr(touched, "_MOST_TEXTS", 0)  # none on the loop, however few
    access = Access(Grants((), issued=Layer([Grant(AGENT.id, "srv")])), lambda: 0.0)
    kernel = Kernel([access, Sanitize(Wanted(True))], owner, [], Book())
    arguments = {"texts": ["word"] * 3_000 + [hidden]}
    call = a_tool_call(a_tool("run"), arguments=arguments, caller=LIMITED)
    outcome = await kernel.handle(call, Asked({}))
    expected = ("", "") if passes else ("access", "path_not_allowed")
    assert (getattr(outcome, "gate", ""), getattr(outcome, "reason", "")) == expected


def test_each_gate_that_can_wait_is_looked_at_here() -> None:
    every: list[Any] = [
        *(Authenticate, Session, GatewayDrain, Rate, Resolve, Access, ToolRate, Definition),
        *(Sanitize, Schema, Validators, Permission, Flow, Confirm),
    ]
    assert [one.name for one in every] == list(Gates._fields)
    # What says anything else than that it answers at once may wait.
    at_once = {"Call", "Refusal", "Call | Refusal"}
    can = {
        one.name
        for one in every
        if inspect.iscoroutinefunction(one.__call__)
        or str(inspect.signature(one.__call__).return_annotation) not in at_once
    }
    assert can == {*WAITING} - {"look-ups"}


async def test_a_gate_that_breaks_when_it_is_asked_again_lets_nothing_pass() -> None:
    class Odd(Passing):
        async def __call__(self, call: Call, back: Back) -> Call:  # type: ignore[override]
            return call

        def since(self, call: Call) -> Refusal | None:
            raise RuntimeError("no store")

    async def owner(call: Call, back: Back) -> Outcome:
        raise AssertionError("nothing is sent")

    kernel = Kernel([Odd()], owner, [], Book())
    outcome = await kernel.handle(a_tool_call(a_tool()), Asked({}))
    assert getattr(outcome, "reason", "") == "internal"
