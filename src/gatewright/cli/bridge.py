"""`gatewright bridge`: relays a host's stdio to the gateway's WebSocket; reconnects, queues lines meanwhile, fails requests that were lost.

Each line of standard input becomes one WebSocket frame and each frame one line, unread but for its
envelope. The bridge outlives the gateway: when the connection is lost, what was on its way is answered
with an error, and the bridge goes on trying until the gateway is back or the host has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Callable
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import AsHost, Config, KeyText, ProfileName, Url, group
from gatewright.cli.output import note
from gatewright.cli.relay import Relay
from gatewright.cli.running import Endpoint, endpoint
from gatewright.command_text import to_type
from gatewright.config import SettingsError
from gatewright.transport.base import Closed, Limits
from gatewright.transport.stdio import StdioPipe, open_stdio
from gatewright.transport.websocket import CannotConnect, Connected, connect

__all__ = ["Bridge", "app", "bridge"]

app = group("Connect a stdio-only host to the running gateway.")

MIB = 1024 * 1024
FRAME_BYTES = 128 * MIB
QUEUE_BYTES = 64 * MIB
"""What may wait for a gateway that is away, and for a host that does not read."""
LIMITS = Limits(
    frame_bytes=FRAME_BYTES, queue_bytes=QUEUE_BYTES, burst_bytes=2 * FRAME_BYTES, patience_s=60.0
)
DRAIN_S = 10.0
"""How long answers may take after the host closed its end."""
OPEN_S = 10.0
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)


def _away() -> str:
    return f"the gateway is not running; start it with `{to_type('serve')}`"


@app.command()
def bridge(
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    as_host: AsHost = None,
    wait: Annotated[
        float,
        typer.Option(
            "--wait",
            metavar="SECONDS",
            min=0,
            help="How long a call waits for a gateway that is away.",
        ),
    ] = 10.0,
) -> None:
    """Relay MCP between standard input and output and the running gateway.

    For hosts that only start programs: command `gatewright`, argument `bridge`.
    """

    if as_host and url:
        raise typer.BadParameter(
            "--as names a host of the gateway that runs here; one at --url knows its callers by keys"
        )

    def find() -> Endpoint:
        # A host starts it in whatever folder is open, which may be anybody's.
        return endpoint(
            config, url=url, key=key, profile=profile, host=as_host or "", anywhere=True
        )

    asyncio.run(Bridge(find, wait_s=wait).run())


class Bridge:
    """One host and, one after the other, its connections to the gateway.

    A `transport` receiver for the lines of the host; `_Link` is the one for the gateway's frames.
    """

    def __init__(self, find: Callable[[], Endpoint], *, wait_s: float) -> None:
        self._find = find
        self._wait_s = wait_s
        self._relay = Relay(f"gatewright-bridge-{secrets.token_hex(8)}")
        self._connection: Connected | None = None
        self._link: _Link | None = None
        self._refusal = ""
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._away = False
        self._over = asyncio.Event()
        self._moved = asyncio.Event()
        self._host: StdioPipe

    async def run(self) -> None:
        """Relay until the host has left. Raises `CliError` where there is no gateway to begin with."""
        self._host = await open_stdio(self, LIMITS)
        try:
            connection: Connected | None = await self._dial()
        except CliError:
            await self._host.stop(0.0)
            raise
        while connection is not None:
            self._use(connection)
            lost = await self._relayed(connection)
            # It may have ended before it was used, and would be told no second time.
            self._connection = None
            if lost is None or self._over.is_set():
                break
            note(f"connection lost: {lost}; connecting again")
            # At once: whether these ran is not known, and the host must not wait for a gateway that stays away.
            self._answer(self._relay.lost(f"the connection to the gateway was lost ({lost})"))
            connection = await self._again()
        self._answer(self._relay.lost("the bridge ended first"))
        self._give_up_waiting()
        if connection is not None:
            await _end(connection)
        await self._host.stop(2.0)

    def message(self, line: bytes) -> None:
        """A line of the host."""
        if self._connection is not None:
            self._pass(line)
        elif self._away or self._held > QUEUE_BYTES:
            why = self._why_away() if self._away else "too much is waiting"
            self._answer(self._relay.refuse(line, why))
        else:
            self._lines.append(line)
            self._held += len(line)

    def closed(self, reason: str) -> None:
        """The host has left; what it asked before may still be answered."""
        self._over.set()

    def hand_on(self, link: _Link, frame: bytes) -> None:
        """A frame of the gateway. One that comes late, over a connection that was given up, is nobody's."""
        if link is not self._link:
            return
        passing = self._relay.from_gateway(frame)
        if passing is not None:
            self._answer([passing])
        self._moved.set()

    def lost(self, link: _Link) -> None:
        """A connection has ended; where it is the one in use, lines wait from now on."""
        if link is not self._link:
            return
        self._connection = None
        self._moved.set()

    def _pass(self, line: bytes) -> None:
        passing = self._relay.from_host(line)
        if passing is not None and self._connection is not None:
            with contextlib.suppress(
                Closed
            ):  # then it counts as lost, and is answered with the rest
                self._connection.send(passing)

    def _answer(self, frames: list[bytes]) -> None:
        try:
            for frame in frames:
                self._host.send(frame)
        except Closed:
            self._over.set()
            self._lines.clear()

    def _use(self, connection: Connected) -> None:
        """Send through this connection from now on, beginning with what has waited."""
        self._connection = connection
        self._away = False
        while self._lines:
            self._pass(self._lines.popleft())
        self._held = 0

    async def _relayed(self, connection: Connected) -> str | None:
        """Wait until the connection is lost, and say why; None once the host has left and is served."""
        lost = asyncio.create_task(connection.wait_closed())
        left = asyncio.create_task(self._leaving())
        await asyncio.wait([lost, left], return_when=asyncio.FIRST_COMPLETED)
        left.cancel()
        return lost.result() if lost.done() or not lost.cancel() else None

    async def _leaving(self) -> None:
        """Return when the host has left and has all its answers, or has waited long enough."""
        await self._over.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._relay.waiting:
                    self._moved.clear()
                    await self._moved.wait()

    async def _again(self) -> Connected | None:
        """A new connection with the session as it was; None once the host has left."""
        # One patience for all attempts, from the loss on.
        patience = asyncio.get_running_loop().call_later(self._wait_s, self._give_up_waiting)
        tries = 0
        try:
            while not self._over.is_set():
                self._refusal, before = "", self._refusal
                try:
                    return await self._open_again(await self._dial())
                except _Refused as refused:
                    self._refusal = str(refused)
                    if self._refusal != before:
                        note(self._why_away())
                    delay = RETRY_S[-1]
                except (CliError, SettingsError, Closed, TimeoutError):
                    delay = RETRY_S[min(tries, len(RETRY_S) - 1)]
                tries += 1
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), delay)
            return None
        finally:
            patience.cancel()

    async def _open_again(self, connection: Connected) -> Connected:
        first = self._relay.reopen()
        try:
            if first is not None:
                connection.send(first)
                async with asyncio.timeout(OPEN_S):
                    await self._opened(connection)
                if self._relay.refusal:
                    raise _Refused(self._relay.refusal)
            for frame in self._relay.restore():
                connection.send(frame)
        except BaseException:
            connection.close()
            # What it asked the host by then is over, too.
            self._answer(self._relay.lost("the gateway did not open the session again"))
            raise
        note("connected again")
        return connection

    async def _opened(self, connection: Connected) -> None:
        """Wait for the answer to our opening. Raises `Closed` when the connection ends first."""
        lost = asyncio.create_task(connection.wait_closed())
        lost.add_done_callback(lambda _: self._moved.set())
        try:
            while self._relay.reopening:
                if lost.done():
                    raise Closed(lost.result())
                self._moved.clear()
                await self._moved.wait()
        finally:
            lost.cancel()

    def _give_up_waiting(self) -> None:
        """The gateway stays away: what waits is answered now, and what comes at once."""
        self._away = True
        waiting, self._lines = self._lines, deque()
        self._held = 0
        for line in waiting:
            self._answer(self._relay.refuse(line, self._why_away()))

    def _why_away(self) -> str:
        return (
            f"the gateway does not open the session again: {self._refusal}"
            if self._refusal
            else _away()
        )

    async def _dial(self) -> Connected:
        """One connection. Raises `CliError`."""
        where = self._find()
        try:
            parts = urlsplit(where.url)
        except ValueError:
            raise CliError(
                f"{where.url!r} is no URL",
                code="usage",
                exit_code=Exit.USAGE,
                hint="write it like http://127.0.0.1:8420/mcp",
            ) from None
        scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
        headers = {"Authorization": f"Bearer {where.token}"} if where.token else {}
        self._link = _Link(self)
        try:
            return await connect(
                urlunsplit((scheme, *parts[1:])),
                receiver=self._link,
                headers=headers,
                limits=LIMITS,
            )
        except CannotConnect as problem:
            raise _refused(where, problem) from None


