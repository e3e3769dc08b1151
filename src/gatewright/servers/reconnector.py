"""`Reconnector`: keeps one server connection up: restarts with backoff and limits, waits for permission, drains; calls wait or fail fast.

What a caller feels: a server that just died is back before the next call needs it; one that dies again and again is asked ever more
rarely, and its calls are refused with the reason instead of waiting; an HTTP server that is down costs a call no more than the refused
connection, and is tried again by the next call.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress

from gatewright.call import Back, Failure
from gatewright.command_text import to_type
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.servers.connection_wait import Wait, brief, explained, hopeless
from gatewright.servers.draining import Drain, InFlight
from gatewright.servers.permission_admission import NotPermitted
from gatewright.servers.restart_rule import RestartCounter
from gatewright.servers.spec import ServerSpec
from gatewright.servers.states import (
    NO_MORE_RESTARTS,
    After,
    ShutdownReason,
    State,
    allowed,
    cause_of,
)

__all__ = ["Connect", "Reconnector"]

log = logging.getLogger("gatewright.servers")

Connect = Callable[[], Awaitable[Link]]
"""Makes one connection, hello included. Raises `ServerFailed` or `OSError`."""

_DIED = ("exited with status", "killed by")
_GRACEFUL = "exited with status 0"

_AT_LEAST_S = 1.0  # how far apart calls can make attempts at an HTTP server that is down, when they are refused


class Reconnector:
    """See the module's text. `connected` is awaited with each new link, while calls may already use it;
    `changed` hears every state with its reason; `leave` takes each link that is of no more use."""

    def __init__(
        self,
        spec: ServerSpec,
        connect: Connect,
        *,
        connected: Callable[[Link], Awaitable[None]],
        changed: Callable[[State, str], None],
        leave: Callable[[Link], None],
    ) -> None:
        self.spec = spec
        self.link: Link | None = None
        self.state: State = "registered"
        self.reason = self.cause = ""
        """In words, and the word for the last transition (`states.CAUSES`)."""
        self.restarts = 0
        self.calls = InFlight()
        self.drain: Drain | None = None  # how the connection is being shut down, while it is
        self._connect = connect
        self._connected = connected
        self._changed = changed
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._turn: asyncio.Future[None] = self._loop.create_future()
        self._poke = asyncio.Event()
        self._restarts = RestartCounter()
        self._greeted = self.idle = False
        self._attempts = 0
        self._next_at, self._tried_at = 0.0, -1e9
        self._limit: asyncio.Timeout | None = None
        self._holding = self._barred = self._ended = self._down = False
        self._permitted = asyncio.Event()  # by now; `_poke` is forgotten at each pause
        self._cut = ""
        self.waits: Callable[[Back], AbstractContextManager[object]] = nullcontext
        """Hears whose call waits for the connection, for as long as it does."""
        self.late = False
        """Whether the server has to hear something before the next call, while that one waits: `tells` says it."""
        self.tells: Callable[[Link], Awaitable[None]] | None = None

    def start(self) -> None:
        """Begin. Idempotent."""
        if self._task is None:
            self._task = self._loop.create_task(self._keep())

    def adopt(self, spec: ServerSpec) -> None:
        """Go on with other words about the same connection."""
        self.spec = spec
        if self.link is not None:
            self.link.spec = spec

    async def close(self, reason: str = "the gateway stops") -> None:
        """End the connection and make no other. What is in flight fails."""
        task, self._task = self._task, None
        draining = None if self.drain is None else self.drain.task
        tasks = [one for one in (task, draining) if one is not None]
        for one in tasks:
            one.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._to("disconnected", reason)

    async def end(self) -> None:
        """The same, because the one session that it served is over."""
        self._ended = True
        await self.close("it served one session, or one call, which is over")

    async def ready(self, patience_s: float, agreed: bool = False) -> Link | Failure:
        """The connection, after waiting for it where that has a prospect; else why there is none. `agreed`: `Wait`."""
        deadline = self._loop.time() + patience_s
        attempts = self._attempts
        self.hurry()
        while True:
            link = self.link
            if link is not None and link.open:
                return link
            # One attempt that began for this call is enough of an answer where a URL does not respond.
            refusal = self._hopeless(deadline, self._attempts > attempts, agreed)
            if refusal is not None:
                return explained(self.spec, refusal)
            await asyncio.wait([self._turn], timeout=max(0.0, deadline - self._loop.time()))

    def roots_late(self) -> bool:
        """Whether a server that asks for roots outside calls is told with the next call, not now, that they are others."""
        link = self.link
        self.late = self.late or link is None or (link.wants_roots and not link.busy)
        return self.late

    async def told(self, ready: Link | Failure) -> None:
        """Say to a connection that is there what is late."""
        if self.late and self.tells is not None and not isinstance(ready, Failure):
            self.late = False
            await self.tells(ready)

    async def settled(self) -> None:
        """Wait until the first attempt has succeeded or failed, or none is made any more."""
        while self._attempts == 0 and not self._holding and self._task is not None:
            await asyncio.wait([self._turn])

    @contextmanager
    def hold(self, reason: str) -> Iterator[None]:
        """While inside, the attempt waits for a person: it has all the time, and nobody waits for it. A connection that calls
        wait for already ends instead, so that they hear why. Raises `ServerFailed`."""
        if self.link is not None:
            # A session that was lost over HTTP is greeted again while calls wait on this very connection.
            raise ServerFailed(reason)
        limit, left = self._limit, 0.0
        if limit is not None:
            left = (limit.when() or 0.0) - self._loop.time()
            limit.reschedule(None)
        self._holding = True
        self._to(self.state, reason)
        try:
            yield
        finally:
            self._holding = False
            if limit is not None:
                limit.reschedule(self._loop.time() + left)
            self._to(self.state, "")

    def bar(self, reason: str) -> None:
        """End the connection, and make no other before `again`."""
        self.calls.bar(reason)
        if self.link is not None:
            self._bar(True)
            self.link.close(reason)

    def _bar(self, barred: bool) -> None:
        self._barred = barred
        self._permitted.clear()

    def again(self) -> None:
        """What kept the server out has changed: try now."""
        if self._barred:
            self._permitted.set()
            self._poke.set()

    def shut_down(self, reason: ShutdownReason, after: After, timeout_s: float) -> bool:
        """Begin to drain: calls in flight end, others are refused, and the connection is closed then, at latest after `timeout_s`.
        False where there is no connection."""
        if self.drain is not None:
            self.drain.hurry(timeout_s, after)
            return True
        link = self.link
        if link is None or not link.open:
            return False
        self.drain = Drain(link, self.calls, reason=reason, after=after, timeout_s=timeout_s)
        self.link = None  # to those who call; what is in flight on it goes on
        self._to("draining", self.drain.text, reason)
        self.drain.begin()
        return True

    def cut(self, reason: str) -> None:
        """Give up the attempt to connect that is under way, unless that waits for a person."""
        if self._limit is not None and not self._holding:
            self._cut = reason
            self._limit.reschedule(self._loop.time())

    def wanted(self) -> None:
        """Somebody needs the server: one that waits to be called is started."""
        if self.idle:
            self._poke.set()

    async def shut(self) -> None:
        """Return once no shutdown is going on."""
        while self.drain is not None and self._task is not None:
            await asyncio.wait([self._turn])

    def refused(self) -> Failure | None:
        """Why no call is taken, where the server is being shut down, or was until somebody starts it."""
        down = self.drain or self._down or self._task is None
        return self._hopeless(self._loop.time(), False) if down else None

    # -- the loop ------------------------------------------------------------------------------------

    async def _keep(self) -> None:
        while True:
            self._tried_at = self._loop.time()
            try:
                await self._round()
            except Exception as problem:
                # Without this task nobody would connect the server ever again.
                log.exception("server %s: the round that keeps it connected failed", self.spec.id)
                self._next_at = self._loop.time() + self.spec.restart.most_s
                self._to("disconnected", f"internal error: {problem}")
                await asyncio.sleep(self.spec.restart.most_s)
            self.restarts += 1

    async def _round(self) -> None:
        """Connect once, and wait until the next attempt is due."""
        self._to("connecting" if self.state == "registered" else "restarting", self.reason)
        reason = brief(await self._attempt())
        if self.drain is not None:
            await self._drained(self.drain)
            return
        now = self._loop.time()
        self._restarts.ended(self._tried_at, now)
        hint = f"; `{to_type('server logs {}', self.spec.id)}` shows what it wrote"
        hints = self.spec.transport == "stdio" and reason.startswith(_DIED)
        log.warning("server %s: %s%s", self.spec.id, reason, hint if hints else "")
        exhausted = self._exhausted(now)
        if self._failed_start():
            self._to("error", reason, NO_MORE_RESTARTS if exhausted else "")
        else:
            self._to("disconnected", reason)
        await self._pause(now, exhausted)

    def _exhausted(self, now: float) -> bool:
        """Only a process has a limit: another attempt at a URL starts nothing."""
        return self.spec.transport == "stdio" and self._restarts.exhausted(self.spec.restart, now)

    def _failed_start(self) -> bool:
        """Whether there was no connection. A URL that does not answer is no error: it is only tried again."""
        return not self._greeted and (self._barred or self.spec.transport == "stdio")

    async def _drained(self, drain: Drain) -> None:
        """What comes after a shutdown. A restart that was wished for does not count against the limit."""
        self.drain, now = None, self._loop.time()
        if drain.task is not None:
            drain.task.cancel()
        self._next_at, self._restarts.quick = now, self._restarts.quick if drain.counts else 0
        if drain.after == "restart":
            self._to("restarting", drain.text, drain.reason)
            await drain.gone()
            if drain.counts:
                self._restarts.ended(self._tried_at, now)
                await self._pause(now, self._exhausted(now))
            return
        self._down, self.idle = drain.after == "stays", drain.after != "stays"
        self._poke.clear()
        self._to("disconnected", drain.text, drain.reason)
        await self._poke.wait()
        self.idle = self._down = False
        await drain.gone()

    async def _attempt(self) -> str:
        """Connect, stay connected, and return why that ended."""
        link: Link | None = None
        self._greeted = False
        try:
            async with asyncio.timeout(self.spec.connect_s) as self._limit:
                link = await self._connect()
        except TimeoutError:
            why, self._cut = self._cut, ""
            return self._tried(why or f"no hello within {self.spec.connect_s:g} s")
        except (ServerFailed, OSError) as problem:
            self._bar(isinstance(problem, NotPermitted))
            return self._tried(str(problem))
        except Exception as problem:
            log.exception("server %s could not be connected", self.spec.id)
            return self._tried(f"internal error: {problem}")
        finally:
            self._limit = None
        self.link, self._greeted = link, True
        self._to("connected", "")
        try:
            await self._connected(link)
            self._tried("")
            return await link.wait_closed()
        except ServerFailed as problem:
            return self._tried(str(problem))
        except Exception as problem:
            log.exception("what server %s says of itself could not be taken", self.spec.id)
            return self._tried(f"internal error: {problem}")
        finally:
            self.link = None
            self.calls.past.add(link)
            self._leave(link)

    def _tried(self, reason: str) -> str:
        self._attempts += 1
        self._wake()
        return reason

    async def _pause(self, now: float, exhausted: bool) -> None:
        """Wait until the next attempt is due: by the restart rule, or because a call wants it."""
        rule = self.spec.restart
        self._poke.clear()
        if self._barred:
            self._next_at = float("inf")
            self._to("error", self.reason)
            await self._permitted.wait()
            self._barred = False
            return
        stdio = self.spec.transport == "stdio"
        if exhausted or (stdio and rule.policy == "never"):
            self._next_at = self._restarts.room_at(rule) if exhausted else float("inf")
            # From here on only a call tries again, once the window has room (`hurry`), or an operator.
            why = f"; {rule.max} restarts in {rule.window_s:g} s were tried" if exhausted else ""
            self._to("error", self.reason + why, NO_MORE_RESTARTS if exhausted else "not_restarted")
            await self._poke.wait()
        elif self._greeted and rule.policy == "on_failure" and self.reason == _GRACEFUL:
            # It left because it was done; whoever needs it brings it back.
            self._next_at, self.idle = now, True
            await self._poke.wait()
            self.idle = False
        else:
            await self._back_off(now, "restarting" if stdio else "disconnected")
        self._restarts.made(self._loop.time())

    async def _back_off(self, now: float, state: State) -> None:
        delay_s = self._restarts.pause_s(self.spec.restart)
        self._next_at = now + delay_s
        self._to(state, self.reason)
        if delay_s:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._next_at):
                    await self._poke.wait()

    # -- what calls see ------------------------------------------------------------------------------

    def hurry(self) -> None:
        """A call wants the server: try now where trying is due or cheap."""
        now = self._loop.time()
        if self._down:
            return
        if self.state == "error":
            due = now >= self._next_at
        else:
            remote = self.spec.transport != "stdio"
            due = self.idle or (remote and now - self._tried_at >= _AT_LEAST_S)
        if due:
            self._poke.set()

    def _hopeless(self, deadline: float, tried: bool, agreed: bool = False) -> Failure | None:
        """Why it makes no sense to wait any longer, if so."""
        now = self._loop.time()
        stopped, pausing = self._task is None or self._down, not self._poke.is_set()
        wait = Wait(
            spec=self.spec, state=self.state, reason=self.reason, holding=self._holding, ended=self._ended, stopped=stopped,
            pausing=pausing, next_s=self._next_at - now, left_s=deadline - now, tried=tried, fresh=self._attempts == 0, agreed=agreed,
        )  # fmt: skip
        return hopeless(wait)

    def _to(self, state: State, reason: str, cause: str = "") -> None:
        reason = brief(reason)
        before, told = self.state, (state, reason) != (self.state, self.reason)
        if state != before:
            if not allowed(before, state):
                raise RuntimeError(f"server {self.spec.id}: {before} to {state} is no transition")
            self.cause = cause or cause_of(before, state)
        self.state, self.reason = state, reason
        self._wake()
        if told:
            try:
                self._changed(state, reason)
            except Exception:
                log.exception("that server %s is %s could not be told", self.spec.id, state)

    def _wake(self) -> None:
        turn, self._turn = self._turn, self._loop.create_future()
        if not turn.done():
            turn.set_result(None)
