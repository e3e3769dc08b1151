"""`Dispatch`: routes a permitted call to its server, several servers, the catalogue or a gateway method; retries MGP errors; finds fast paths.

Tools, prompts and resources have an owner, which the gates have resolved, and so have methods that an operator declared for
a server. Lists are the catalogue's. A few methods concern several servers at once. What is none of these goes nowhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, Protocol

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Event, Failure, Outcome, Question, Target
from gatewright.chunk_way import ChunkWay, chunk_way
from gatewright.command_text import to_type
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.protocol.retry_hints import renamed
from gatewright.mcp.protocol.tasks import wanted
from gatewright.mcp.wire.groundhog import WISHES
from gatewright.mcp.wire.methods import NOTIFICATIONS
from gatewright.secret_scanning.chunks import CHUNK
from gatewright.servers.call_sender import Route
from gatewright.servers.client_notices import roots_changed, tell
from gatewright.servers.declared_methods import without_address
from gatewright.servers.discovery_list import Discovery
from gatewright.servers.retry import Persisting
from gatewright.servers.server import Server
from gatewright.servers.server_set import ServerSet
from gatewright.servers.straight_line import StraightLine
from gatewright.servers.subscription_targets import ended, only
from gatewright.servers.task_methods import ServerTasks, within
from gatewright.servers.task_screening import METHODS as TASKS
from gatewright.servers.task_subject import away, led, member_of
from gatewright.servers.view import LISTS

__all__ = ["Builtin", "Dispatch", "Owner", "Shared"]

Builtin = Callable[[Call, Back], Awaitable[Outcome]]
"""One of the gateway's own methods."""

Shared = Callable[[Call, Back, Builtin], Awaitable[Outcome]]
"""A method that the gateway answers for what is its own; the last argument asks the servers about the rest."""

_DONE = Answer(b"{}", own=True)


async def _said(outcome: Outcome) -> Outcome:
    return outcome


LEVEL_S = 10.0
"""How long servers have to take a log level: their caller waits for the slowest of them."""


class _Listening:
    """The way back of a call that may stream, which remembers whether it did."""

    def __init__(self, back: Back) -> None:
        self._back = back
        self.streamed = False

    def emit(self, event: Event) -> None:
        self.streamed = self.streamed or event.method == CHUNK
        self._back.emit(event)

    def chunks(self) -> ChunkWay | None:
        """The way of further ones: it is known that it did."""
        return chunk_way(self._back) if self.streamed else None

    async def ask(self, question: Question) -> dict[str, Any]:
        return await self._back.ask(question)


class Owner(Protocol):
    """A server, however it is reached."""

    id: str

    @property
    def hello(self) -> Hello:
        """What it said of itself when it was last connected."""

    async def call(self, method: str, params: dict[str, Any], call: Call, back: Back) -> Outcome:
        """Put one call to it, in its own names."""


