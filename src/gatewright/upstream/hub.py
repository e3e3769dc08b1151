"""What servers say outside any call, told to those who listen and may see the server.

List changes are told by the catalogue's owner after the catalogue has them, so that who is told and
lists at once sees what it was told of.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import msgspec

from gatewright.call import Caller

__all__ = ["Hub", "Take"]

log = logging.getLogger("gatewright.upstream")

UPDATED = "notifications/resources/updated"

Take = Callable[[str, str, dict[str, Any]], None]
"""Server id, method and params of one notification. Must not block, and must not change `params`."""


class _Listener(msgspec.Struct, frozen=True, eq=False):
    caller: Caller
    profile: str
    session: str | None
    take: Take


class Hub:
    """`may_see(caller, profile, server)` says whether a server exists for somebody; `uri(profile,
    server, uri)` what a server's resource is called in a profile."""

    def __init__(
        self,
        may_see: Callable[[Caller, str, str], bool],
        uri: Callable[[str, str, str], str] = lambda profile, server, uri: uri,
    ) -> None:
        self._may_see = may_see
        self._uri = uri
        self._listeners: dict[int, _Listener] = {}
        self._count = 0

    def watch(
        self, caller: Caller, profile: str, take: Take, session: str | None = None
    ) -> Callable[[], None]:
        """Tell `take` what servers say, until the result is called."""
        self._count += 1
        number = self._count
        self._listeners[number] = _Listener(caller, profile, session, take)

        def end() -> None:
            self._listeners.pop(number, None)

        return end

    def tell(
        self, server: str, method: str, params: dict[str, Any], session: str | None = None
    ) -> None:
        """Pass one notification on. With `session`, to that session only: it came on a connection
        that nobody else shares."""
        seen: dict[tuple[str, str], bool] = {}
        for one in list(self._listeners.values()):
            if session is not None and one.session != session:
                continue
            key = one.caller.id, one.profile
            allowed = seen.get(key)
            if allowed is None:
                allowed = seen[key] = self._may_see(one.caller, one.profile, server)
            if not allowed:
                continue
            told = params
            if method == UPDATED and isinstance(params.get("uri"), str):
                told = {**params, "uri": self._uri(one.profile, server, params["uri"])}
            try:
                one.take(server, method, told)
            except Exception:
                log.exception("a listener failed to take %s of server %s", method, server)
