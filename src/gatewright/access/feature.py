"""Access control as a feature: gates `resolve`, `access`, `permission`, tool visibility, MGP §3 and §5.4 methods; revoking ends calls."""

from __future__ import annotations

import time
from collections.abc import Mapping

from msgspec.structs import replace

from gatewright.access.authority import Authority
from gatewright.access.configured_grants import grants_of
from gatewright.access.gate import Access
from gatewright.access.grants import Grants
from gatewright.access.methods import access_methods, access_tools
from gatewright.access.permission_gate import Permission
from gatewright.access.permission_methods import permission_methods
from gatewright.access.permission_policy import ServerPermissions, permitting_of
from gatewright.access.resolve_gate import Resolve
from gatewright.access.resolver import CatalogueResolver
from gatewright.approvals.queue import ApprovalQueue
from gatewright.call import Caller, Gate, Target, Tool
from gatewright.config import Settings
from gatewright.feature import Feature, GatewayParts, Ground, Inside, Making, Rights, Rules, Serving
from gatewright.identity.sessions import METHOD as SESSIONS
from gatewright.in_force import InForce
from gatewright.mcp.wire.permissions import ASKED
from gatewright.servers.catalogue import Sight
from gatewright.servers.dispatch import Builtin
from gatewright.servers.names import kernel_names
from gatewright.servers.own_tools import with_own_tools
from gatewright.servers.supervisor_dependencies import ServerSide
from gatewright.servers.working_folders import folders_of

__all__ = ["AccessFeature"]

_OF_THE_SPINE = frozenset({"mgp/discovery/list", SESSIONS})
"""As `Feature.open_methods`, of what no feature answers."""


class AccessFeature(Feature):
    """Offers `Rights`, and `Authority` to whoever issues grants. Permissions of servers wait in the queue of approvals, where there is one."""

    name = "access"
    open_methods = ("mgp/access/query", "mgp/access/grant", "mgp/access/revoke", *sorted(ASKED))

    def __init__(self, ground: Ground) -> None:
        event = ground.audit.event
        self._open = ground.open_methods | _OF_THE_SPINE
        queue = ground.of(ApprovalQueue)
        self._authority = Authority(ground.database, ground.now, ground.who, event)
        self._permitting = permitting_of(ground.settings, ground.database, queue, event)
        self._tools = access_tools(self._authority)
        self.own_tools = [kernel_names(name)[0] for name in self._tools]
        self.offers = (_Held(ground.now), self._authority)

    def side(self, side: ServerSide) -> ServerSide:
        """Permissions of servers, and tools of the gateway's own that no configuration can replace."""
        return replace(with_own_tools(side, self._tools), permits=self._permitting)

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """What MGP says of access and permissions. From now on what is taken back ends what runs."""

        def permitted(_: None) -> None:
            inside.kernel.end_refused()
            inside.servers.fleet.permitted(self._permitting.barred)

        self._permitting.changed.listen(permitted)
        self._authority.changed.listen(lambda _: inside.kernel.end_refused())
        return {**access_methods(self._authority), **permission_methods(self._permitting)}

    def rules(self, settings: Settings) -> Rules:
        """The access table, and the gates that read it."""
        grants = grants_of(settings, self._authority.layer)
        folders = folders_of(settings)
        private = {one.id: one.registered_by for one in settings.servers if one.registered_by}
        access = Access(
            grants, time.time, open_methods=self._open, folders=folders, private=private
        )
        return _Table(grants, access, self._permitting).rules()

    def serve(self, parts: GatewayParts) -> Serving:
        """What other processes changed."""
        return Serving(looks=(self._authority.look, self._permitting.look))

    def expect(self, settings: Settings) -> None:
        """What permissions servers will have."""
        self._permitting.expect(settings)

    def adopt(self, settings: Settings) -> None:
        """What permissions servers have."""
        self._permitting.adopt(settings)

    async def close(self) -> None:
        """Give the stores back."""
        self._authority.close()
        self._permitting.close()


class _Table:
    """Who may do what, by one configuration."""

    def __init__(self, grants: Grants, access: Access, permitting: ServerPermissions) -> None:
        self._grants = grants
        self._access = access
        self._permitting = permitting

    def rules(self) -> Rules:
        """Sight and gates."""
        access, permitting = self._access, self._permitting
        sight = Sight(
            self._may_see,
            access.may_reach,
            lambda: (access.version(), permitting.version),
            access.may_touch,
            unlisted=self._may_have,
        )
        gates = {
            "resolve": self._resolve,
            "access": lambda _: access,
            "permission": self._permission,
        }
        return Rules(gates=gates, sight=sight)

    def _may_have(self, caller: Caller, tool: Target) -> bool:
        barred = tool.server in self._permitting.barred
        return not barred and self._access.of_tool(caller, tool.server, tool.name, None)[0]

    def _may_see(self, caller: Caller, tool: Tool) -> bool:
        barred = tool.target.server in self._permitting.barred
        return not barred and self._access.may_see(caller, tool)

    def _resolve(self, making: Making) -> Gate:
        access, barred = self._access, self._permitting.barred
        fleet, dispatch = making.servers, making.dispatch
        subjects = CatalogueResolver(
            fleet, dispatch, access.may_reach, barred, may_use=access.may_see
        )
        return Resolve(subjects, making.sight.tool, access.may_see)

    def _permission(self, _: Making) -> Gate:
        barred, value = self._permitting.barred, self._permitting.value
        return Permission(self._grants, time.time, barred=barred, value=value)


class _Held(Rights):
    """By the gate in force."""

    def __init__(self, now: InForce) -> None:
        self._now = now

    def held(self, caller: Caller) -> list[str]:
        """As `Rights` says."""
        gate = self._now.gate("permission", Permission)
        return [] if gate is None else gate.held(caller)

    def may_use(self, caller: Caller, tool: Tool, requested: frozenset[str] | None) -> bool:
        """As `Rights` says."""
        gate = self._now.gate("permission", Permission)
        return gate is not None and not gate.missing(caller, tool, requested)
