"""`HttpServer`: binds TCP or Unix sockets, serves an ASGI app with TLS and connection limits, stops gracefully; `read_body` bounds bodies.

It installs no signal handlers, never ends the process and polls nothing, because a gateway also serves stdio and must
drain. The limits of a connection are in `transport.http_connection`, that of a body in `read_body`.
"""

from __future__ import annotations

import asyncio
import contextlib
import errno
import os
import socket
import ssl
import stat
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from uvicorn.config import Config

from gatewright.transport.accept import ArrivalRates, Listener
from gatewright.transport.base import BURST_S, FROM_CLIENTS, Limits
from gatewright.transport.clear_text import warn_of_clear_text
from gatewright.transport.connection_limits import Seat, Seats
from gatewright.transport.http_connection import HttpConnection
from gatewright.transport.http_server_state import App, Serving

__all__ = [
    "BACKLOG",
    "BodyTimeout",
    "BodyTooLarge",
    "CannotListen",
    "ClientGone",
    "HttpServer",
    "listen_on",
    "read_body",
    "serve",
    "tls_context",
]

BACKLOG = 2048
CANCEL_S = 5.0
"""How long cancelled requests may take to end."""

_TOO_MANY = "more than {} new connections a second from one address; keep connections open, or try again later"
_SENT_AWAY = (
    b"HTTP/1.1 %b\r\nRetry-After: 1\r\nConnection: close\r\n"
    b"Content-Type: text/plain\r\nContent-Length: %d\r\n\r\n%b\n"
)

Receive = Callable[[], Awaitable[dict[str, Any]]]


class BodyTooLarge(Exception):  # noqa: N818 - what the client did, not what is wrong with us
    """The body is longer than it may be. Answer 413; the connection reads on for a while, so that it arrives."""


class BodyTimeout(Exception):  # noqa: N818
    """The body did not arrive in time. Answer 408."""


class ClientGone(Exception):  # noqa: N818
    """The client closed the connection before its body was complete. There is nobody to answer."""


class CannotListen(OSError):  # noqa: N818
    """The address cannot be listened on. The message says why and what to do."""

    def __str__(self) -> str:
        return str(self.strerror)


async def read_body(
    receive: Receive, limit: int, timeout_s: float = FROM_CLIENTS.body_timeout_s
) -> bytes:
    """The whole body of an ASGI request, at most `limit` bytes, within `timeout_s` seconds.

    Raises `BodyTooLarge`, `BodyTimeout` or `ClientGone`.
    """
    # Nearly every body is there already; the clock of the connection covers one that never begins to come.
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body", False):
        whole: bytes = message.get("body", b"")
        if len(whole) > limit:
            raise BodyTooLarge
        return whole
    try:
        async with asyncio.timeout(timeout_s):
            return await _read_on(message, receive, limit)
    except TimeoutError:
        raise BodyTimeout from None


async def _read_on(message: dict[str, Any], receive: Receive, limit: int) -> bytes:
    pieces: list[bytes] = []
    held = 0
    while True:
        if message["type"] != "http.request":
            raise ClientGone
        piece: bytes = message.get("body", b"")
        held += len(piece)
        if held > limit:
            raise BodyTooLarge
        pieces.append(piece)
        if not message.get("more_body", False):
            return b"".join(pieces)
        message = await receive()


async def serve(  # noqa: PLR0913 - where, with which certificate, within which bounds
    app: App,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    unix_socket: str | None = None,
    certificate: str | None = None,
    key: str | None = None,
    client_ca: str | None = None,
    limits: Limits = FROM_CLIENTS,
    seats: Seats | None = None,
) -> HttpServer:
    """Serve `app` on the running loop. Port 0 takes a free one; a name is listened on at all its addresses.

    `unix_socket` is a path, used instead of host and port and readable by its owner alone. With `certificate` and
    `key` (PEM files) it is HTTPS, and with `client_ca` for clients that have a certificate of it. `seats` are those of another
    listener of the process, to share them. Raises `CannotListen`.
    """
    context = tls_context(certificate, key, client_ca)
    if unix_socket is None:
        sockets = await listen_on(host, port)
        urls = [_url("https" if context else "http", host, sockets[0].getsockname()[1])]
    else:
        sockets = [_listen_unix(Path(unix_socket))]
        urls = [f"unix:{unix_socket}"]
    if seats is None:
        seats = Seats(limits.connections, limits.connections_per_address)
    server = HttpServer(_config(app, limits), limits, sockets, urls, unix_socket, seats)
    await server.start(context)
    server.clear_text = warn_of_clear_text(sockets, tls=context is not None)
    return server


