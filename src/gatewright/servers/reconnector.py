"""`Reconnector`: keeps one server connection alive with backoff and restart limits, or barred until permitted; calls wait or fail fast.

What a caller feels: a server that just died is back before the next call needs it; one that dies
again and again is asked ever more rarely, and its calls are refused with the reason instead of
waiting; an HTTP server that is down costs a call no more than the refused connection, and is tried
again by the next call.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Literal

from gatewright.call import Back, Failure
from gatewright.command_text import to_type
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.permission_admission import NotPermitted
from gatewright.servers.spec import ServerSpec

__all__ = ["Connect", "Reconnector", "State"]

log = logging.getLogger("gatewright.servers")

State = Literal[
    "registered", "connecting", "connected", "draining", "disconnected", "error", "restarting"
]

Connect = Callable[[], Awaitable[Link]]
"""Makes one connection, hello included. Raises `ServerFailed` or `OSError`."""

STABLE_S = 5.0
"""A connection that lived so long did not fail at once, so the next is made without waiting."""

_DIED = ("exited with status", "killed by")
_GRACEFUL = "exited with status 0"
_REASON_CHARS = 800

_DOUBLINGS = 64
"""Of the pause: more would be beyond any setting, and after a thousand beyond a float."""

_AT_LEAST_S = 1.0
"""How far apart calls can make attempts at an HTTP server that is down, when they are refused."""


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
        self.reason = ""
        self.restarts = 0
        self._connect = connect
        self._connected = connected
        self._changed = changed
        self._leave = leave
        self._loop = asyncio.get_running_loop()
        self._task: asyncio.Task[None] | None = None
        self._turn: asyncio.Future[None] = self._loop.create_future()
        self._poke = asyncio.Event()
        self._recent: deque[float] = deque()
        self._quick = 0
        self._idle = self._greeted = False
        self._attempts = 0
        self._next_at = 0.0
        self._tried_at = -1e9
        self._limit: asyncio.Timeout | None = None
        self._holding = self._barred = self._ended = False
        self._permitted = asyncio.Event()
        """What barred the server is no more. Apart from `_poke`, which is forgotten at each pause."""
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
        if task is not None:
            task.cancel()
            await asyncio.wait([task])
        self._to("disconnected", reason)

    async def end(self) -> None:
        """The same, because the one session that it served is over."""
        self._ended = True
        await self.close("it served one session, or one call, which is over")

    async def ready(self, patience_s: float) -> Link | Failure:
        """The connection, after waiting for it where that has a prospect; else why there is none."""
        deadline = self._loop.time() + patience_s
        attempts = self._attempts
        self._hurry()
        while True:
            link = self.link
            if link is not None and link.open:
                return link
            # One attempt that began for this call is enough of an answer where a URL does not respond.
            refusal = self._hopeless(deadline, self._attempts > attempts)
            if refusal is not None:
                return self._explained(refusal)
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
        """Wait until the first attempt has succeeded or failed."""
        while self._attempts == 0 and not self._holding:
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
        self._to("restarting" if self._attempts else "connecting", self.reason)
        reason = _brief(await self._attempt())
        now = self._loop.time()
        self._quick = 0 if now - self._tried_at > STABLE_S else self._quick + 1
        hint = f"; `{to_type('server logs {}', self.spec.id)}` shows what it wrote"
        died = self.spec.transport == "stdio" and reason.startswith(_DIED)
        log.warning("server %s: %s%s", self.spec.id, reason, hint if died else "")
        self._to("disconnected", reason)
        await self._pause(now)

    async def _attempt(self) -> str:
        """Connect, stay connected, and return why that ended."""
        link: Link | None = None
        self._greeted = False
        try:
            async with asyncio.timeout(self.spec.connect_s) as self._limit:
                link = await self._connect()
        except TimeoutError:
            return self._tried(f"no hello within {self.spec.connect_s:g} s")
        except (ServerFailed, OSError) as problem:
            self._bar(isinstance(problem, NotPermitted))
            return self._tried(str(problem))
        except Exception as problem:
            log.exception("server %s could not be connected", self.spec.id)
            return self._tried(f"internal error: {problem}")
        finally:
            self._limit = None
        self.link = link
        self._greeted = True
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
            self._leave(link)

    def _tried(self, reason: str) -> str:
        self._attempts += 1
        self._wake()
        return reason

    async def _pause(self, now: float) -> None:
        """Wait until the next attempt is due: by the restart rule, or because a call wants it."""
        rule = self.spec.restart
        self._poke.clear()
        if self._barred:
            self._next_at = float("inf")
            self._to("error", self.reason)
            await self._permitted.wait()
            self._barred = False
            return
        while self._recent and self._recent[0] < now - rule.window_s:
            self._recent.popleft()
        stdio = self.spec.transport == "stdio"
        # Only a process has a limit: another attempt at a URL starts nothing.
        exhausted = stdio and len(self._recent) >= rule.max
        if exhausted or (stdio and rule.policy == "never"):
            self._next_at = self._recent[0] + rule.window_s if exhausted else float("inf")
            # From here on only a call tries again, once the window has room (`_hurry`), or an operator.
            why = f"; {rule.max} restarts in {rule.window_s:g} s were tried" if exhausted else ""
            self._to("error", self.reason + why)
            await self._poke.wait()
        elif self._greeted and rule.policy == "on_failure" and self.reason == _GRACEFUL:
            # It left because it was done; whoever needs it brings it back.
            self._next_at, self._idle = now, True
            await self._poke.wait()
            self._idle = False
        else:
            await self._back_off(now, "restarting" if stdio else "disconnected")
        self._recent.append(self._loop.time())

    async def _back_off(self, now: float, state: State) -> None:
        rule = self.spec.restart
        delay = min(rule.most_s, rule.first_s * 2.0 ** min(self._quick - 2, _DOUBLINGS))
        # The first attempt after a failure is made at once, the second waits `first_s`.
        self._next_at = now + (delay if self._quick > 1 else 0.0)
        self._to(state, self.reason)
        if self._quick > 1:
            try:
                async with asyncio.timeout_at(self._next_at):
                    await self._poke.wait()
            except TimeoutError:
                pass

    # -- what calls see ------------------------------------------------------------------------------

    def _hurry(self) -> None:
        """A call wants the server: try now where trying is due or cheap."""
        now = self._loop.time()
        if self.state == "error":
            due = now >= self._next_at
        else:
            remote = self.spec.transport != "stdio"
            due = self._idle or (remote and now - self._tried_at >= _AT_LEAST_S)
        if due:
            self._poke.set()

    def _explained(self, failure: Failure) -> Failure:
        """Why there is no connection, in the configuration's words where it says so."""
        if self.spec.problem:
            return Failure("upstream_unavailable", f"server {self.spec.id}: {self.spec.problem}")
        if not self.spec.enabled:
            return Failure(
                "upstream_unavailable",
                f"server {self.spec.id} is disabled; `{to_type('server enable {}', self.spec.id)}` enables it",
            )
        return failure

    def _hopeless(self, deadline: float, tried: bool) -> Failure | None:
        """Why it makes no sense to wait any longer, if so."""
        now = self._loop.time()
        name = self.spec.id
        if self._holding:
            asks = to_type("server permit {}", name)
            text = f"server {name} {self.reason}; `{asks}` shows what it asks for"
            return Failure("permission_deferred", text)
        if self._ended:
            return Failure("session_unknown", "the session has ended: nothing was run")
        if self._task is None:
            starts = to_type("server start {}", name)
            text = f"server {name} is stopped: {self.reason}; `{starts}` starts it"
            return Failure("upstream_unavailable", text)
        pausing = self.state in ("error", "disconnected", "restarting") and not self._poke.is_set()
        waiting = pausing and self._next_at > now
        wait_ms = None if self._next_at == float("inf") else _ms(self._next_at - now)
        if self.state == "error" and waiting:
            anew = to_type("server restart {}", name)
            text = f"server {name} is down: {self.reason}; `{anew}` tries again at once"
            return Failure("upstream_unavailable", text, retry_after_ms=wait_ms)
        if waiting and (self._next_at > deadline or tried or self.spec.transport != "stdio"):
            # The gateway starts a process again by itself (MGP §14.3, 2002); a server elsewhere is only tried again.
            again = self.state == "restarting"
            text = f"server {name} is {'restarting' if again else 'down'}: {self.reason}"
            reason = "restarting" if again else "upstream_unavailable"
            return Failure(reason, text, retry_after_ms=wait_ms)
        if now >= deadline:
            fresh = self._attempts == 0
            return Failure(
                "server_not_ready" if fresh else "restarting",
                f"server {name} is still starting" if fresh else f"server {name} is restarting",
                retry_after_ms=1000,
            )
        return None

    def _to(self, state: State, reason: str) -> None:
        reason = _brief(reason)
        told = (state, reason) != (self.state, self.reason)
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


def _brief(reason: str) -> str:
    """A reason as callers and operators read it. What a server said may be in it, which is to be no page long and to show all it has."""
    shown = spelled(reason[:_REASON_CHARS])
    return shown if len(shown) <= _REASON_CHARS >= len(reason) else f"{shown[:_REASON_CHARS]}…"


def _ms(seconds: float) -> int:
    return max(100, int(seconds * 1000))
