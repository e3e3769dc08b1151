"""`Registration` answers `mgp/discovery/register`, `deregister` (MGP §15): starts, ends, restores servers; `RegisteredServers`: those present.

What is registered is added to whatever configuration is in force (`RegisteredServers.extend`) and started by going on with that: a server of
the configuration and one that was registered are staged, judged and retired alike. Who registers is known from authentication.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Mapping
from hashlib import sha256
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.audit.records import GATEWAY, Actor, Subject
from gatewright.call import (
    Answer,
    Back,
    Call,
    Caller,
    Failure,
    Outcome,
    Refusal,
    Unrecorded,
    Who,
)
from gatewright.command_text import to_type
from gatewright.config import Server, Settings, SettingsError
from gatewright.config.changes import policy_version
from gatewright.mcp.wire import jsonrpc
from gatewright.registration.registered import Registered, Unusable, server_of
from gatewright.registration.request import Ending, Wanted, read_ending, read_wanted
from gatewright.registration.rules import (
    Denied,
    Rules,
    barred,
    configured,
    not_permitted,
)
from gatewright.registration.store import Kept, KeptServers
from gatewright.secret_scanning.message_text import shown
from gatewright.servers.supervisor import Supervisor
from gatewright.servers.turns import GoingOn, Turns
from gatewright.storage.errors import StoreError
from gatewright.transport.slices import in_slices

__all__ = ["REGISTERED", "Record", "RegisteredServers", "Registration"]

log = logging.getLogger("gatewright.registration")

REGISTERED, DEREGISTERED = (
    f"dev.gatewright.server.{what}" for what in ("registered", "deregistered")
)
_ARG_CHARS = 96
"""Characters of each argument that are recorded: the record is looked through once more as a whole, in one step. What all of them are, their
digest proves."""
_WAITING, _OF_ONE = 8, 2
"""So much of agents may wait for each other, and of one of them: each registration waits for its server. Operators come before them."""


class Record(Protocol):
    """The record (`audit.trail`)."""

    def event(
        self, event_type: str, *, actor: Actor, target: Subject, details: Mapping[str, Any]
    ) -> int:
        """Raises `Unrecorded`."""


class RegisteredServers:
    """The servers that are registered now, by id, in the order in which they came."""

    def __init__(self, kept: KeptServers, record: Record) -> None:
        self.kept = kept
        self.present: dict[str, Registered] = {}
        self._record = record

    def extend(self, settings: Settings) -> Settings:
        """A configuration with what is registered. A configured id wins."""
        mine = [one for one in self.present.values() if not configured(settings, one.id)]
        if not mine or settings.gateway.unprefixed:
            return settings
        known = tuple(one.id for one in settings.servers if one.enabled)
        built = [made for one in mine if (made := _made(one, settings)) is not None]
        return replace(
            settings,
            configured=policy_version(settings),
            servers=(*settings.servers, *built),
            # The only server's own names stay its own.
            profiles={
                name: replace(one, servers=known) if one.unprefixed and not one.servers else one
                for name, one in settings.profiles.items()
            },
        )

    def adopt(self, settings: Settings) -> None:
        """Forget what the configuration has by now under its id."""
        for one in [*self.present.values()]:
            if configured(settings, one.id):
                with contextlib.suppress(Unrecorded):  # it has happened already
                    self.note(
                        None, DEREGISTERED, one.id, {"reason": "the configuration has its id"}
                    )
                self.forget(one)

    def forget(self, one: Registered) -> None:
        """It is registered no more; its id stays whose it was."""
        self.present.pop(one.id, None)
        try:
            self.kept.put(one.id, Kept(one.kind, one.by))
        except StoreError as problem:
            log.warning("server %s could not be forgotten: %s", one.id, problem)

    def note(
        self, caller: Caller | None, event: str, server: str, details: Mapping[str, Any]
    ) -> None:
        """Record what somebody, else the gateway itself, does. Raises `Unrecorded`."""
        actor = GATEWAY if caller is None else Actor(caller.kind, caller.id, caller.key_id)
        self._record.event(event, actor=actor, target=Subject(server_id=server), details=details)


def _made(one: Registered, settings: Settings) -> Server | None:
    try:
        return server_of(one, settings, barred(one, settings))
    except Unusable as problem:
        log.warning("server %s was registered and cannot be had: %s", one.id, problem)
        return None


class Registration:
    """Both methods. `settings` gives the configuration in force, `going_on` goes on with it; `judged` reads and judges what would run."""

    def __init__(
        self,
        fleet: RegisteredServers,
        servers: Supervisor,
        *,
        settings: Callable[[], Settings],
        going_on: GoingOn,
        judged: Callable[[Registered, Call, Settings], Awaitable[Registered]],
        stopped: Callable[[str], bool],
        clock: Callable[[], float],
    ) -> None:
        """`stopped` says whether an operator keeps the servers of an id down; `clock` gives Unix seconds."""
        self._fleet = fleet
        self._servers = servers
        self._settings = settings
        self._going_on = going_on
        self._judged = judged
        self._stopped = stopped
        self._clock = clock
        self._turns = Turns()
        self._work: dict[asyncio.Task[Any], Who] = {}

    async def register(self, call: Call, back: Back) -> Outcome:
        """Answer `mgp/discovery/register`."""
        if (flaw := _not_offered(call) or not_permitted(call.caller)) is not None:
            return flaw
        wanted = read_wanted(call.params)
        if isinstance(wanted, Failure):
            return wanted
        return await self._in_turn(call.caller, self._register(wanted, call))

    async def deregister(self, call: Call, back: Back) -> Outcome:
        """Answer `mgp/discovery/deregister`."""
        if (flaw := _not_offered(call) or not_permitted(call.caller)) is not None:
            return flaw
        ending = read_ending(call.params)
        if isinstance(ending, Failure):
            return ending
        return await self._in_turn(call.caller, self._deregister(ending, call))

    async def restore(self) -> None:
        """Start what was registered before the gateway was started."""
        async with self._turns.in_line():
            for one in self._fleet.kept.servers:
                self._fleet.present.setdefault(one.id, one)
            if self._fleet.present:
                await self._going_on.in_line()

    def close(self) -> None:
        """Whatever still waits is not done."""
        for task in self._work:
            task.cancel()

    async def end_with_sessions(self, open_: Callable[[str], bool]) -> None:
        """End the servers whose session is over, all in one turn, for which nobody is hurried: agents end sessions as they like."""
        gone = [
            one
            for one in self._fleet.present.values()
            if one.session is not None and not open_(one.session)
        ]
        if not gone:
            return
        async with self._turns.in_line():
            left = [one for one in gone if self._fleet.present.get(one.id) is one]
            try:
                for one in left:
                    self._take_out(one, None, "its creator's session has ended")
            finally:
                if not all(self._fleet.present.get(one.id) is one for one in left):
                    await self._going_on.in_line()

    # -- inside

    async def _in_turn(self, caller: Caller, work: Coroutine[Any, Any, Outcome]) -> Outcome:
        """One after the other. Goes on where its caller is gone: nothing is left half done."""
        if caller.kind != "operator" and self._crowded(caller):
            work.close()
            return Refusal(
                "resource_exhausted",
                "too many servers are being registered; wait for them",
                retry_after_ms=1000,
            )

        async def turn() -> Outcome:
            operator = caller.kind == "operator"
            async with self._at_once() if operator else self._turns.in_line():
                return await work

        task = asyncio.create_task(turn())
        self._work[task] = caller.who
        task.add_done_callback(self._work.pop)
        return await asyncio.shield(task)

    @contextlib.asynccontextmanager
    async def _at_once(self) -> AsyncIterator[None]:
        """The turn of an operator: how long the servers of others take to say hello does not hold it up."""
        with contextlib.ExitStack() as waits:
            waits.enter_context(self._going_on.pressing())
            async with self._turns.at_once():
                waits.close()
                yield

    def _goes_on(self, caller: Caller) -> Awaitable[None]:
        """Go on with what is registered now, for whom that is."""
        operator = caller.kind == "operator"
        return self._going_on.again() if operator else self._going_on.in_line()

    def _crowded(self, caller: Caller) -> bool:
        agents = [who for who in self._work.values() if who[0] != "operator"]
        return len(agents) >= _WAITING or agents.count(caller.who) >= _OF_ONE

    async def _register(self, wanted: Wanted, call: Call) -> Outcome:
        sees = self._servers.catalogue.sight.server
        settings, fleet = self._settings(), self._fleet
        rules = Rules(settings, fleet.present, fleet.kept.named(), knows=sees)
        try:
            one = rules.registered(wanted, call, self._clock())
            if self._stopped(one.id):
                return _kept_down(one.id)
            one = await self._judged(one, call, settings)
            rules.check_isolation(one)
            server_of(one, settings)
        except Denied as problem:
            return problem.outcome
        except Unusable as problem:
            return Failure("invalid_params", f"params: {problem}")
        said = await in_slices(_said(one, wanted))
        fleet.note(call.caller, REGISTERED, one.id, said)
        return await self._start(one, call)

    async def _start(self, one: Registered, call: Call) -> Outcome:
        fleet = self._fleet
        fleet.present[one.id] = one
        try:
            await self._goes_on(call.caller)
            if fleet.present.get(one.id) is not one:  # a reload came first, and `adopt` forgot it
                what = f"the configuration has a server {one.id} by now: choose another id"
                return Failure("registration_conflict", what, {"field": "id"})
            if not (flaw := self._down(one.id)):
                persistent = one if one.lifetime == "persistent" else None
                fleet.kept.put(one.id, Kept(one.kind, one.by, persistent))
                return self._answer(one, call)
        except (SettingsError, StoreError) as problem:
            log.warning("server %s could not be registered: %s", one.id, problem)
            flaw = "it could not be kept; the gateway's log says why"
        except BaseException:
            fleet.present.pop(one.id, None)
            raise
        self._take_out(one, None, f"it did not come up: {flaw}"[:1000])
        await self._goes_on(call.caller)
        text = f"server {one.id} did not come up and is not registered: {flaw}"
        return Failure("upstream_error", text, {"server": one.id})

    def _down(self, server: str) -> str:
        """Why a server that was staged is of no use; empty where it is connected, or still may be."""
        found = self._servers.fleet.servers.get(server)
        if found is None:
            return "the configuration leaves no room for it"
        status = found.status()
        return "" if status.state in ("connected", "connecting") else status.reason or status.state

    def _answer(self, one: Registered, call: Call) -> Answer:
        catalogue = self._servers.catalogue
        items = catalogue.view(call.profile).items("tools/list")
        tools = [item.tool for item in items if item.tool is not None and item.server == one.id]
        status = self._servers.fleet.servers[one.id].status()
        body: dict[str, Any] = {
            "id": one.id,
            "status": status.state,
            "tools": [tool.exposed for tool in tools if catalogue.sight.tool(call.caller, tool)],
            "trust_level": one.trust_level,
            "created_by": one.created_by,
            "lifetime": one.lifetime,
        }
        if status.reason:
            body["reason"] = status.reason
        return Answer(jsonrpc.encode(body))

    async def _deregister(self, ending: Ending, call: Call) -> Outcome:
        one = self._fleet.present.get(ending.id)
        flaw = self._not_theirs(ending.id, one, call)
        if flaw is not None or one is None:
            return flaw or _unknown(ending.id)
        self._take_out(one, call.caller, ending.reason)
        await self._goes_on(call.caller)
        return Answer(jsonrpc.encode({"id": one.id, "status": "deregistered"}))

    def _not_theirs(self, server: str, one: Registered | None, call: Call) -> Outcome | None:
        """Why a caller may not end a server. Of one that it may not see, no more than that there is none."""
        caller = call.caller
        operator = caller.kind == "operator"
        mine = one is not None and one.who == caller.who
        sees = operator or server in self._servers.catalogue.servers(call.profile, caller)
        if mine or (operator and one is not None):
            return None
        if not sees:
            return _unknown(server)
        if one is not None:
            return Refusal(
                "permission_denied",
                f"{server} was registered by somebody else; an operator ends it with "
                f"`{to_type('server deregister {}', server)}`",
                {"server": server},
                gate="permission",
            )
        if not configured(self._settings(), server):
            return _unknown(server)
        return Failure(
            "registration_conflict",
            f"{server} is a server of the configuration, and ends when it is taken out there",
            {"server": server, "rule": "configured"},
        )

    def _take_out(self, one: Registered, caller: Caller | None, reason: str) -> None:
        """Take a server out, from the next configuration on. Recorded first; calls that run come to their end."""
        self._fleet.note(
            caller, DEREGISTERED, one.id, {"reason": shown(reason), "created_by": one.created_by}
        )
        running = self._servers.fleet.servers.get(one.id)
        if running is not None:
            running.farewell = f"deregistered: {reason}" if reason else "deregistered"
        self._fleet.forget(one)


def _not_offered(call: Call) -> Failure | None:
    mgp = call.client.mgp
    if mgp is None or "discovery" not in mgp.extensions:
        return Failure("method_not_found", f"Method not found: {call.method}")
    return None


def _kept_down(server: str) -> Failure:
    again = to_type("server start {}", server)
    what = f"an operator stopped the server {server} that there was; `{again}` lets its id be registered again"
    return Failure("registration_conflict", what, {"field": "id", "rule": "stopped"})


def _unknown(server: str) -> Failure:
    return Failure("not_found", f"there is no registered server {server[:100]!r}")


def _said(one: Registered, wanted: Wanted) -> Generator[None, None, dict[str, Any]]:
    """What the record has of a registration, an argument in each step: secrets are looked for in them. Values of variables are left out:
    they may be secrets."""
    args = []
    for arg in one.args:
        args.append(shown(arg, _ARG_CHARS))
        yield
    return {
        "created_by": shown(wanted.created_by),
        "justification": shown(one.justification),
        "command": shown(one.command),
        "args": args,
        # As of `printf '%s\0' ARGUMENTS | sha256sum`.
        "args_sha256": sha256(_ended(one.args)).hexdigest(),
        "env": sorted(one.env),
        "trust_level": one.trust_level,
        "lifetime": one.lifetime,
        "permissions": list(one.permissions),
        "code_sha256": one.digest,
    }


def _ended(args: tuple[str, ...]) -> bytes:
    return "".join(f"{one}\0" for one in args).encode("utf-8", "surrogatepass")
