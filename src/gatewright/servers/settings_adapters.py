"""Converts settings into server specs, profiles, OAuth logins, limits, client terms and the Host/Origin check; makes the `Supervisor`."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from functools import cache, partial
from typing import Any

import msgspec

from gatewright import __version__
from gatewright.config import Settings
from gatewright.config import model as said
from gatewright.config.limits import Limits as ConfiguredLimits
from gatewright.identity.gate import Authenticate
from gatewright.mcp.client.authorization import Authorizer
from gatewright.mcp.client.endpoint import ApiPlace
from gatewright.mcp.protocol.negotiate import Face
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.protected_resource import Protected
from gatewright.mcp.server.server_context import Terms
from gatewright.mcp.wire.json_bounds import Limits as JsonLimits
from gatewright.oauth.client import Identity
from gatewright.servers.authorize import authorizer_for
from gatewright.servers.catalogue import Sight
from gatewright.servers.gateway_files import Guarded, guarded_of
from gatewright.servers.login_store import Logins
from gatewright.servers.mgp_extensions import EXTENSIONS
from gatewright.servers.spec import Auth, CatalogueLimits, Restart, ServerSpec
from gatewright.servers.stopped_servers import word_of
from gatewright.servers.supervisor import Audited, Supervisor
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.servers.view import Profile
from gatewright.transport.base import FROM_SERVERS, Limits
from gatewright.transport.isolation.rules import Isolation

__all__ = [
    "authorizers_of",
    "face_of",
    "guard_of",
    "http_limits",
    "info_of",
    "json_limits",
    "profiles_of",
    "spec_of",
    "specs_of",
    "supervisor_of",
    "terms_of",
]


def profiles_of(settings: Settings) -> dict[str, Profile]:
    """The named views, and the default one under the empty name."""
    named = {
        name: Profile(servers=one.servers, tools=one.tools, unprefixed=one.unprefixed)
        for name, one in settings.profiles.items()
    }
    return {"": Profile(unprefixed=settings.gateway.unprefixed), **named}


def supervisor_of(
    settings: Settings,
    sight: Sight,
    event: Audited,
    side: ServerSide,
    stopped: Container[str] = (),
) -> Supervisor:
    """The servers of a configuration, none of which is started yet, and those `stopped` are not; the rest as for `Supervisor`."""
    found = specs_of(settings, settings.servers, side.extensions)
    specs = [word_of(spec, stopped) for spec in found]
    return Supervisor(
        specs,
        info=info_of(settings),
        profiles=profiles_of(settings),
        sight=sight,
        event=event,
        side=side,
        authorizers=authorizers_of(settings, specs),
        startup_wait_s=settings.gateway.startup_wait_s,
    )


def terms_of(settings: Settings, authenticate: Authenticate, protected: Protected | None) -> Terms:
    """What a configuration says of how clients are served; `protected` is what clients without a token hear."""
    return Terms(
        identify=authenticate.identify,
        bearer=authenticate.bearer,
        protected=protected,
        info=info_of(settings),
        limits=json_limits(settings.limits),
        subscriptions=settings.limits.subscriptions_per_client,
    )


def specs_of(
    settings: Settings, servers: Iterable[said.Server], extensions: Sequence[str] = EXTENSIONS
) -> list[ServerSpec]:
    """Servers as `spec_of` has each."""
    guarded = cache(partial(guarded_of, settings))
    return [_spec_of(settings, one, extensions, guarded) for one in servers]


def spec_of(
    settings: Settings, server: said.Server, extensions: Sequence[str] = EXTENSIONS
) -> ServerSpec:
    """One server as the upstream half wants to know it; `extensions` are those of MGP that the gateway has."""
    return specs_of(settings, [server], extensions)[0]


def _spec_of(
    settings: Settings,
    server: said.Server,
    extensions: Sequence[str],
    guarded: Callable[[], Guarded],
) -> ServerSpec:
    limits, restart, mgp = settings.limits, server.restart, server.mgp
    call_s = limits.call_timeout_s if server.call_timeout_s is None else server.call_timeout_s
    return ServerSpec(
        id=server.id,
        transport=server.transport,
        command=server.command,
        args=server.args,
        env=server.env,
        cwd=str(server.cwd) if server.cwd is not None else None,
        isolation=_isolation_of(settings, server, guarded),
        url=server.url,
        python=server.python,
        trust_gateway=server.trust_gateway,
        headers=server.headers,
        api=_api_of(server),
        auth=_auth_of(server.auth),
        era=server.era,
        face=_face(server, extensions),
        methods=server.methods,
        share=server.share,
        enabled=server.enabled,
        problem=str(server.problem) if server.problem is not None else "",
        restart=Restart(
            policy=restart.policy,
            max=restart.max_restarts,
            window_s=restart.restart_window_secs,
            first_s=restart.backoff_base_ms / 1000,
            most_s=restart.backoff_max_ms / 1000,
        ),
        connect_s=server.connect_timeout_s,
        call_s=call_s,
        idle_s=server.idle_timeout_s or 0.0,
        in_flight=limits.in_flight_per_server,
        limits=msgspec.structs.replace(
            FROM_SERVERS,
            frame_bytes=limits.server_frame_bytes,
            # One that does one thing at a time reads nothing for as long as a call may take: it is no slow reader before.
            patience_s=max(FROM_SERVERS.patience_s, call_s),
        ),
        catalogue=CatalogueLimits(
            tools=limits.tools_per_server,
            description_bytes=limits.description_bytes,
            schema_depth=limits.schema_depth,
            subschemas=limits.subschemas,
        ),
        prefix=server.tool_prefix,
        tools=server.tools,
        approver=settings.approvals.approver,
        hints=_hints(settings, server),
        trust_level=mgp.trust_level if mgp is not None else None,
        permissions=mgp.permissions_required if mgp is not None else (),
        asked=mgp.permissions_asked if mgp is not None else (),
        created_by=server.created_by,
        private=server.private,
        degrades=mgp is not None and mgp.missing_permissions == "degrade",
    )


def _isolation_of(
    settings: Settings, server: said.Server, guarded: Callable[[], Guarded]
) -> Isolation | None:
    """What a child is kept to. The configuration and the state of the gateway are nobody's to see, whatever is shown."""
    wanted = server.confinement
    if wanted.level == "none":
        return None
    common = guarded()
    return Isolation(
        server=server.id,
        level=wanted.level,
        read=tuple(map(str, wanted.read)),
        write=tuple(map(str, wanted.write)),
        scripts=_scripts_of_agents(settings) if server.private else None,
        hidden=common.hidden,
        hidden_folders=common.hidden_folders,
        kept=common.kept,
        changed_by_others=common.changed_by_others,
        state=str(settings.storage.path),
        network=wanted.network,
        memory_bytes=wanted.memory_bytes,
        tmp_bytes=wanted.tmp_bytes,
        processes=wanted.processes,
        open_files=wanted.open_files,
        file_bytes=wanted.file_bytes,
        cpu_s=wanted.cpu_s,
    )


