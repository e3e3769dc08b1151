"""`Administration`: operators' methods to restart, start, stop servers and read their stderr; graceful shutdown; stopped ones stay down.

These are methods like any other: they arrive at an endpoint as calls, pass the gates (which know them for
operators only) and are recorded; what was done is an event of its own, with the server as its target.
A server that was stopped stays down, whatever the configuration says meanwhile, until it is started: also over a restart of the gateway.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableSet
from typing import Any

from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Caller, Failure, Outcome
from gatewright.mcp.wire import jsonrpc
from gatewright.servers.dispatch import Builtin
from gatewright.servers.server import Server
from gatewright.servers.server_life import Begun
from gatewright.servers.states import ShutdownReason
from gatewright.servers.supervisor import Supervisor
from gatewright.storage.errors import StoreError

__all__ = ["Administration"]

log = logging.getLogger("gatewright.servers")

_LINES = 50
_MOMENT_S = 3.0
"""So long whoever stops a server waits for its end, and is told then that it is still to come."""
_REASON_CHARS = 500

_LONG_REASON = Failure("invalid_params", f"params.reason has at most {_REASON_CHARS} characters")

Again = Callable[[Collection[str]], Awaitable[None]]


class Administration:
    """`servers` has the fleet of now; `again` makes the gateway go on with the same settings and these
    servers anew; `acted(caller, event, server, why)` records, and raises `Unrecorded`; `stopped` are the ids of those that stay down."""

    def __init__(
        self,
        servers: Supervisor,
        again: Again,
        acted: Callable[[Caller, str, str, str], None],
        stopped: MutableSet[str],
    ) -> None:
        self._servers = servers
        self._again = again
        self._acted = acted
        self._stopped = stopped
        self._settling: dict[asyncio.Task[None], Server] = {}
        self.methods: Mapping[str, Builtin] = {
            "gatewright/server/restart": self._restart,
            "gatewright/server/start": self._start,
            "gatewright/server/stop": self._stop,
            "gatewright/server/logs": self._logs,
        }

    async def _restart(self, call: Call, back: Back) -> Outcome:
        found = self._named(call)
        if isinstance(found, Failure):
            return found
        return await self._act(call, "restarted", found.id, (found.id,))

    async def _start(self, call: Call, back: Back) -> Outcome:
        found = self._named(call)
        if isinstance(found, Failure):
            name = call.params.get("server")
            # One that was stopped and then deregistered, or taken out of the configuration: nobody could have its id again.
            if isinstance(name, str) and self.is_stopped(name):
                return await self._act(call, "started", name)
            return found
        # One that was not stopped but gave up tries again.
        gave_up = not found.spec.stopped and found.state != "connected"
        return await self._act(call, "started", found.id, (found.id,) if gave_up else ())

    async def _stop(self, call: Call, back: Back) -> Outcome:
        found = self._named(call)
        if isinstance(found, Failure):
            return found
        if (unkept := self._said(call, "stopped", found.id)) is None:
            return _LONG_REASON
        # Not by going on without it: that might wait for what others do, and its calls are its own.
        every, most_s = self._every(found), found.spec.call_s
        endings = [self._ending(one, most_s) for one in every]
        _, still = await asyncio.wait(endings, timeout=_MOMENT_S)
        if not still:
            return self._stands(found.id, unkept)
        run = sum(one.life.pending for one in every)
        how = f"{run} calls run, for {most_s:g} s at most" if run else "its process ends"
        said = f"it takes no more calls; {how}{unkept}"
        return _answer({"id": found.id, "status": "draining", "reason": said})

    async def _act(self, call: Call, what: str, server: str, anew: Collection[str] = ()) -> Outcome:
        if (unkept := self._said(call, what, server)) is None:
            return _LONG_REASON
        await self._again(anew)
        return self._stands(server, unkept, started=what == "started")

    def _said(self, call: Call, what: str, server: str) -> str | None:
        """Record what is done, and keep whether the server stays down: what is to be said of that, None for a reason that is too long."""
        why = call.params.get("reason", "")
        if not isinstance(why, str) or len(why) > _REASON_CHARS:
            return None
        # Recorded before anything starts or stops, or is to at the next reload.
        self._acted(call.caller, f"dev.gatewright.server.{what}", server, why)
        return self._unkept(server, down=what == "stopped")

    def _stands(self, server: str, unkept: str, *, started: bool = False) -> Outcome:
        now = self._servers.fleet.servers.get(server)
        if now is None and started:
            said = f"it is not kept down any more; there is no server of this id now{unkept}"
            return _answer({"id": server, "status": "disconnected", "reason": said})
        if now is None:
            return _unknown(server)
        status = now.status()
        return _answer({"id": server, "status": status.state, "reason": status.reason + unkept})

    def is_stopped(self, server: str) -> bool:
        """Whether an operator stopped the server of this id, which may be gone by now, and nobody has started it since."""
        return server in self._stopped

    def _unkept(self, server: str, *, down: bool) -> str:
        """Have a server stay down or not. What is to be said where that cannot be written: it is done, as the record has it."""
        try:
            (self._stopped.add if down else self._stopped.discard)(server)
        except StoreError as problem:
            log.warning(
                "what server %s is to be is not kept for the next start: %s", server, problem
            )
            return f" (not kept: a restart of the gateway forgets it; {problem})"
        return ""

    async def shut_down(
        self, caller: Caller, server: str, reason: ShutdownReason, timeout_s: float
    ) -> Begun | None:
        """Shut a server down gracefully; None where it is not connected and nothing comes of it. What an operator wants down stays down
        across reloads, also where it is not connected. Raises `KeyError` for a server that there is not, and `Unrecorded`."""
        found = self._servers.fleet.servers[server]
        self._acted(caller, "dev.gatewright.server.shutdown", server, "")
        if reason != "operator_request":
            return await found.life.shut_down(reason, timeout_s)
        # Before anything waits: whoever asked may leave, or have it started again, while the server says how long it takes.
        unkept = self._unkept(server, down=True)
        for one in self._every(found):
            self._ending(one, timeout_s)
        begun = await found.life.shut_down(reason, timeout_s) or Begun(0, 0)
        return replace(begun, note=unkept.strip(" ()"))

    def close(self) -> None:
        """The gateway stops, and with it what is still being ended."""
        for task in self._settling:
            task.cancel()

    def _every(self, server: Server) -> set[Server]:
        """A server and those of its id that have not ended yet or do not serve yet: it was restarted or changed, or is just started,
        restarted or changed, or is being stopped already."""
        others = (*self._settling.values(), *self._servers.retiring, *self._servers.staged)
        return {server, *(one for one in others if one.id == server.id)}

    def _ending(self, server: Server, timeout_s: float) -> asyncio.Task[None]:
        """End a server that is to stay down, whoever asked for it and left."""
        task = asyncio.get_running_loop().create_task(self._settle(server, timeout_s))
        self._settling[task] = server
        task.add_done_callback(self._settling.pop)
        return task

    async def _settle(self, server: Server, timeout_s: float) -> None:
        try:
            if server.id in self._stopped and not server.spec.stopped:
                await server.end(timeout_s)
            if server.id in self._stopped:  # else it was started again meanwhile
                await self._again(())
        except Exception:  # it is down all the same, and a reload says that it was stopped
            log.exception("that server %s was stopped could not be taken over", server.id)

    async def _logs(self, call: Call, back: Back) -> Outcome:
        """The last `lines` lines that came after line number `after`."""
        found = self._named(call)
        if isinstance(found, Failure):
            return found
        most, after = call.params.get("lines", _LINES), call.params.get("after", 0)
        if type(most) is not int or type(after) is not int or most < 1 or after < 0:
            return Failure("invalid_params", "params.lines and params.after are whole numbers")
        kept = list(found.stderr.lines)
        fresh = min(most, len(kept), max(0, found.stderr.count - after))
        lines = kept[len(kept) - fresh :]
        return _answer({"id": found.id, "next": found.stderr.count, "lines": lines})

    def _named(self, call: Call) -> Server | Failure:
        name = call.params.get("server")
        if not isinstance(name, str):
            return Failure("invalid_params", "params.server is the id of a server")
        return self._servers.fleet.servers.get(name) or _unknown(name)


def _unknown(name: str) -> Failure:
    return Failure("not_found", f"there is no server {name[:100]!r}")


def _answer(body: dict[str, Any]) -> Answer:
    return Answer(jsonrpc.encode(body))
