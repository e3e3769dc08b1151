"""Allowlist of the requests and notifications that one tool server may send; logs others, once for each method."""

from __future__ import annotations

import logging
from collections.abc import Callable

from gatewright.mcp.client.endpoint import Endpoint
from gatewright.mcp.protocol.mcp_client import Hello
from gatewright.mcp.wire.methods import NOTIFICATIONS, declares, defined
from gatewright.mcp.wire.versions import LATEST_LEGACY

__all__ = ["NAMED_MOST", "AcceptedMethods"]

log = logging.getLogger("gatewright.mcp.client")

_AUDIT = "notifications/mgp.audit"
NAMED_MOST = 32
"""So many methods of one connection are named in the log."""


class AcceptedMethods:
    """For one connection to one server. `spec` says what holds for it now: an operator may declare more while it lasts."""

    def __init__(self, spec: Callable[[], Endpoint]) -> None:
        self._spec = spec
        self._named: set[str] = set()
        self._unread: set[str] = set()

    def asks(self, method: str, hello: Hello | None) -> bool:
        """Whether it may send this with an id."""
        return self._in_form(method, notification=False) and self.allows(method, hello)

    def tells(self, method: str, hello: Hello | None) -> bool:
        """Whether it may send this without an id. A client that is told what only a request can be may take it for one."""
        return self._in_form(method, notification=True) and self.allows(method, hello)

    def _in_form(self, method: str, *, notification: bool) -> bool:
        return self._spec().methods is None or method.startswith(NOTIFICATIONS) is notification

    def allows(self, method: str, hello: Hello | None) -> bool:
        """Whether the revision or a negotiated extension has this method for servers, or an operator declared it."""
        patterns = self._spec().methods
        if patterns is None:
            return True
        if method.startswith("tasks/") or method == _AUDIT:
            return False  # we make no tasks for servers, and what is recorded is ours to say
        revision = LATEST_LEGACY if hello is None else hello.revision
        extensions = () if hello is None or hello.mgp is None else hello.mgp.extensions
        return defined(method, "server", revision, extensions) or declares(patterns, method)

    def warn(self, method: str) -> None:
        """Say in the log that something was not passed on; once for each method, and not for ever new ones."""
        if method in self._named or len(self._named) >= NAMED_MOST:
            return
        self._named.add(method)
        log.warning(
            "server %s sent %.100a, which its revision of MCP does not have and `methods` in its table does not declare; "
            "it is not passed on",
            self._spec().id,
            method,
        )

    def unread(self, method: str, what: str) -> None:
        """Say in the log that a notification was not read, and why; once for each method."""
        if method in self._unread or len(self._unread) >= NAMED_MOST:
            log.debug("server %s: %s", self._spec().id, what)
            return
        self._unread.add(method)
        log.warning(
            "server %s sent %s (%.100a); it is not passed on, nor is any other like it",
            self._spec().id,
            what,
            method,
        )
