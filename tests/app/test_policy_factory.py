"""The gates of one configuration after the other: made anew, with what was used up and learned handed on."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.access.gate import Access
from gatewright.access.grants import Grant, Grants
from gatewright.access.permission_gate import Permission
from gatewright.app.features import FEATURES, features_of
from gatewright.app.policy_factory import Made, PolicyFactory, Revoked, Still, sight_of
from gatewright.call import SHIPPED, Back, Call, Caller, Gate, Refusal, Target, Tool, UserContext
from gatewright.call import Who as Who_
from gatewright.config import Settings
from gatewright.config.model import Storage
from gatewright.feature import Rules
from gatewright.flow.feature import FlowFeature
from gatewright.identity.issuers import Known
from gatewright.identity.session_gate import Session
from gatewright.in_force import InForce
from gatewright.pins.gate import Definition
from gatewright.pipeline import Gates
from gatewright.servers.catalogue import EVERYTHING, Catalogue
from gatewright.servers.dispatch import Dispatch
from gatewright.servers.local import LocalServer
from gatewright.servers.server_set import ServerSet
from gatewright.servers.spec import ServerSpec
from gatewright.servers.task_methods import ServerTasks
from gatewright.servers.task_owners import MadeTasks
from tests.feature_parts import ground, settings
from tests.gate_parts import AGENT, Mute, a_call, a_tool, a_tool_call

FLEET = ServerSet({}, {}, {}, Catalogue([]))
SERVERS = FLEET, Dispatch(FLEET, ServerTasks(MadeTasks(time.time, os.urandom)))
YES = (Grant(AGENT.id, "srv"),)


class NoKeys:
    """A store without keys."""

    def verify(self, credential: str) -> str:
        return "unknown"


class House:
    """A gateway's policies, one configuration after the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        on = ground(folder)
        self.now = on.now
        features = features_of(FEATURES, on)
        owners: dict[str, Who_] = {}
        session = Session(owners.get)
        self.judges = PolicyFactory(on.now, features, NoKeys(), {}, session)

    def made(self, text: str = "") -> Made:
        """The policy of a configuration, which is not taken."""
        return self.judges.of(self.judges.table(settings(self.folder, text)), *SERVERS)

    def take(self, made: Made) -> None:
        """From now on it is this one."""
        self.now.take(self.now.settings, made.gates, FLEET, made.known)


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
) -> InForce:
    """The gates that are asked after a wait, by what holds then."""
    barred = {"srv": Refusal("permission_denied", "it was revoked")} if denied else {}
    now = InForce(Settings(storage=Storage(path=Path("state"))))
    gates: dict[str, Gate] = {
        "authenticate": Who(caller),
        "access": found,
        "permission": Permission(Grants(()), lambda: 0.0, barred=barred),
        "definition": Definition(lambda _: held, lambda _: present),
    }
    now.take(now.settings, gates, FLEET, Known())
    return now


def still(then: Access, now: InForce) -> Still:
    return Still({"access": then}, now)


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
    found = await still(access(*then), now_is(current))(a_tool_call(a_tool()), Mute())
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
    fleet.owners = dict.fromkeys(servers)  # type: ignore[assignment]
    found = Revoked(access(*grants), fleet).judge(a_tool_call(a_tool()))
    assert (found is None) == goes_on


@pytest.mark.parametrize("target", [Target(SHIPPED, "greet"), Target("gone", "t"), None])
async def test_a_call_that_runs_ends_with_its_caller_wherever_it_runs(
    target: Target | None,
) -> None:
    """In this process, at a server that is gone, or nowhere: the wait for a task of the gateway."""
    call = replace(a_call(), target=target)
    gone = Revoked(access(*YES), FLEET, lambda _: Refusal("auth_failed", "")).judge(call)
    assert (gone and gone.reason) == "auth_failed"
    assert Revoked(access(*YES), FLEET, lambda call: call.caller).judge(call) is None


async def test_a_call_that_runs_in_this_process_ends_where_its_grant_is_gone() -> None:
    """A tool behind a Groundhog connection, or one that the gateway ships."""
    shipped = LocalServer(ServerSpec(id=SHIPPED, local=True), {})
    fleet = ServerSet({}, {}, {SHIPPED: shipped}, Catalogue([]))
    call = replace(a_tool_call(a_tool()), target=Target(SHIPPED, "greet"))
    given = Grant(AGENT.id, SHIPPED)
    assert Revoked(access(given), fleet).judge(call) is None
    found = Revoked(access(*YES), fleet).judge(call)
    assert (found and found.reason) == "access_denied"


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
    fleet.owners = dict.fromkeys(["srv"])  # type: ignore[assignment]

    def who(call: Call) -> Caller | Refusal:
        return Refusal("auth_failed", "") if user is None else replace(AGENT, user=(user,))

    found = Revoked(access(*YES), fleet, who).judge(a_tool_call(a_tool()))
    assert (found and found.reason) == reason


