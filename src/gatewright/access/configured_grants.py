"""Builds the access table from what the configuration grants (`[[grants]]`, `default_policy`) and what operators issued beside it."""

from __future__ import annotations

from gatewright.access.grants import Grant, Grants, Layer
from gatewright.config import Settings
from gatewright.config import model as said

__all__ = ["grants_of"]


def grants_of(settings: Settings, issued: Layer | None = None) -> Grants:
    """The access table that the configuration writes, and what was issued beside it."""

    def one(grant: said.Grant) -> Grant:
        expires = grant.expires_at.timestamp() if grant.expires_at is not None else None
        return Grant(
            agent=grant.agent,
            server=grant.server,
            tool=grant.tool,
            permission=grant.permission,
            granted_by=f"config {grant.origin}",
            granted_at=0.0,
            expires_at=expires,
            justification=grant.justification,
            permissions=grant.permissions,
        )

    defaults = {server.id: server.default_policy for server in settings.servers}
    return Grants(map(one, settings.grants), defaults, issued)
