"""The gates of one configuration after the other: made anew, with what was used up and learned handed on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants, Layer
from gatewright.access.permission_gate import Permission
from gatewright.access.permission_policy import Permitting
from gatewright.access.permissions import Permissions
from gatewright.app.policy import PolicyFactory, Revoked, Still, Table, table_of
from gatewright.approvals.request import Approval, Asked
from gatewright.call import Back, Call, Caller, Refusal, Tool, UserContext
from gatewright.config import Settings, load
from gatewright.pins.gate import Definition
from gatewright.pins.pinning import Pinning
from gatewright.pins.store import Pins
from gatewright.pipeline import Gates
from gatewright.servers.catalogue import Catalogue
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.server_set import ServerSet
from gatewright.servers.task_methods import ServerTasks
from gatewright.servers.task_owners import MadeTasks
from tests.gate_parts import AGENT, Mute, a_call, a_tool, a_tool_call
from tests.storage.parts import state_in

FLEET = ServerSet({}, {}, {}, Catalogue([]))
SERVERS = FLEET, Dispatch(FLEET, ServerTasks(MadeTasks(time.time, os.urandom)))
YES = (Grant(AGENT.id, "srv"),)


class NoKeys:
    """A store without keys."""

    def verify(self, credential: str) -> str:
        return "unknown"


class NoDesk:
    """A queue that nobody uses."""

    def in_turn(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()

    def redeem(self, asked: Asked) -> None:
        return None

    def ask(self, asked: Asked, **more: object) -> None:
        return None

    @property
    def page(self) -> Callable[[Approval], str]:
        return lambda _: ""

    async def decided(self, id: str) -> None:
        return None

    def want(self, server: str, permission: str, **more: object) -> None:
        return None

    def unwanted(self, server: str, permission: str) -> None:
        return None


def pinning(folder: Path) -> Pinning:
    """Pins of nothing yet."""
    return Pinning(Pins(state_in(folder), clock=lambda: 0.0), lambda event_type, **more: 0)


def permitting(folder: Path) -> Permitting:
    """Permissions of no server."""
    return Permitting(
        Permissions(state_in(folder), clock=lambda: 0.0), NoDesk(), lambda event_type, **more: 0
    )


class Who:
    """The gate `authenticate`, to which a caller is this one by now."""

    name = "authenticate"

    def __init__(self, caller: Caller | Refusal) -> None:
        self._caller = caller

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        return (
            replace(call, caller=self._caller) if isinstance(self._caller, Caller) else self._caller
        )


def now_is(
    found: Access,
    *,
    denied: bool = False,
    caller: Caller | Refusal = AGENT,
    present: Tool | None = None,
    held: str = "",
) -> Callable[[], Gates]:
    """The gates that are asked after a wait, by what holds then."""
    barred = {"srv": Refusal("permission_denied", "it was revoked")} if denied else {}
    found_ = SimpleNamespace(
        authenticate=Who(caller),
        access=found,
        permission=Permission(Grants(()), lambda: 0.0, barred=barred),
        definition=Definition(lambda _: held, lambda _: present),
    )
    return lambda: found_  # type: ignore[return-value]


def settings(folder: Path, text: str = "") -> Settings:
    (folder / "mgp.toml").write_text(text)
    return load(folder / "mgp.toml", environ={"HOME": str(folder)})


def access(*grants: Grant) -> Access:
    return Access(Grants(grants), lambda: 0.0)


@pytest.mark.parametrize(
    ("then", "now", "passes"), [(YES, YES, True), (YES, (), False), ((), YES, False)]
)
async def test_after_a_wait_both_tables_have_to_allow_it(
    then: tuple[Grant, ...], now: tuple[Grant, ...], passes: bool
) -> None:
    """What was taken away meanwhile is gone, what was given is for the next call."""
    current = access(*now)
    found = await Still(access(*then), now_is(current))(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Call) == passes
    if isinstance(found, Refusal):
        assert found.reason == "access_denied"


@pytest.mark.parametrize(
    ("grants", "servers", "goes_on"),
    [(YES, ["srv"], True), ((), ["srv"], False), ((), [], True)],
)
async def test_a_call_that_runs_ends_where_its_grant_is_gone_but_not_with_its_server(
    grants: tuple[Grant, ...], servers: list[str], goes_on: bool
) -> None:
    fleet = ServerSet({}, {}, {}, Catalogue([]))
    fleet.servers = dict.fromkeys(servers)  # type: ignore[assignment]
    found = Revoked(access(*grants), fleet).judge(a_tool_call(a_tool()))
    assert (found is None) == goes_on


@pytest.mark.parametrize(
    ("user", "reason"),
    [
        (UserContext(), None),
        (UserContext(trust="untrusted"), "access_denied"),
        (None, "auth_failed"),
    ],
)
async def test_a_call_that_runs_is_of_whom_the_new_configuration_says(
    user: UserContext | None, reason: str | None
) -> None:
    """Rights that were taken away meanwhile are gone for what runs, too."""
    fleet = ServerSet({}, {}, {}, Catalogue([]))
    fleet.servers = dict.fromkeys(["srv"])  # type: ignore[assignment]

    def who(call: Call) -> Caller | Refusal:
        return Refusal("auth_failed", "") if user is None else replace(AGENT, user=(user,))

    found = Revoked(access(*YES), fleet, who).judge(a_tool_call(a_tool()))
    assert (found and found.reason) == reason


async def test_after_a_wait_a_permission_that_was_revoked_meanwhile_is_gone() -> None:
    """MGP-6.4-5: somebody agreed to the call, and somebody else took the permission back."""
    yes = access(*YES)
    found = await Still(yes, now_is(yes, denied=True))(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Refusal)
    assert found.reason == "permission_denied"


@pytest.mark.parametrize(
    ("now", "gate"),
    [
        ({"caller": Refusal("auth_failed", "the key is gone")}, "authenticate"),
        ({"caller": replace(AGENT, user=(UserContext(trust="untrusted"),))}, "access"),
        ({"present": a_tool(), "held": "it has changed"}, "definition"),
        ({"present": replace(a_tool(), definition={"name": Raw(b'"else"')})}, "definition"),
        ({"present": replace(a_tool(), definition={"name": Raw(b'"broken')})}, "definition"),
    ],
)
async def test_after_a_wait_who_calls_and_what_is_called_are_asked_about_again(
    now: dict[str, Any], gate: str
) -> None:
    """MGP-4.4-3: a person agreed to a call of this caller, of the tool as it was then."""
    found = await Still(access(*YES), now_is(access(*YES), **now))(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Refusal)
    assert found.gate == gate


async def test_after_a_wait_another_notation_of_a_definition_is_the_same(tmp_path: Path) -> None:
    same = replace(a_tool(), definition={"name": Raw(b' "\\u0065cho" ')})
    call = a_tool_call(a_tool())
    assert await Still(access(*YES), now_is(access(*YES), present=same))(call, Mute()) == call


async def test_the_record_says_what_the_call_was_let_in_by() -> None:
    tool = a_tool()
    narrow = access(Grant(AGENT.id, "srv", tool.target.name), *YES)
    found = await Still(access(*YES), now_is(narrow))(a_tool_call(tool), Mute())
    assert isinstance(found, Call)
    assert found.facts["access"] == "server_grant"


async def test_what_a_caller_has_used_up_stays_used_up(tmp_path: Path) -> None:
    judges = PolicyFactory(NoKeys(), {}, {}, NoDesk(), pinning(tmp_path), permitting(tmp_path))

    async def left(text: str) -> int:
        found = settings(tmp_path, text)
        gates = judges.of(
            found, table_of(found, Layer(), pinning(tmp_path), permitting(tmp_path)), *SERVERS
        )
        judges.take(gates)
        verdicts = [gates.rate(a_call(), Mute()) for _ in range(10)]
        return sum(isinstance(one, Call) for one in verdicts)

    assert await left("[limits]\ncalls_per_minute = 5\n") == 5
    assert await left("[limits]\ncalls_per_minute = 6\n") <= 1


def test_schemas_are_compiled_anew_only_where_their_rules_changed(tmp_path: Path) -> None:
    judges = PolicyFactory(NoKeys(), {}, {}, NoDesk(), pinning(tmp_path), permitting(tmp_path))
    first, same, other = (
        judges.of(
            found, table_of(found, Layer(), pinning(tmp_path), permitting(tmp_path)), *SERVERS
        ).schema
        for found in (
            settings(tmp_path),
            settings(tmp_path, "[limits]\ncalls_per_minute = 5\n"),
            settings(tmp_path, "[limits]\nschema_depth = 5\n"),
        )
    )
    assert first is same
    assert other is not first


def test_gates_that_were_not_taken_are_nobodys_current_ones(tmp_path: Path) -> None:
    judges, found = (
        PolicyFactory(NoKeys(), {}, {}, NoDesk(), pinning(tmp_path), permitting(tmp_path)),
        settings(tmp_path),
    )
    table: Table = table_of(found, Layer(), pinning(tmp_path), permitting(tmp_path))
    judges.take(judges.of(found, table, *SERVERS))
    judges.of(found, table_of(found, Layer(), pinning(tmp_path), permitting(tmp_path)), *SERVERS)
    assert judges.access() is table.access