class Night:
    """A gate by whose clock a call that was let pass may not go on any more."""

    name = "night"

    def __call__(self, call: Call, back: Back) -> Call | Refusal:
        return call

    def since(self, call: Call) -> Refusal | None:
        return Refusal("policy_violation", "it is night by now")


async def test_after_a_wait_every_gate_is_asked_that_knows_what_has_changed() -> None:
    yes = access(*YES)
    now = now_is(yes)
    now.take(now.settings, {**now.gates, "night": Night()}, FLEET, Known())
    found = await still(yes, now)(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Refusal)
    assert found.message == "it is night by now"


async def test_after_a_wait_a_permission_that_was_revoked_meanwhile_is_gone() -> None:
    """MGP-6.4-5: somebody agreed to the call, and somebody else took the permission back."""
    yes = access(*YES)
    found = await still(yes, now_is(yes, denied=True))(a_tool_call(a_tool()), Mute())
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
    found = await still(access(*YES), now_is(access(*YES), **now))(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Refusal)
    assert found.gate == gate


async def test_after_a_wait_another_notation_of_a_definition_is_the_same(tmp_path: Path) -> None:
    same = replace(a_tool(), definition={"name": Raw(b' "\\u0065cho" ')})
    call = a_tool_call(a_tool())
    assert await still(access(*YES), now_is(access(*YES), present=same))(call, Mute()) == call


async def test_the_record_says_what_the_call_was_let_in_by() -> None:
    tool = a_tool()
    narrow = access(Grant(AGENT.id, "srv", tool.target.name), *YES)
    found = await still(access(*YES), now_is(narrow))(a_tool_call(tool), Mute())
    assert isinstance(found, Call)
    assert found.facts["access"] == "server_grant"


async def test_what_a_caller_has_used_up_stays_used_up(tmp_path: Path) -> None:
    house = House(tmp_path)

    async def left(text: str) -> int:
        found = house.made(text)
        house.take(found)
        verdicts = [found.gates["rate"](a_call(), Mute()) for _ in range(10)]
        return sum(isinstance(one, Call) for one in verdicts)

    assert await left("[limits]\ncalls_per_minute = 5\n") == 5
    assert await left("[limits]\ncalls_per_minute = 6\n") <= 1


async def test_schemas_are_compiled_anew_only_where_their_rules_changed(tmp_path: Path) -> None:
    house, found = House(tmp_path), []
    for text in ("", "[limits]\ncalls_per_minute = 5\n", "[limits]\nschema_depth = 5\n"):
        made = house.made(text)
        house.take(made)
        found.append(made.gates["schema"])
    first, same, other = found
    assert first is same
    assert other is not first


async def test_gates_that_were_not_taken_are_nobodys_current_ones(tmp_path: Path) -> None:
    house = House(tmp_path)
    made = house.made()
    house.take(made)
    house.made()
    assert house.now.gate("access", Access) is made.gates["access"]


async def test_the_gates_are_those_of_the_list_in_its_order(tmp_path: Path) -> None:
    assert tuple(House(tmp_path).made().gates) == Gates._fields


def test_nobody_sees_anything_where_no_feature_says_who_may(tmp_path: Path) -> None:
    sight = sight_of([], settings(tmp_path), [])
    assert not sight.tool(Caller("root", "operator"), a_tool())
    assert not sight.server(Caller("root", "operator"), "srv")
    assert not sight.resource(Caller("root", "operator"), a_tool().target)
    assert not sight.unlisted(Caller("root", "operator"), a_tool().target)


def test_what_a_feature_holds_back_nobody_sees(tmp_path: Path) -> None:
    rules = [Rules(sight=EVERYTHING), Rules(held=lambda tool: "it has changed", version=lambda: 7)]
    sight = sight_of(rules, settings(tmp_path), [])
    assert not sight.tool(AGENT, a_tool())
    assert sight.held(a_tool()) == "it has changed"
    assert sight.unlisted(AGENT, a_tool().target)
    assert sight.version() == (0, 7)


async def test_no_call_passes_where_a_gate_was_not_made_and_nothing_speaks_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FlowFeature, "rules", lambda *_: Rules())
    gate = House(tmp_path).made().gates["flow"]
    found = gate(a_tool_call(a_tool()), Mute())
    assert isinstance(found, Refusal)
    assert found.message == (
        "the feature flow is not part of this gateway, which would judge every call; so the call is refused"
    )