class _Refused(Exception):  # noqa: N818 - named after what happened
    """The gateway answered the opening of a session with an error; its message."""


class _Link:
    """The receiver of one connection; the latest is the one that counts."""

    def __init__(self, owner: Bridge) -> None:
        self._owner = owner

    def message(self, frame: bytes) -> None:
        self._owner.hand_on(self, frame)

    def closed(self, reason: str) -> None:
        self._owner.lost(self)


async def _end(connection: Connected) -> None:
    connection.close()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(connection.wait_closed(), 2.0)


def _refused(where: Endpoint, problem: CannotConnect) -> CliError:
    codes = {401: Exit.AUTHENTICATION, 403: Exit.DENIED}
    hints = {
        None: f"start it with `{to_type('serve')}`",
        401: f"pass a key with --key-file or GATEWRIGHT_KEY; `{to_type('key create NAME')}` makes one",
        404: "the URL of a gateway ends in /mcp, or in /mcp/PROFILE",
    }
    known = problem.status is None
    return CliError(
        f"no way to the gateway: {problem}",
        code="gateway_unreachable" if known else "gateway_refused",
        exit_code=codes.get(problem.status or 0, Exit.UNREACHABLE),
        hint=hints.get(problem.status, f"see the log of the gateway at {where.url}"),
    )