class Dispatch:
    """The kernel's `Dispatch`, of one policy."""

    def __init__(
        self,
        fleet: ServerSet,
        tasks: ServerTasks,
        *,
        methods: Mapping[str, Builtin] = {},
        shared: Mapping[str, Shared] = {},
        persisting: Persisting | None = None,
    ) -> None:
        """`tasks` are those that servers made; `methods` are the gateway's own, besides those of this folder, `shared` those
        that it answers for what is its own; `persisting` asks again on behalf of callers."""
        self._owners: Mapping[str, Owner] = fleet.owners
        self._catalogue = fleet.catalogue
        discovery = Discovery(fleet.catalogue, fleet.standing, fleet.reason, fleet.permissions)
        self._builtin: dict[str, Builtin] = {**methods, "mgp/discovery/list": discovery}
        self._tasks = tasks
        self._shared = shared
        self._persisting = persisting
        self._methods: Mapping[str, Callable[[Call, Back], Awaitable[Outcome]]] = {
            "completion/complete": self._complete,
            "resources/subscribe": self._subscribe,
            "resources/unsubscribe": self._subscribe,
            "logging/setLevel": self._set_level,
            "notifications/roots/list_changed": self._roots_changed,
            **dict.fromkeys(TASKS, self._of_task),
        }

    def answers(self, method: str) -> bool:
        """Whether it is known here who is asked; what is not is a server's own method, or nobody's."""
        return method in self._methods or method in self._builtin or method in self._shared

    def __call__(self, call: Call, back: Back) -> Coroutine[Any, Any, Outcome]:
        """Take one call to its owner. Never raises, except for the cancellation of its task."""
        target = call.target
        if target is None or (call.kind == "method" and self.answers(call.method)):
            return self._unowned(call, back)
        owner = self._owners.get(target.server)
        if owner is None:
            gone = f"server {target.server} is no longer there"
            return _said(Failure("upstream_unavailable", gone, {"sent": False}))
        if call.kind == "method":
            return self._declared(owner, call, back)
        params = call.params
        member = "uri" if call.kind == "resource" else "name"
        if params.get(member) != target.name:
            params = params.copy()
            params[member] = target.name
        # Who has never been connected may turn out to speak MGP.
        hello = None if self._persisting is None else owner.hello
        if hello is not None and (hello.mgp is not None or not hello.revision):
            return self._persisted(owner, params, call, back)
        return self._asked(owner, params, call, back)

    def way(self, call: Call) -> StraightLine | None:
        """The way that all calls like this one go, which every gate has let pass; None where each is to be looked at."""
        target = call.target
        owner = None if target is None or call.kind != "tool" else self._owners.get(target.server)
        if not isinstance(owner, Server) or target is None or wanted(call):
            return None
        # Who has never been connected may turn out to speak MGP.
        if owner.hello.mgp is not None or not owner.hello.revision:
            return None
        return owner.way(
            call
        )  # nobody changes who owns what: another fleet comes with another policy

    async def _unowned(self, call: Call, back: Back) -> Outcome:
        if call.kind == "list":
            return await self._list(call, back)
        builtin = self._builtin.get(call.method)
        if builtin is not None:
            return await builtin(call, back)
        if call.kind != "method":
            return Failure("not_found", f"there is no {call.kind} {call.name!r}")
        shared = self._shared.get(call.method)
        if shared is not None:
            return await shared(call, back, self._of_task)
        known = self._methods.get(call.method)
        if known is None:
            return Failure("method_not_found", f"Method not found: {call.method}")
        return await known(call, back)

    # -- what has an owner ---------------------------------------------------------------------------

    def _asked(
        self, owner: Owner, params: dict[str, Any], call: Call, back: Back
    ) -> Coroutine[Any, Any, Outcome]:
        if call.kind == "tool" and wanted(call) and isinstance(owner, Server):
            return self._taking_task(owner, params, call, back)
        return owner.call(call.method, params, call, back)

    async def _taking_task(
        self, owner: Server, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        route = Route()
        outcome = await owner.call(call.method, params, call, back, route)
        if type(outcome) is Answer:
            return await self._tasks.noticed(outcome, owner, call, route)
        return outcome

    async def _persisted(
        self, owner: Owner, params: dict[str, Any], call: Call, back: Back
    ) -> Outcome:
        """Ask an MGP server, and again where its error says that this may help (MGP §14.6)."""
        if "_mgp" in params:
            back = _Listening(back)
        outcome = await self._asked(owner, params, call, back)
        # Who was connected for this call may have turned out not to speak MGP.
        if type(outcome) is not Failure or not outcome.mgp or self._persisting is None:
            return outcome

        async def put() -> Outcome:
            return await self._asked(owner, params, call, back)

        # What has sent a part of its result has run, whatever its error says; and the caller would have that part twice.
        streamed = isinstance(back, _Listening) and back.streamed
        found = outcome if streamed else await self._persisting(outcome, call, back, put)
        if type(found) is not Failure or found.error is None:
            return found

        def exposed(name: str) -> str | None:
            if call.target is not None and name == call.target.name:
                return None  # it would be the same call once more
            return self._catalogue.shown_as(call.profile, Target(owner.id, name), call.caller)

        return replace(found, error=renamed(found.error, exposed))

    async def _list(self, call: Call, back: Back) -> Outcome:
        if call.method not in LISTS:
            return Failure("method_not_found", f"there is no list {call.method!r}")
        if call.method == "tools/list" and not WISHES.isdisjoint(call.params):
            search = self._builtin.get(call.method)
            if search is not None:
                return await search(call, back)
        if call.params.get("cursor") is not None:
            # We never give one out: every list is one page.
            return Failure("invalid_params", "this cursor was not given out by this gateway")
        listed = await self._catalogue.list(call.method, call.profile, call.caller, call.client)
        return Answer(listed, own=True)

    # -- what concerns several -----------------------------------------------------------------------

    def _servers(self, call: Call) -> list[str]:
        return self._catalogue.servers(call.profile, call.caller)

    def _visible(self, call: Call) -> list[Owner]:
        found = (self._owners.get(one) for one in self._servers(call))
        return [one for one in found if one is not None]

    async def _complete(self, call: Call, back: Back) -> Outcome:
        target = call.target  # as the gates judged it: whose a name is may have changed since
        owner = None if target is None else self._owners.get(target.server)
        if target is None or owner is None:
            nothing = Failure("invalid_params", "params.ref names nothing that can be completed")
            return self._away(call) or nothing
        params = {**call.params, "ref": {**call.params["ref"], member_of(call): target.name}}
        return await owner.call(call.method, params, call, back)

    async def _subscribe(self, call: Call, back: Back) -> Outcome:
        uri = call.params.get("uri")
        if not isinstance(uri, str):
            return Failure("invalid_params", "params.uri must be a string")
        target = call.target  # as in `_complete`
        owner = self._owners.get(target.server) if target is not None else None
        if target is None or not isinstance(owner, Server):
            nothing = Failure("not_found", f"there is no resource {uri!r}", {"uri": uri})
            return self._away(call, wakes=call.method == "resources/subscribe") or nothing
        if (over := owner.over(call)) is not None:
            return over
        begins = call.method == "resources/subscribe"
        wish = owner.wishes.subscribe if begins else owner.wishes.unsubscribe
        outcome = await wish(target.name, {**call.params, "uri": target.name}, call, back)
        # After the grant: a subscription that is refused must not end the former one.
        if begins and isinstance(outcome, Answer):
            only(self._owners, call, owner)
        return outcome

    def _away(self, call: Call, *, wakes: bool = True) -> Failure | None:
        """Nobody is asked because the server whose this is, or may turn out to be, is not there: it is started again where that is due,
        and not for who only gives something up."""
        server = away(call, self._catalogue)
        if server is None:
            return None
        if wakes and isinstance(owner := self._owners.get(server), Server):
            owner.life.missed()
        why = to_type("server show {}", server)
        said = f"server {server} is not connected, and no other one is asked for what is its own; `{why}` says why"
        return Failure("upstream_unavailable", said, {"server": server, "sent": False}, 1000)

    async def _set_level(self, call: Call, back: Back) -> Outcome:
        servers = [one for one in self._visible(call) if isinstance(one, Server)]
        writing = [one for one in servers if "logging" in one.hello.capabilities]
        over = next((found for one in writing if (found := one.over(call)) is not None), None)
        if over is not None:
            return over
        if (
            not writing
        ):  # what callbacks tell is written here, from the level on that the client wants
            tells = any(one.hello.writes for one in servers)
            return _DONE if tells else Failure("method_not_found", "no server here writes logs")
        # One server that hangs would hold up the answer for all.
        call = within(call, LEVEL_S)
        asked = (one.wishes.level(call.params, call, back) for one in writing)
        outcomes = await asyncio.gather(*asked)
        return next((one for one in outcomes if isinstance(one, Answer)), outcomes[0])

    async def _roots_changed(self, call: Call, back: Back) -> Outcome:
        """Told to the servers that can ask this session for its roots, on the connections that serve it."""
        if isinstance(call.client.capabilities.get("roots"), dict):
            for owner in self._visible(call):
                if isinstance(owner, Server):
                    roots_changed(owner, call.session, call.params)
        return _DONE

    async def _declared(self, owner: Owner, call: Call, back: Back) -> Outcome:
        """A method that is not MCP's, for the server that it was declared for."""
        params = without_address(call.params)
        if not call.method.startswith(NOTIFICATIONS):
            return await owner.call(call.method, params, call, back)
        if not isinstance(owner, Server):
            return Failure("method_not_found", f"server {owner.id} is told nothing")
        return await tell(owner, call, params) or _DONE

    async def _of_task(self, call: Call, back: Back) -> Outcome:
        return await self._tasks.ask(self._owners, self._catalogue, call, back)

    def about(self, call: Call) -> Call:
        """A call of a method that is led here, with whose it is."""
        return led(call, self._catalogue, self._tasks.made, ended(self._owners, call))