class HttpServer:
    """A running server. Made by `serve`.

    `urls` have no path; `url` is the first of them. `port` is 0 for a Unix socket.
    """

    def __init__(
        self,
        config: Config,
        limits: Limits,
        sockets: Sequence[socket.socket],
        urls: Sequence[str],
        unix_socket: str | None,
        seats: Seats,
    ) -> None:
        self.seats = seats
        self.urls = list(urls)
        self.url = self.urls[0]
        self.clear_text: tuple[str, ...] = ()
        """Its addresses that others reach without TLS."""
        self.port = 0 if unix_socket else int(sockets[0].getsockname()[1])
        self._state = Serving(config, limits, self._one_gone)
        self._sockets = sockets
        self._unix_socket = unix_socket
        self._loop = asyncio.get_running_loop()
        self._servers: list[Listener] = []
        per_s = limits.connections_per_s
        self._arrivals = ArrivalRates(per_s, per_s * BURST_S, seats)
        self._empty = asyncio.Event()
        self._date: asyncio.TimerHandle | None = None

    async def start(self, context: ssl.SSLContext | None) -> None:
        """Begin to accept. `serve` does this."""

        def connected(seat: Seat) -> HttpConnection:
            return HttpConnection(self._state, seat)

        limits = self._state.limits
        self._keep_date()
        for listening in self._sockets:
            server = Listener(
                listening,
                connected,
                self._arrivals,
                tls=context,
                handshake_s=limits.header_timeout_s,
                farewell=partial(_sent_away, limits.connections_per_s),
            )
            self._servers.append(server)

    @property
    def connections(self) -> int:
        """How many clients are connected."""
        return len(self._state.connections)

    @property
    def refused(self) -> int:
        """How many connections were refused: their address opened too many, or there was no room."""
        return self._arrivals.refused

    @property
    def flooded(self) -> int:
        """How many WebSockets were closed because of what they sent."""
        return self._state.flooded

    async def stop(self, grace_s: float) -> None:
        """Accept no more, close what is idle, give running requests `grace_s` seconds, and cut the rest off.
        WebSockets are closed with 1012 at once; their endpoint ends their calls before this.
        """
        for server in self._servers:
            server.close()
        for connection in list(self._state.connections):
            connection.shutdown()
        await self._quiet(grace_s)
        for connection in list(self._state.connections):
            connection.transport.abort()
        await self._quiet(CANCEL_S)  # then what was served without a task is so no more
        tasks = list(self._state.tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=CANCEL_S)
        if self._date is not None:
            self._date.cancel()
        if self._unix_socket:
            _remove(self._unix_socket)

    async def _quiet(self, patience_s: float) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                while self._state.connections:
                    self._empty.clear()
                    await self._empty.wait()

    def _one_gone(self) -> None:
        if not self._state.connections:
            self._empty.set()

    def _keep_date(self) -> None:
        self._state.every_second()
        self._date = self._loop.call_later(1.0, self._keep_date)


def _sent_away(per_s: int, why: str) -> bytes:
    status = b"503 Service Unavailable" if why else b"429 Too Many Requests"
    said = (why or _TOO_MANY.format(per_s)).encode()
    return _SENT_AWAY % (status, len(said) + 1, said)


def _config(app: App, limits: Limits) -> Config:
    config = Config(
        app,
        ws="websockets-sansio",
        loop="none",
        lifespan="off",
        interface="asgi3",
        access_log=False,
        log_config=None,
        proxy_headers=False,
        server_header=False,
        ws_max_size=limits.frame_bytes,
        ws_ping_interval=limits.ping_interval_s,
        ws_ping_timeout=limits.ping_interval_s,
        # One frame is written to many connections (`websocket_connection.text_frame`).
        ws_per_message_deflate=False,
    )
    config.load()
    return config


