"""Methods `mgp/health/ping`, `mgp/health/status`, `mgp/lifecycle/shutdown` (MGP §11), for the gateway and, by `server_id`, its servers."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from typing import Any

import msgspec

from gatewright.call import Answer, Back, Call, Failure, Outcome, Refusal
from gatewright.command_text import to_type
from gatewright.identity.rights import administers
from gatewright.kernel import Kernel
from gatewright.lifecycle.gate import GatewayDrain
from gatewright.lifecycle.health import Asked, Health, Status, bounded
from gatewright.lifecycle.transitions import Transitions, timestamp
from gatewright.mcp.protocol.tasks import PREFIX
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.administration import Administration
from gatewright.servers.dispatch import Builtin
from gatewright.servers.local import LocalServer
from gatewright.servers.server import Server
from gatewright.servers.states import REASONS, ShutdownReason
from gatewright.servers.supervisor import Supervisor
from gatewright.transport.slices import in_slices

__all__ = ["PING", "SHUTDOWN", "STATUS", "LifecycleMethods", "Own"]

PING, STATUS, SHUTDOWN = "mgp/health/ping", "mgp/health/status", "mgp/lifecycle/shutdown"

_USUAL_MS = 30_000
_MOST_MS = 3_600_000
_WORST: Sequence[Status] = ("healthy", "degraded", "unhealthy")


class Own(msgspec.Struct, frozen=True, kw_only=True):
    """The gateway itself."""

    name: Callable[[], str]
    """What it is called."""
    recorded: Callable[[], bool]
    """Whether the record can be written: without it every call is refused."""
    acted: Callable[[Call, str, dict[str, Any]], None]
    """Records what somebody is about to do to it. Raises `Unrecorded`."""
    clock: Callable[[], float]
    """Unix seconds."""
    monotonic: Callable[[], float]
    stop: Callable[[], None]
    """Ends it."""


class LifecycleMethods:
    """The three methods."""

    def __init__(
        self,
        own: Own,
        servers: Supervisor,
        kernel: Kernel,
        administration: Administration,
        drain: GatewayDrain,
        transitions: Transitions,
    ) -> None:
        self._own = own
        self._servers = servers
        self._kernel = kernel
        self._administration = administration
        self._drain = drain
        self._transitions = transitions
        self._began = own.monotonic()
        self._health = Health()
        self.all: Mapping[str, Builtin] = {
            PING: self._asked(self._ping),
            STATUS: self._asked(self._status),
            SHUTDOWN: self._asked(self._shutdown),
        }

    def _asked(self, answer: Builtin) -> Builtin:
        async def method(call: Call, back: Back) -> Outcome:
            mgp = call.client.mgp
            if mgp is None or "lifecycle" not in mgp.extensions:
                return Failure("method_not_found", f"Method not found: {call.method}")
            if not isinstance(call.params.get("server_id", ""), str):
                return Failure("invalid_params", "params.server_id is the id of a server")
            if administers(call.caller, "read"):  # by whose view it is looked up (`_visible`)
                await self._servers.catalogue.warm((call.profile,))
            return await answer(call, back)

        return method

    # -- health --------------------------------------------------------------------------------------

    async def _ping(self, call: Call, back: Back) -> Outcome:
        if not isinstance(call.params.get("timestamp", ""), str):
            return Failure("invalid_params", "params.timestamp is an RFC 3339 text")
        server = self._named(call)
        if isinstance(server, Failure):
            return server
        if server is None:
            status, uptime_s, name = self._of_gateway(call), self._uptime_s(), self._own.name()
        else:
            params = {"timestamp": timestamp(self._own.clock())}
            asked = await self._health.of(server, PING, params)
            status, uptime_s, name = asked.status, self._up_s(server, asked), server.id
        return _answer(
            {
                "status": status,
                "timestamp": timestamp(self._own.clock()),
                "uptime_secs": int(uptime_s),
                "server_id": name,
            }
        )

    async def _status(self, call: Call, back: Back) -> Outcome:
        server = self._named(call)
        if isinstance(server, Failure):
            return server
        if server is None:
            return _answer(await self._gateway_status(call))
        asked = await self._health.of(server, STATUS, {})
        tools = (await in_slices(self._tools(call, (server.id,))))[server.id]
        body = {
            "status": asked.status,
            "server_id": server.id,
            "uptime_secs": int(self._up_s(server, asked)),
            "tools_available": tools if server.state == "connected" else 0,
            "tools_total": tools,
            "pending_requests": self._pending(call, server.id),
        }
        # What else it says is of all its callers, so operators alone hear it.
        reads = administers(call.caller, "read")
        own = {"connected": server.state == "connected"}
        body["resources"] = bounded(asked.said.get("resources")) if reads else {}
        body["checks"] = {**own, **bounded(asked.said.get("checks"))} if reads else own
        return _answer(body)

    async def _gateway_status(self, call: Call) -> dict[str, Any]:
        tools = await in_slices(self._tools(call, tuple(self._states(call))))
        states = {name: one for name, one in self._states(call).items() if name in tools}
        reads = administers(call.caller, "read")
        resources = {"memory_bytes": _resident_bytes()} if reads else {}
        return {
            "status": self._of_gateway(call),
            "server_id": self._own.name(),
            "uptime_secs": int(self._uptime_s()),
            "tools_available": sum(
                tools[one] for one in states if states[one].state == "connected"
            ),
            "tools_total": sum(tools[one] for one in states),
            "pending_requests": self._pending(call, None),
            "resources": resources,
            "checks": {
                "record_writable": self._own.recorded(),
                "taking_calls": not self._drain.draining,
                **{f"server:{name}": _well(one) for name, one in states.items()},
            },
        }

    def _of_gateway(self, call: Call) -> Status:
        if not self._own.recorded():
            return "unhealthy"
        well = all(_well(one) for one in self._states(call).values())
        return "healthy" if well and not self._drain.draining else "degraded"

    def _states(self, call: Call) -> dict[str, Server | LocalServer]:
        """The servers that the caller may know of and that are to run."""
        owners = self._servers.fleet.owners
        found = {name: owners[name] for name in self._visible(call) if name in owners}
        return {
            name: one for name, one in found.items() if one.spec.enabled and not one.spec.stopped
        }

    def _visible(self, call: Call) -> Sequence[str]:
        catalogue = self._servers.catalogue
        if administers(call.caller, "read"):
            return catalogue.view(call.profile).servers
        return catalogue.servers(call.profile, call.caller)

    def _tools(
        self, call: Call, servers: Sequence[str]
    ) -> Generator[None, None, Mapping[str, int]]:
        """How many tools of each its caller may see, step by step: after any change of rights each is decided on anew."""
        found = dict.fromkeys(servers, 0)
        for server in servers:
            catalogue = self._servers.catalogue  # as it is by now
            for tool in catalogue.shelf(server).tools:
                found[server] += catalogue.sight.tool(call.caller, tool)
                yield
        return found

    def _pending(self, call: Call, server: str | None) -> int:
        """The calls in flight: all of them for who administers, else the caller's own, and without a name those of its session. This
        one is none."""
        every = [
            one
            for one in self._kernel.running()
            if one.id != call.id
            and (server is None or (one.target is not None and one.target.server == server))
        ]
        if administers(call.caller, "read"):
            return len(every)
        if call.caller.kind == "anonymous":  # which is anybody
            return sum(call.session is not None and one.session == call.session for one in every)
        return sum(one.caller.who == call.caller.who for one in every)

    def _uptime_s(self) -> float:
        return self._own.monotonic() - self._began

    def _up_s(self, server: Server | LocalServer, asked: Asked) -> float:
        if isinstance(server, LocalServer):
            return self._uptime_s()
        said = asked.said.get("uptime_secs")
        if isinstance(said, int | float) and not isinstance(said, bool) and 0 <= said < 1e12:
            return said
        return server.life.uptime_s

    # -- shutdown ------------------------------------------------------------------------------------

    async def _shutdown(self, call: Call, back: Back) -> Outcome:
        if not administers(call.caller, "write"):
            said = f"an operator shuts down servers, with `{to_type('server drain SERVER')}`, and the gateway; this connection is not one's"
            return Refusal("access_denied", said)
        reason, timeout_ms = call.params.get("reason"), call.params.get("timeout_ms", _USUAL_MS)
        known: ShutdownReason | None = next((one for one in REASONS if one == reason), None)
        if known is None:
            return Failure("invalid_params", f"params.reason is one of {', '.join(REASONS)}")
        if type(timeout_ms) is not int or not 0 <= timeout_ms <= _MOST_MS:
            return Failure("invalid_params", f"params.timeout_ms is a number from 0 to {_MOST_MS}")
        server = self._named(call)
        if isinstance(server, Failure):
            return server
        if isinstance(server, LocalServer):
            said = "this server is part of the gateway, and ends with it"
            return Failure("invalid_params", said)
        if server is None:
            return self._end(call, known, timeout_ms)
        shut_down = self._administration.shut_down
        begun = await shut_down(call.caller, server.id, known, timeout_ms / 1000)
        if begun is None:
            return _accepted(0, 0, accepted=False)
        return _accepted(begun.pending, begun.drain_ms, note=begun.note)

    def _end(self, call: Call, reason: ShutdownReason, timeout_ms: int) -> Outcome:
        if call.caller.kind != "operator":
            said = f"an operator shuts down the gateway itself; `{to_type('server drain SERVER')}`, or `server_id`, shuts down a server"
            return Refusal("access_denied", said)
        own = self._own
        details = {"reason": reason, "timeout_ms": timeout_ms}
        own.acted(call, "dev.gatewright.shutdown", details)
        pending = self._pending(call, None)
        if not self._drain.draining:
            self._transitions.of_gateway(own.name(), "connected", "draining", reason)
        drain = self._drain.begin
        drain(self._kernel, own.stop, reason, timeout_ms / 1000, self._tasks, self._idle)
        return _accepted(pending, timeout_ms if pending or self._tasks() else 0)

    def _tasks(self) -> int:
        """How many tasks run, or have a result that nobody has fetched, that would end with the connections of their servers."""
        owners = self._servers.fleet.owners.values()
        serving = sum(one.life.tasks for one in owners if isinstance(one, Server))
        return serving + self._servers.retiring.tasks()

    def _idle(self) -> int:
        """How many calls only wait for what a task of the gateway itself comes to: one that runs is a call by itself, and one that
        waits for an operator would not be made any more."""
        return sum(
            one.method == "tasks/result" and str(one.params.get("taskId")).startswith(PREFIX)
            for one in self._kernel.running()
        )

    def _named(self, call: Call) -> Server | LocalServer | Failure | None:
        """The server that is meant; None where it is the gateway."""
        name = call.params.get("server_id")
        if name is None:
            return None
        found = self._servers.fleet.owners.get(name) if name in self._visible(call) else None
        if found is None and name == self._own.name():
            return None
        return found or Failure("not_found", f"there is no server {name[:100]!r}")


def _well(server: Server | LocalServer) -> bool:
    """Whether it serves, or waits to be called."""
    return server.state == "connected" or (isinstance(server, Server) and server.life.waits)


def _accepted(pending: int, drain_ms: int, *, accepted: bool = True, note: str = "") -> Answer:
    said = {"accepted": accepted, "pending_requests": pending, "estimated_drain_ms": drain_ms}
    return _answer(said | ({"note": note} if note else {}))


def _answer(body: dict[str, Any]) -> Answer:
    return Answer(jsonrpc.encode(body))


def _resident_bytes() -> int:
    """The most memory that the process had so far, in bytes."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
