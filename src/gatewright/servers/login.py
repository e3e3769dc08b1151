"""`log_in`: interactive OAuth login at one server: connects without a token, so that its refusal starts the browser flow of `OAuth`.

The server itself says that a login is wanted and for what, so it is asked: hello and its tools are
requested without a token, and the first refusal begins the login. A server that refuses nothing is
believed, unless it publishes what an authorization server would have to know.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gatewright.mcp.client.authorization import NotAuthorized
from gatewright.mcp.client.connect import Around
from gatewright.mcp.client.link import Link, ServerFailed
from gatewright.mcp.protocol.mcp_client import ASKABLE
from gatewright.oauth.client import Grant
from gatewright.servers.authorize import Browser, OAuth
from gatewright.servers.dial import reach
from gatewright.servers.login_store import Logins
from gatewright.servers.spec import ServerSpec

__all__ = ["PATIENCE_S", "log_in"]

PATIENCE_S = 600.0
"""How long one request may wait for a person; whoever calls `log_in` may give up earlier."""

_GRACE_S = 2.0


async def log_in(
    spec: ServerSpec, info: Mapping[str, Any], logins: Logins, browser: Browser
) -> Grant:
    """Have a person log in, and keep what comes of it in `logins`. `info` is what we call ourselves.

    Raises `ServerFailed` where the server cannot be talked to, and `NotAuthorized` (which is one)
    where there is no login to be had.
    """
    auth = OAuth(spec.id, spec.url, spec.auth.identity, logins, browser=browser, relogin=True)
    left: list[Link] = []
    around = Around(info, _Deaf(), lambda: lambda _: None, left.append, auth)
    try:
        link = await reach(spec, around, ASKABLE)
        left.append(link)
        await link.fetch("tools/list", {}, PATIENCE_S)
    except ServerFailed:
        if auth.pending:
            raise
        # The login is made; what the server answers afterwards is not its business.
    finally:
        for one in left:
            await one.stop(_GRACE_S)
    if auth.pending:
        await _unasked(auth)
    grant = auth.grant
    if grant is None:
        raise NotAuthorized("the login left nothing behind")
    return grant


async def _unasked(auth: OAuth) -> None:
    try:
        await auth.login()
    except NotAuthorized as problem:
        raise NotAuthorized(f"the server asks for no login ({problem})") from None


class _Deaf:
    """Nobody is there for what the server says besides."""

    def said(self, link: Link, method: str, params: dict[str, Any]) -> None:
        """Not heard."""

    def renewed(self, link: Link) -> None:
        """Nothing was kept that could be renewed."""