def _url(scheme: str, host: str, port: int) -> str:
    shown = {"0.0.0.0": "127.0.0.1", "::": "[::1]", "": "127.0.0.1"}.get(host)  # noqa: S104
    if shown is None:
        shown = f"[{host}]" if ":" in host else host
    return f"{scheme}://{shown}:{port}"


def tls_context(
    certificate: str | None, key: str | None, client_ca: str | None = None
) -> ssl.SSLContext | None:
    """TLS with these PEM files; None without a certificate. With `client_ca`, clients must have a certificate
    that it signed. Raises `CannotListen`, which names a file that is not there."""
    if certificate is None:
        return None
    for path in (certificate, key, client_ca):
        if path is not None and not Path(path).is_file():
            raise CannotListen(errno.ENOENT, f"there is no file {path}; correct the TLS settings")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    try:
        context.load_cert_chain(certificate, key)
    except (ssl.SSLError, OSError) as problem:
        raise CannotListen(
            errno.EINVAL,
            f"{certificate} and its key cannot be used: {problem}; both must be PEM and belong together",
        ) from problem
    if client_ca is not None:
        try:
            context.load_verify_locations(client_ca)
        except (ssl.SSLError, OSError) as problem:
            text = f"{client_ca} cannot be used: {problem}; it must be PEM certificates of a CA"
            raise CannotListen(errno.EINVAL, text) from problem
        context.verify_mode = ssl.CERT_REQUIRED
    return context


async def listen_on(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen at every address of a name, all on one port. Raises `CannotListen`."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(
            host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError) as problem:
        raise CannotListen(
            errno.EADDRNOTAVAIL,
            f"cannot listen on {host!r}: {problem}; use an address of this host",
        ) from problem
    sockets: list[socket.socket] = []
    problems: list[OSError] = []
    for family, _, _, _, address in dict.fromkeys(found):
        try:
            # Of port 0: the other addresses take the port that the first was given.
            taken = sockets[0].getsockname()[1] if sockets else port
            sockets.append(_bind(family, (address[0], taken, *address[2:])))
        except OSError as problem:
            problems.append(problem)
    serious = [one for one in problems if one.errno not in _NO_SUCH_FAMILY]
    if serious or not sockets:
        for listening in sockets:
            listening.close()
        raise _explained(f"{host}:{port}", (serious or problems)[0])
    return sockets


_NO_SUCH_FAMILY = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}
"""A name with an IPv6 address on a machine without IPv6 is still good for its other addresses."""


def _bind(family: int, address: tuple[Any, ...]) -> socket.socket:
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            # The IPv4 addresses of a name have sockets of their own at the same port.
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        listening.bind(address)
        listening.listen(BACKLOG)  # now, so that a port already taken is known now
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening


def _listen_unix(path: Path) -> socket.socket:
    _clear_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        before = os.umask(0o177)  # chmod after bind would leave it open to others for a moment
        try:
            listening.bind(str(path))
        finally:
            os.umask(before)
        listening.listen(BACKLOG)
        listening.setblocking(False)
    except OSError as problem:
        listening.close()
        raise _explained(str(path), problem) from problem
    return listening


def _remove(path: str) -> None:
    Path(path).unlink(missing_ok=True)


def _clear_stale(path: Path) -> None:
    """Remove the socket of a server that died; one that lives, or anything else, stays and is an error."""
    if not path.exists():
        return
    if stat.S_ISSOCK(path.stat().st_mode):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
            probe.setblocking(False)
            if probe.connect_ex(str(path)) == errno.ECONNREFUSED:
                path.unlink()
                return
    raise _explained(str(path), OSError(errno.EADDRINUSE, os.strerror(errno.EADDRINUSE)))


def _explained(where: str, problem: OSError) -> CannotListen:
    advice = {
        errno.EADDRINUSE: "it is taken; stop what uses it, or choose another with --port",
        errno.EACCES: "this user may not; choose a port from 1024 up, or a folder of its own",
        errno.EADDRNOTAVAIL: "this machine has no such address; choose one that it has",
    }
    code = problem.errno or errno.EINVAL
    return CannotListen(code, f"cannot listen on {where}: {advice.get(code, problem.strerror)}")
