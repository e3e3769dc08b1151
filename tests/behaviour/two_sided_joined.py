"""Judge of the two-sided model, the part about servers that are registered while the gateway runs: whose each is, and when it is there.

Those of `REGISTERED` are of the agent `lea`. What anybody else hears of them, or sends them, is a fault by the judge's other clauses, as they
are visible to nobody else; here it is judged that they get nothing while they are not registered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from tests.behaviour.two_sided_clients import Client
from tests.behaviour.two_sided_facts import KINDS, SERVERS, visible
from tests.behaviour.two_sided_listened import Listened
from tests.behaviour.two_sided_servers import End

__all__ = ["Joined", "Member"]

_TOLD = 3
"""So often whoever sees a server hears that it has come or gone: of its lists, of its grant, and of the configuration."""


class Member(NamedTuple):
    """A server that is registered: by which client, and whether it ends with the connection of that one."""

    by: str
    ends: bool


class Joined(Listened):
    """See the module's text."""

    clients: dict[str, Client]

    def __init__(self) -> None:
        super().__init__()
        self.joined: dict[str, Member] = {}
        """The servers that are registered."""
        self.ever: set[str] = set()
        """Those that ever were."""
        self.left_at: dict[str, float] = {}
        """When each was gone last."""

    def now(self) -> float:
        """The time, in seconds."""
        raise NotImplementedError

    def there(self, server: str) -> bool:
        """Whether a server has to be there; else it may not."""
        return "registered" not in SERVERS[server] or server in self.joined

    def ending_with(self, client: Client) -> list[str]:
        """The servers that end with the connection of a client."""
        return [name for name, one in self.joined.items() if one == (client.name, True)]

    def joins(self, server: str, by: str, *, ends: bool) -> None:
        """It is registered."""
        self.joined[server] = Member(by, ends)
        self.ever.add(server)

    def leaves(self, server: str) -> None:
        """It is registered no more."""
        del self.joined[server]
        self.left_at[server] = self.now()
        for client in self.clients.values():
            client.holds = {uri: one for uri, one in client.holds.items() if one != server}

    def began_anew(self) -> None:
        """The gateway was started: what was to end with a session has ended. Nobody knows what who has just come was shown."""
        for name, member in list(self.joined.items()):
            if member.ends:
                self.leaves(name)
            else:
                self.comes_or_goes(name)
                self._promise(self.clients, 1)

    def comes_or_goes(self, server: str) -> None:
        """Whoever sees it hears of that, and nobody else."""
        self._promise([name for name in self.clients if server in visible(name)], _TOLD)

    def _promise(self, names: Iterable[str], times: int) -> None:
        for name in names:
            for kind in KINDS:
                self.clients[name].credit[f"notifications/{kind}/list_changed"] += times

    def judge_member(self, end: End, params: object) -> None:
        """Look at a call that a server got."""
        if not self.there(end.server.name):
            self.fault(f"{end.server.name} got a call though it is not registered", params)
