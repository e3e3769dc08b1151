"""`Names`: resolves an `agent_id` in a request to the caller it means (key owner, MCP host of this machine, anonymous), with its claims."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from gatewright.call import ANONYMOUS, Call, Caller
from gatewright.identity.gate import LOCAL
from gatewright.identity.keys import KeyStore

__all__ = ["Names"]


class Names:
    """`hosts` are those of this machine, by the names under which they are agents without a key."""

    def __init__(
        self,
        callers: KeyStore,
        hosts: Mapping[str, Caller],
        completed: Callable[[Caller], Caller] = lambda caller: caller,
    ) -> None:
        """`completed` adds what the configuration says of a caller."""
        self._callers = callers
        self._hosts = hosts
        self._completed = completed

    def who(self, call: Call, name: str) -> Caller:
        """Whom a name means: `local` the host of whoever runs the gateway, although its operator is
        called so too; whoever else asks about themselves, who they are; the name of a host whoever has
        a key of that name, else that host without a key."""
        known = {one.id: one for one in (call.caller, LOCAL, ANONYMOUS)}
        found = known.get(name) or self._callers.named(name) or self._hosts.get(name)
        return self._completed(found or Caller(name))
