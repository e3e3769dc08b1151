"""Merges `[mcp.protocol]` into audit and limit settings (own tables win), makes TLS paths absolute; reports unusable sinks, TLS, auth."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Literal
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from gatewright.config.groundhog import Protocol, ProtocolAudit, RateLimits
from gatewright.config.limits import Calls, Rates
from gatewright.config.model import Settings
from gatewright.config.oversight import AuditSink

__all__ = ["DOOR", "flaws", "joined"]

DOOR = "groundhog"
"""The name of the Groundhog endpoint in `[limits.doors]` and in the audit trail."""


class _Database(msgspec.Struct, frozen=True):
    """Where a `database_url` leads."""

    type: Literal["postgres", "sqlite"]
    place: str


def _database_of(url: str) -> _Database | None:
    """The database of a URL; None for a scheme that nobody serves (decision C-37)."""
    scheme = urlsplit(url).scheme
    if scheme in {"postgresql", "postgres"}:
        return _Database("postgres", url)
    if scheme == "sqlite":
        # As in SQLAlchemy: three slashes before a relative path, four before an absolute one.
        return _Database("sqlite", url.removeprefix("sqlite://").removeprefix("/") or "")
    return None


def joined(settings: Settings) -> Settings:
    """The settings with what the protocol says of the record and of limits. What our own tables say about
    the same thing wins; sinks add up."""
    protocol, origins = settings.protocol, settings.origins
    if protocol is None:
        return settings
    audit, limits = settings.audit, settings.limits
    said = protocol.audit
    # By what was written, not by value: a default of one table must not beat a word in the other.
    if "audit.retention_days" not in origins and "mcp.protocol.audit.retention_days" in origins:
        audit = replace(audit, retention_days=said.retention_days)
    if said.classes:
        audit = replace(audit, sinks=(*audit.sinks, *_sinks(said, audit.retention_days)))
    if DOOR not in limits.doors:
        limits = replace(limits, doors={**limits.doors, DOOR: _calls(protocol.rate_limits)})
    return replace(settings, audit=audit, limits=limits, protocol=_placed(settings, protocol))


def _placed(settings: Settings, protocol: Protocol) -> Protocol:
    """The protocol with its files from the folder of the document that names them, wherever the gateway is started."""
    folder = settings.file_of("mcp.protocol.transport.tls").absolute().parent
    transport, tls = protocol.transport, protocol.transport.tls
    files = {name: getattr(tls, name) for name in ("cert_file", "key_file", "ca_file")}
    # `expanduser` of Path raises for a user that nobody knows.
    there = {name: str(folder / os.path.expanduser(one)) for name, one in files.items() if one}  # noqa: PTH111
    return replace(protocol, transport=replace(transport, tls=replace(tls, **there)))


def _calls(said: RateLimits) -> Calls:
    return Calls(
        total=Rates(
            per_second=said.global_requests_per_second, per_minute=said.global_requests_per_minute
        ),
        caller=Rates(
            per_second=said.user_requests_per_second, per_minute=said.user_requests_per_minute
        ),
        tool=Rates(
            per_second=said.tool_requests_per_second, per_minute=said.tool_requests_per_minute
        ),
    )


def _sinks(said: ProtocolAudit, days: int) -> Iterable[AuditSink]:
    sinks, classes = said.sinks, said.classes
    if said.log_security_events:
        yield AuditSink(
            name="groundhog-alerts",
            type="alert",
            format="groundhog",
            classes=("critical",),
            url=said.alert_webhook,
        )
    if sinks.file_sink and sinks.file_path:
        yield AuditSink(
            name="groundhog-file",
            type="file",
            format="groundhog",
            classes=classes,
            path=sinks.file_path,
        )
    if sinks.database_sink:
        found = _database_of(sinks.database_url)
        if found is not None and found.type == "postgres":
            yield AuditSink(
                name="groundhog-database",
                type="postgres",
                format="groundhog",
                classes=classes,
                dsn=found.place,
                retention_days=days,
            )
        elif found is not None:
            yield AuditSink(
                name="groundhog-database",
                type="sqlite",
                format="groundhog",
                classes=classes,
                path=found.place,
                retention_days=days,
            )
    if sinks.remote_sink and sinks.remote_endpoint:
        yield AuditSink(
            name="groundhog-remote",
            type="http",
            format="groundhog",
            classes=classes,
            url=sinks.remote_endpoint,
        )


def flaws(protocol: Protocol, anonymous: bool) -> Iterable[tuple[str, str, str]]:
    """(key, what is wrong, what to write instead): what no key can say about itself. `anonymous` says
    whether the gateway lets callers in without a key."""
    place = "mcp.protocol"
    sinks, tls = protocol.audit.sinks, protocol.transport.tls
    for on, key, value in (
        (sinks.file_sink, "file_path", sinks.file_path),
        (sinks.database_sink, "database_url", sinks.database_url),
        (sinks.remote_sink, "remote_endpoint", sinks.remote_endpoint),
    ):
        if on and not value:
            name = f"{place}.audit.sinks.{key}"
            yield name, "the sink is switched on and leads nowhere", f'write {key} = "…"'
    if sinks.database_sink and sinks.database_url and _database_of(sinks.database_url) is None:
        yield (
            f"{place}.audit.sinks.database_url",
            "only databases of postgresql:// and sqlite:// can be written to",
            'write database_url = "sqlite:///audit.db"',
        )
    if sinks.remote_sink and not sinks.remote_endpoint.startswith(("http://", "https://")):
        yield (
            f"{place}.audit.sinks.remote_endpoint",
            "this is no URL of HTTP",
            'write remote_endpoint = "https://…"',
        )
    if tls.enabled and not (tls.cert_file and tls.key_file):
        yield (
            f"{place}.transport.tls",
            "TLS needs a certificate and its key",
            "write cert_file and key_file",
        )
    if not protocol.security.require_authentication and not anonymous:
        yield (
            f"{place}.security.require_authentication",
            "callers without a key are let in by the whole gateway or not at all",
            'write anonymous = "allow" in [gateway] too',
        )
