"""Detects listening sockets reachable from other machines without TLS, and logs a warning for each.

What counts is the address that a socket is bound to, not the name that was configured: a name may be anybody's.
"""

from __future__ import annotations

import ipaddress
import logging
import socket
from collections.abc import Sequence
from typing import Any

__all__ = ["ADVICE", "clear_text", "is_open", "warn_of_clear_text"]

log = logging.getLogger("gatewright.listener")

ADVICE = "put a proxy with TLS in front and let the gateway listen on 127.0.0.1 alone"


def clear_text(sockets: Sequence[socket.socket], *, tls: bool) -> tuple[str, ...]:
    """`address:port` of every socket that is reached from elsewhere and carries plain text."""
    if tls:
        return ()
    names = [
        one.getsockname() for one in sockets if one.family in {socket.AF_INET, socket.AF_INET6}
    ]
    return tuple(dict.fromkeys(_shown(name) for name in names if is_open(str(name[0]))))


def warn_of_clear_text(sockets: Sequence[socket.socket], *, tls: bool) -> tuple[str, ...]:
    """The same, each said in the log, which is on standard error where nobody asked for another place."""
    found = clear_text(sockets, tls=tls)
    for address in found:
        log.warning(
            "WARNING: %s is open to the network without TLS: keys, tokens, calls and results can be read, and changed, "
            "by everybody on the way; %s",
            address,
            ADVICE,
        )
    return found


def is_open(address: str) -> bool:
    """Whether others than this machine reach an IP address. What is none is taken for one that they reach."""
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return True
    # ::ffff:127.0.0.1 is this machine as well.
    mapped = getattr(found, "ipv4_mapped", None)
    return not (mapped or found).is_loopback


def _shown(name: Any) -> str:
    host, port = str(name[0]), name[1]
    every = (
        " (every address of this machine)"
        if ipaddress.ip_address(host.partition("%")[0]).is_unspecified
        else ""
    )
    return f"{f'[{host}]' if ':' in host else host}:{port}{every}"
