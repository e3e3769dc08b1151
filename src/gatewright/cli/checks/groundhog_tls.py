"""`gatewright doctor` check: whether TLS certificate and key of the Groundhog listener (`[mcp.protocol]`) load and belong together."""

from __future__ import annotations

import errno
from collections.abc import Iterator

from gatewright.cli.finding import Finding
from gatewright.config import Settings, is_loopback

__all__ = ["check_protocol"]


def check_protocol(settings: Settings) -> Iterator[Finding]:
    """Whether its TLS could be served: files that are there, can be read and belong together."""
    if settings.protocol is None or not settings.protocol.transport.tls.enabled:
        return
    # Only who serves TLS pays for it.
    from gatewright.transport.http_server import CannotListen, tls_context  # noqa: PLC0415

    transport = settings.protocol.transport
    tls = transport.tls
    subject = "[mcp.protocol.transport.tls]"
    try:
        tls_context(tls.cert_file, tls.key_file, tls.ca_file or None)
    except CannotListen as problem:
        missing = problem.errno == errno.ENOENT
        # Then the listener leaves TLS out (`development`, decision C-49).
        meant = missing and tls.development and is_loopback(transport.host)
        yield Finding(
            check="gateway",
            subject=subject,
            level="warning" if meant else "problem",
            what="it is served without TLS while this lasts" if meant else "it cannot be served",
            why=str(problem.strerror),
            fix="name files that are there, or leave the table out",
        )
        return
    yield Finding(check="gateway", subject=subject, level="ok", what="certificates can be used")
