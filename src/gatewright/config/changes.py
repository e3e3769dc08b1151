"""Compares two configurations by dotted key, holds back what needs a restart; policy versions (digests) that approvals are bound to.

A configuration is laid out flat: a dotted key for each value, so that every table, those too that come
later, is compared and none is forgotten. A key that nobody here knows how to apply needs a restart.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache
from typing import Any

import msgspec

from gatewright.config import Server, Settings, override
from gatewright.config.groundhog import Protocol
from gatewright.mcp.wire import jsonrpc

__all__ = ["Change", "changes", "is_applied", "pinned", "policy_version", "versions"]

_OF_THE_LISTENER = ("gateway.host", "gateway.port", "gateway.operators")
_OF_THE_TRANSPORT = (
    "limits.frame_bytes",
    "limits.queue_bytes",
    "limits.header_bytes",
    "limits.connections_per_s",
    "limits.connections",
    "limits.connections_per_address",
)
_OF_THE_HANDSHAKE = ("gateway.server_id", "gateway.trust_level", "gateway.permissions_required")
_NEEDS_RESTART = (*_OF_THE_LISTENER, *_OF_THE_TRANSPORT, *_OF_THE_HANDSHAKE)
_APPLIED = (
    "agents.",
    "approvals.",
    "discovery.",
    "flow.",
    "gateway.",
    "limits.",
    "permissions.",
    "registration.",
    "oauth.",
    "secrets.",
    "servers",
    "grants.",
    "profiles.",
    "redaction.",
    "redaction_rules",
    "results.",
    "protocol.rate_limits",  # put into limits.doors when the file is read (`config.groundhog_merge`)
)

_NOT_SAID = frozenset({"accepted", "configured", "files", "form", "origins", "own", "warnings"})
_NO_VALUE = frozenset({"origin", "written"})
_SECRET = (".env.", ".headers.", ".credentials.", ".auth.bearer", ".auth.client_secret")
_ABSENT = object()


class Change(msgspec.Struct, frozen=True):
    """What a reload changes. All of it are dotted keys (`servers.files.command`, `grants.ann files/read`)."""

    applied: tuple[str, ...]
    waiting: tuple[str, ...]
    """What has no effect before a restart."""

    def __bool__(self) -> bool:
        return bool(self.applied or self.waiting)

    @property
    def keys(self) -> tuple[str, ...]:
        """Everything that was written differently."""
        return tuple(sorted((*self.applied, *self.waiting)))


def changes(before: Settings, after: Settings) -> Change:
    """What was written differently in `after`."""
    # A server or profile that came or went is one change, not one for each key of it.
    whole = frozenset(_named(before) ^ _named(after))
    old, new = _flat(before, whole), _flat(after, whole)
    keys = sorted(
        key for key in old.keys() | new.keys() if old.get(key, _ABSENT) != new.get(key, _ABSENT)
    )
    return Change(
        tuple(key for key in keys if is_applied(key)),
        tuple(key for key in keys if not is_applied(key)),
    )


def pinned(running: Settings, wanted: Settings) -> Settings:
    """What of `wanted` can be had without a restart; the rest is as it runs.

    Raises `SettingsError` where the two together must not be: callers without a key, say, at an address
    that others reach.
    """
    names = [key.removeprefix("limits.") for key in _OF_THE_TRANSPORT]
    kept = {name: getattr(running.limits, name) for name in names}
    limits = msgspec.structs.replace(wanted.limits, **kept)
    told = [key.removeprefix("gateway.") for key in _OF_THE_HANDSHAKE]
    said = {name: getattr(running.gateway, name) for name in told}
    found = msgspec.structs.replace(
        wanted,
        limits=limits,
        gateway=msgspec.structs.replace(wanted.gateway, **said),
        **_waiting(running),
        protocol=_protocol(running.protocol, wanted.protocol),
    )
    # It checks the rules across tables: new values and kept ones were never one configuration before.
    return override(found, host=running.gateway.host, port=running.gateway.port)


def _waiting(running: Settings) -> dict[str, Any]:
    """The tables of which no key is applied while the gateway runs."""
    tables = set(Settings.__struct_fields__) - _NOT_SAID - {"protocol"}
    return {name: getattr(running, name) for name in tables if not is_applied(f"{name}.")}


def _protocol(running: Protocol | None, wanted: Protocol | None) -> Protocol | None:
    """As it runs, but for its rate limits."""
    if running is None or wanted is None:
        return running
    return msgspec.structs.replace(running, rate_limits=wanted.rate_limits)


def policy_version(settings: Settings) -> str:
    """A digest of everything that was configured, but for the values that are secrets: 16 hex digits."""
    plain = msgspec.structs.replace(settings, servers=tuple(map(_as_written, settings.servers)))
    said = {key: value for key, value in sorted(_flat(plain).items()) if not _is_secret(key)}
    return hashlib.sha256(jsonrpc.encode(said)).hexdigest()[:16]


def versions(settings: Settings) -> Callable[[str], str]:
    """To which version something is bound that is about a server: to that of what was configured; and of a server that was registered
    while the gateway runs, to what that is as well. So whoever registers one changes nothing for the calls of others to others."""

    @cache
    def configured() -> str:  # of all settings, and few gateways ask anybody anything
        return settings.configured or policy_version(settings)

    registered = {one.id: one for one in settings.servers if one.created_by}

    def version(server: str) -> str:
        one = registered.get(server)
        if one is None:
            return configured()
        said = dict(_leaves(server, one))
        return f"{configured()}.{hashlib.sha256(jsonrpc.encode(said)).hexdigest()[:16]}"

    return version


def is_applied(key: str) -> bool:
    """Whether a running gateway takes a changed key over; what it does not takes effect at the next start."""
    return key not in _NEEDS_RESTART and key.startswith(_APPLIED)


def _as_written(server: Server) -> Server:
    """With `${secret:NAME}` where a secret is."""
    if not server.written:
        return server
    told = server.written
    args = tuple(told.get(f"args.{number}", one) for number, one in enumerate(server.args))
    return msgspec.structs.replace(
        server,
        command=told.get("command", server.command),
        url=told.get("url", server.url),
        openapi=told.get("openapi", server.openapi),
        base_url=told.get("base_url", server.base_url),
        args=args,
    )


def _is_secret(key: str) -> bool:
    if key in ("rooms.jwt_key", "console.oidc.client_secret", "discovery.embedder.key"):
        return True
    return key.startswith("servers.") and any(part in key for part in _SECRET)


def _named(settings: Settings) -> set[str]:
    servers = {f"servers.{server.id}" for server in settings.servers}
    return servers | {f"profiles.{name}" for name in settings.profiles}


def _flat(settings: Settings, whole: Container[str] = ()) -> dict[str, Any]:
    """What is in `whole` came or went, and is one key without parts."""
    named: list[tuple[str, Any]] = [(f"servers.{one.id}", one) for one in settings.servers]
    found: dict[str, Any] = {"servers": [key for key, _ in named if key not in whole]}
    named += [(f"profiles.{name}", one) for name, one in settings.profiles.items()]
    for name in settings.__struct_fields__:
        if name not in _NOT_SAID and name not in ("servers", "grants", "profiles"):
            found |= _leaves(name, getattr(settings, name))
    for key, value in named:
        found |= {key: True} if key in whole else _leaves(key, value)
    for grant in settings.grants:
        key = f"grants.{grant.agent} {grant.server}/{grant.tool or '*'}"
        found.setdefault(key, []).append(dict(_leaves("", grant)))
    return found


def _leaves(key: str, value: Any) -> Iterator[tuple[str, Any]]:
    """(dotted key, plain value) of all that stands below a key; where it was written does not count."""
    if isinstance(value, msgspec.Struct):
        named: Iterable[tuple[str, Any]] = (
            (name, getattr(value, name))
            for name in value.__struct_fields__
            if name not in _NO_VALUE
        )
    elif isinstance(value, Mapping):
        named = value.items()
    else:
        yield key, msgspec.to_builtins(value, enc_hook=str)
        return
    for name, part in named:
        yield from _leaves(f"{key}.{name}", part)
