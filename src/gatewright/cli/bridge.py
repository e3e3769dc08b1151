"""`gatewright bridge`: a stdio server for hosts that know nothing else, in front of the running gateway.

Each line of standard input becomes one WebSocket frame and each frame one line, unread but for its
envelope. The bridge outlives the gateway: when the connection is lost, what was on its way is answered
with an error, and the bridge goes on trying until the gateway is back or the host has left.
"""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Annotated
from urllib.parse import urlsplit, urlunsplit

import typer
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
from websockets.typing import Subprotocol

from gatewright import __version__
from gatewright.cli.options import Config, KeyText, ProfileName, Url, group
from gatewright.cli.output import CliError, Exit, note
from gatewright.cli.relay import Relay
from gatewright.cli.running import Endpoint, endpoint
from gatewright.settings import SettingsError, is_loopback
from gatewright.transport.base import Closed, Limits
from gatewright.transport.stdio import StdioPipe, open_stdio

__all__ = ["Bridge", "app"]

app = group("Connect a stdio-only host to the running gateway.")

MIB = 1024 * 1024
FRAME_BYTES = 128 * MIB
QUEUE_BYTES = 64 * MIB
"""What may wait for a gateway that is away, and for a host that does not read."""
HOST = Limits(
    frame_bytes=FRAME_BYTES, queue_bytes=QUEUE_BYTES, burst_bytes=2 * FRAME_BYTES, patience_s=60.0
)
DRAIN_S = 10.0
"""How long answers may take after the host closed its end."""
OPEN_S = 10.0
RETRY_S = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0)

_AWAY = "the gateway is not running; start it with `gatewright serve`"


@app.command()
def bridge(
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
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

    async def dial() -> ClientConnection:
        return await _dial(endpoint(config, url=url, key=key, profile=profile))

    asyncio.run(Bridge(dial, wait_s=wait).run())


class Bridge:
    """One host and, one after the other, its connections to the gateway. A `transport` receiver."""

    def __init__(self, dial: Callable[[], Awaitable[ClientConnection]], *, wait_s: float) -> None:
        self._dial = dial
        self._wait_s = wait_s
        self._relay = Relay(f"gatewright-bridge-{secrets.token_hex(8)}")
        self._lines: deque[bytes] = deque()
        self._held = 0
        self._more = asyncio.Event()
        self._over = asyncio.Event()
        self._moved = asyncio.Event()
        self._away = False
        self._host: StdioPipe

    async def run(self) -> None:
        """Relay until the host has left. Raises `CliError` where there is no gateway to begin with."""
        connection: ClientConnection | None = await self._dial()
        self._host = await open_stdio(self, HOST)
        while connection is not None:
            why = await self._relay_over(connection)
            if self._over.is_set():
                break
            note(f"connection lost: {why}; connecting again")
            self._answer(self._relay.lost(f"the connection to the gateway was lost ({why})"))
            connection = await self._again()
        self._answer(self._relay.lost("the bridge ended first"))
        self._give_up_waiting()
        if connection is not None:
            await connection.close()
        await self._host.stop(2.0)

    def message(self, line: bytes) -> None:
        """A line of the host."""
        if self._away or self._held > QUEUE_BYTES:
            self._answer(self._relay.refuse(line, _AWAY if self._away else "too much is waiting"))
            return
        self._lines.append(line)
        self._held += len(line)
        self._more.set()

    def closed(self, reason: str) -> None:
        """The host has left; what it asked before may still be answered."""
        self._over.set()
        self._more.set()

    async def _relay_over(self, connection: ClientConnection) -> str:
        """Relay both ways until the connection is lost, or the host has left and was answered."""
        tasks = [
            asyncio.create_task(work)
            for work in (self._to_gateway(connection), self._to_host(connection), self._leaving())
        ]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        return next((str(one) for one in results if isinstance(one, Exception)), "the host left")

    async def _to_gateway(self, connection: ClientConnection) -> None:
        while True:
            while self._lines:
                line = self._lines.popleft()
                self._held -= len(line)
                passing = self._relay.from_host(line)
                if passing is not None:
                    await connection.send(passing, text=True)
            self._moved.set()
            self._more.clear()
            await self._more.wait()

    async def _to_host(self, connection: ClientConnection) -> None:
        while True:
            self._hand_on(await connection.recv(decode=False))

    async def _leaving(self) -> None:
        """Return when the host has left and has all its answers, or has waited long enough."""
        await self._over.wait()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(DRAIN_S):
                while self._lines or self._relay.waiting:
                    self._moved.clear()
                    await self._moved.wait()

    def _hand_on(self, frame: bytes) -> None:
        passing = self._relay.from_gateway(frame)
        if passing is not None:
            self._answer([passing])
        self._moved.set()

    def _answer(self, frames: list[bytes]) -> None:
        try:
            for frame in frames:
                self._host.send(frame)
        except Closed:
            self._over.set()
            self._lines.clear()

    async def _again(self) -> ClientConnection | None:
        """A new connection with the session as it was; None once the host has left."""
        patience = asyncio.get_running_loop().call_later(self._wait_s, self._give_up_waiting)
        tries = 0
        try:
            while not self._over.is_set():
                try:
                    return await self._open_again(await self._dial())
                except (CliError, SettingsError, ConnectionClosed, TimeoutError):
                    delay = RETRY_S[min(tries, len(RETRY_S) - 1)]
                tries += 1
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._over.wait(), delay)
            return None
        finally:
            patience.cancel()
            self._away = False

    async def _open_again(self, connection: ClientConnection) -> ClientConnection:
        first = self._relay.reopen()
        if first is not None:
            async with asyncio.timeout(OPEN_S):
                await connection.send(first, text=True)
                while self._relay.reopening:
                    self._hand_on(await connection.recv(decode=False))
        for frame in self._relay.restore():
            await connection.send(frame, text=True)
        note("connected again")
        return connection

    def _give_up_waiting(self) -> None:
        """The gateway stays away: what waits is answered now, and what comes at once."""
        self._away = True
        waiting, self._lines = self._lines, deque()
        self._held = 0
        for line in waiting:
            self._answer(self._relay.refuse(line, _AWAY))


