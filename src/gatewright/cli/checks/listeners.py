"""`gatewright doctor` check: listen addresses that are reachable over the network without TLS."""

from __future__ import annotations

import socket
from collections.abc import Iterator

from gatewright.cli.finding import Finding
from gatewright.config import Settings, is_loopback

__all__ = ["check_listeners", "clear_text_finding"]


def check_listeners(settings: Settings) -> Iterator[Finding]:
    """One warning for each address of the configuration that carries keys in clear text over the network."""
    # What a running gateway warns of, for whoever only looks around.
    from gatewright.transport.clear_text import is_open  # noqa: PLC0415

    listeners = [(settings.gateway.host, settings.gateway.port)]
    if settings.protocol is not None and not settings.protocol.transport.tls.enabled:
        transport = settings.protocol.transport
        listeners.append((transport.host, transport.port))
    for host, port in listeners:
        if any(map(is_open, _addresses(host))):
            yield clear_text_finding(f"{host or '*'}:{port}")


def clear_text_finding(address: str) -> Finding:
    """What it means, and what to do."""
    return Finding(
        check="gateway",
        subject=address,
        level="warning",
        what="open to the network without TLS",
        why="keys, tokens, calls and results can be read, and changed, by everybody on the way",
        fix='put a proxy with TLS in front, and write host = "127.0.0.1" so that it alone reaches the gateway',
    )


def _addresses(host: str) -> list[str]:
    """Every address of a name; the name itself where nobody knows it, which counts as open unless it is loopback."""
    if is_loopback(host):
        return ["127.0.0.1"]
    try:
        # No host means every address of this machine, as it does to the listener.
        found = socket.getaddrinfo(
            host or None, 0, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
    except (OSError, UnicodeError):
        return [host]
    return [str(one[4][0]) for one in found]
