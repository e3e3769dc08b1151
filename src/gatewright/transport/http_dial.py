"""Opens a TCP or TLS connection for the HTTP client: name lookup, several addresses (RFC 8305), certificate check.

A name may stand for several addresses of which some lead nowhere, most often those of IPv6. So the next is tried when
the one before it failed or took longer than `STAGGER_S`, and the first that connects is taken (RFC 8305).
"""

from __future__ import annotations

import asyncio
import errno
import functools
import os
import socket
import ssl
from collections.abc import Sequence
from typing import Any

from gatewright.transport.http_client_connection import HttpClientConnection
from gatewright.transport.http_fault import Fault
from gatewright.transport.http_request import Target
from gatewright.transport.name_lookup import look_up

__all__ = ["CONNECT_S", "STAGGER_S", "Trust", "client_context", "dial", "reach_host"]

CONNECT_S = 10.0
LOOK_UP_S = 8.0
"""How long of that a name may take to be found: who is silent then is not the server."""
STAGGER_S = 0.25
GOODBYE_S = 1.0
"""How long the end of a TLS connection may take."""
_LACKS = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM, errno.EADDRNOTAVAIL})
"""What is said where this process, or this machine, can open no more."""

Trust = ssl.SSLContext | bool
"""A context; True for the certificates that the system trusts, False for any."""


async def dial(target: Target, tls: Trust, caller: HttpClientConnection) -> None:
    """Connect `caller`. Raises `Fault`."""
    where = target.origin
    try:
        async with asyncio.timeout(CONNECT_S):
            await _connect(target, tls, caller)
    except TimeoutError:
        raise Fault("unreachable", f"{where} cannot be reached in time", not_sent=True) from None
    except ssl.SSLCertVerificationError as problem:
        why = f"its certificate is not trusted ({problem.verify_message})"
        raise Fault("unreachable", f"{where} cannot be reached: {why}", not_sent=True) from None
    except (OSError, ValueError) as problem:
        why = f"{where} cannot be reached: {_why(problem)}"
        raise Fault("unreachable", why, not_sent=True, here=_is_ours(problem)) from None


def _is_ours(problem: OSError | ValueError) -> bool:
    """Whether nothing was asked of the server yet: there was no socket for it here, or its name was not found."""
    if _lacks(problem) or isinstance(problem, socket.gaierror):
        return True
    return type(problem) is OSError and problem.errno is None  # what looking up a name says itself


def _lacks(problem: BaseException) -> bool:
    return isinstance(problem, OSError) and problem.errno in _LACKS


def _why(problem: OSError | ValueError) -> str:
    """What the system says; its number says it in fewer words than asyncio's text, and without an address."""
    if not isinstance(problem, OSError):
        return "its name is none"
    if problem.errno is None or isinstance(problem, (ssl.SSLError, socket.gaierror)):
        return problem.strerror or "no connection"
    return os.strerror(problem.errno)


async def _connect(target: Target, tls: Trust, caller: HttpClientConnection) -> None:
    options: dict[str, Any] = {}
    if target.secure:
        options = {
            "ssl": tls if isinstance(tls, ssl.SSLContext) else await client_context(verify=tls),
            # No certificate has the zone of an IPv6 address.
            "server_hostname": target.host.partition("%")[0],
            "ssl_shutdown_timeout": GOODBYE_S,
        }
    reached = await reach_host(target.host, target.port)
    try:
        await asyncio.get_running_loop().create_connection(lambda: caller, sock=reached, **options)
    except BaseException:
        caller.abort()
        reached.close()
        raise


async def reach_host(host: str, port: int) -> socket.socket:
    """A socket that is connected to the first address of a name that lets it. Raises `OSError`, or `ValueError` for what is no name."""
    try:
        async with asyncio.timeout(LOOK_UP_S):
            found = await look_up(host, port)
    except TimeoutError:
        raise socket.gaierror(socket.EAI_AGAIN, "its name was not found in time") from None
    if not found:
        raise OSError(None, "the name has no address")
    return await _race(found)


async def _race(found: Sequence[Any]) -> socket.socket:
    """The first address that connects. Raises the first `OSError` where none does, of those that an address has said where one has: IPv6
    that is switched off here says nothing of the server."""
    running: set[asyncio.Task[socket.socket]] = set()
    problems: list[BaseException] = []
    left = list(found)
    try:
        while left or running:
            if left:
                running.add(asyncio.create_task(_reach(left.pop(0))))
            done, running = await asyncio.wait(
                running,
                timeout=STAGGER_S if left else None,
                return_when=asyncio.FIRST_COMPLETED,
            )
            won = _won(done, problems)
            if won is not None:
                return won
        raise next((one for one in problems if not _lacks(one)), problems[0])
    finally:
        for task in running:
            task.add_done_callback(_unwanted)
            task.cancel()


def _won(
    done: set[asyncio.Task[socket.socket]], problems: list[BaseException]
) -> socket.socket | None:
    won: socket.socket | None = None
    for task in done:
        problem = task.exception()
        if problem is not None:
            problems.append(problem)
        elif won is None:
            won = task.result()
        else:
            task.result().close()
    return won


def _unwanted(task: asyncio.Task[socket.socket]) -> None:
    """It may have connected in the very turn in which another was taken."""
    if not task.cancelled() and task.exception() is None:
        task.result().close()


async def _reach(address: Any) -> socket.socket:
    family, kind, protocol, _, where = address
    made = socket.socket(family, kind, protocol)
    try:
        made.setblocking(False)
        _tune(made)
        await asyncio.get_running_loop().sock_connect(made, where)
    except BaseException:
        made.close()
        raise
    return made


def _tune(made: socket.socket) -> None:
    """Send at once, and notice within minutes that the machine at the other end is gone."""
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (("TCP_KEEPIDLE", 30), ("TCP_KEEPINTVL", 10), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


async def client_context(*, verify: bool) -> ssl.SSLContext:
    """What TLS a client speaks: HTTP/1.1, and certificates that the system trusts unless not to `verify` them. Made in a thread: to read all certificates that the system trusts takes longer than the loop may stand still."""
    return await asyncio.get_running_loop().run_in_executor(None, _made, verify)


@functools.cache
def _made(verify: bool) -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