def _scripts_of_agents(settings: Settings) -> tuple[str, ...]:
    folder = settings.file_of("registration.folders").absolute().parent
    return tuple(str(folder / one) for one in settings.registration.folders)


def _hints(settings: Settings, server: said.Server) -> bool:
    """Whether annotations ask for a person. Code of this process is the operator's own; `trusted` is the operator's word."""
    trusted = server.mgp is not None and server.mgp.trust_level == "trusted"
    if trusted or server.transport == "python":
        return False
    return (server.hints or settings.approvals.hints) == "ask"


def _face(server: said.Server, extensions: Sequence[str]) -> Face | None:
    """What a server hears of MGP. Tools of this process are our own: how dangerous they are is always asked."""
    if server.mgp is not None:
        return Face(tuple(one for one in server.mgp.extensions if one in extensions))
    if server.transport != "python":
        return None
    return Face(tuple(one for one in ("security", "streaming") if one in extensions))


def authorizers_of(settings: Settings, specs: Sequence[ServerSpec]) -> dict[str, Authorizer]:
    """Who gets us into protected servers, by server id."""
    logins = Logins(settings.storage.path)
    found = {spec.id: authorizer_for(spec, logins) for spec in specs}
    return {name: one for name, one in found.items() if one is not None}


def _api_of(server: said.Server) -> ApiPlace | None:
    if server.transport != "openapi":
        return None
    return ApiPlace(
        server.openapi or "", server.base_url or "", server.credentials, server.accepted
    )


def _auth_of(auth: said.Auth) -> Auth:
    identity = Identity(
        auth.client_id,
        auth.client_secret,
        auth.issuer,
        auth.client_metadata_url,
        auth.scopes,
        auth.redirect_uri,
    )
    return Auth(auth.type, identity, auth.bearer)


def json_limits(limits: ConfiguredLimits) -> JsonLimits:
    """The bounds of one frame."""
    return JsonLimits(limits.depth, limits.keys, limits.batch, limits.id_chars, limits.values)


def http_limits(limits: ConfiguredLimits) -> Limits:
    """The bounds of a listener's connections."""
    return Limits(
        frame_bytes=limits.frame_bytes,
        queue_bytes=limits.queue_bytes,
        header_bytes=limits.header_bytes,
        connections_per_s=limits.connections_per_s,
        connections=limits.connections or 0,
        connections_per_address=limits.connections_per_address or 0,
    )


def info_of(settings: Settings) -> dict[str, Any]:
    """How the gateway calls itself to clients and servers (MCP's `Implementation`)."""
    return {"name": settings.gateway.name, "version": __version__}


def face_of(settings: Settings, extensions: tuple[str, ...]) -> Face:
    """What the gateway says of itself to MGP clients (MGP §2.3)."""
    own = settings.gateway
    return Face(
        extensions,
        server_id=own.server_id or None,
        trust_level=own.trust_level,
        permissions_required=own.permissions_required,
    )


def guard_of(settings: Settings) -> Guard:
    """Which `Host` and `Origin` are served."""
    return Guard(settings.gateway.allowed_hosts, settings.gateway.allowed_origins)