async def _dial(where: Endpoint) -> ClientConnection:
    """One WebSocket connection. Raises `CliError`."""
    parts = urlsplit(where.url)
    scheme = {"http": "ws", "https": "wss"}.get(parts.scheme, parts.scheme)
    headers = {"Authorization": f"Bearer {where.token}"} if where.token else {}
    try:
        return await connect(
            urlunsplit((scheme, *parts[1:])),
            subprotocols=[Subprotocol("mcp")],
            additional_headers=headers,
            user_agent_header=f"gatewright-bridge/{__version__}",
            compression=None,
            max_size=FRAME_BYTES,
            open_timeout=OPEN_S,
            proxy=None if is_loopback(parts.hostname or "") else True,
        )
    except InvalidStatus as refused:
        raise _refused(where, refused.response.status_code) from None
    except (OSError, TimeoutError, WebSocketException) as problem:
        raise CliError(
            f"the gateway at {where.url} cannot be reached: {problem}",
            code="gateway_unreachable",
            exit_code=Exit.UNREACHABLE,
            hint="start it with `gatewright serve`",
        ) from None


def _refused(where: Endpoint, status: int) -> CliError:
    codes = {401: Exit.AUTHENTICATION, 403: Exit.DENIED}
    hints = {
        401: "pass a key with --key or GATEWRIGHT_KEY; `gatewright key create NAME` makes one",
        404: "the URL of a gateway ends in /mcp, or in /mcp/PROFILE",
    }
    return CliError(
        f"the gateway at {where.url} refused the connection: HTTP {status}",
        code="gateway_refused",
        exit_code=codes.get(status, Exit.UNREACHABLE),
        hint=hints.get(status, "see the gateway's log"),
    )
