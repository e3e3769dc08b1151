"""Does the caller hold every permission that the tool needs (MGP §3 and §4.3)?

Permissions come with grants. The operator holds all of them: whoever owns the process could do with
the server whatever it does here. What a dangerous tool needs on top of that is asked by `confirm`.
"""

from __future__ import annotations

from collections.abc import Callable

from gatewright.call import Back, Call, Refusal
from gatewright.stores.grants import Grants

__all__ = ["Permission"]


class Permission:
    """Gate `permission`."""

    name = "permission"

    def __init__(self, grants: Grants, clock: Callable[[], float]) -> None:
        """`clock` gives Unix seconds."""
        self._grants = grants
        self._clock = clock

    async def __call__(self, call: Call, back: Back) -> Call | Refusal:
        tool = call.tool
        if tool is None or not tool.security.permissions_required:
            return call
        if call.caller.kind == "operator":
            return call
        target = tool.target
        held = self._grants.permissions_of(
            call.caller.id, target.server, self._clock(), target.name
        )
        missing = [name for name in tool.security.permissions_required if name not in held]
        if not missing:
            return call
        return Refusal(
            "permission_denied",
            f"{tool.exposed} needs the permission {', '.join(missing)}, which {call.caller.id} does "
            "not hold: the operator gives it with `permissions` in a grant",
            {"missing_permissions": missing},
        )
