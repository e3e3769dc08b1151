"""`Held`: one subscription of the gateway's at an MGP server, and who shares it; reads the server's answer to it."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping
from typing import Any, NamedTuple

import msgspec

from gatewright.call import Caller
from gatewright.events.channels import LONGEST_NAME
from gatewright.events.early_events import Ident
from gatewright.events.subscription import Subscription
from gatewright.mcp.client.link import Link
from gatewright.servers.resource_subscriptions import SEVERAL

__all__ = ["CALLER_MOST", "SERVER_MOST", "Held", "Key", "has_room", "subscribed"]

SERVER_MOST, CALLER_MOST = 256, 16
"""Subscriptions at one server, and those of one caller that differ; callers without a name are one here."""


class Key(NamedTuple):
    """What is wanted of which server: whoever wants the same shares a subscription."""

    server: str
    channels: tuple[str, ...]
    severity: str | None


class Held(msgspec.Struct, eq=False):
    """A subscription at a server, and who shares it."""

    key: Key
    link: Link
    number: int
    done: asyncio.Future[tuple[str, ...]]
    """What the server honours, once it has answered."""
    ident: Ident | None = None
    told: bool = False
    """Whether what came before the answer has been told: until then further events wait behind that."""
    users: dict[Subscription, Hashable] = {}
    """Who each is of."""
    whose: Counter[Hashable] = msgspec.field(default_factory=Counter)
    """How many of them each caller has."""

    def add(self, one: Subscription) -> None:
        """Let it share this one."""
        if one not in self.users:
            who = self.users[one] = one.caller.who
            self.whose[who] += 1

    def remove(self, one: Subscription) -> None:
        """It shares it no more."""
        who = self.users.pop(one, None)
        self.whose[who] -= 1
        if self.whose[who] <= 0:
            del self.whose[who]

    @property
    def party(self) -> str:
        """Who shares it, where that is one holder: what its server logs for its sake is nobody else's (`Link.fetch`)."""
        holders = {one.party for one in self.users}
        return holders.pop() if len(holders) == 1 else SEVERAL

    @property
    def stands(self) -> bool:
        """Whether its server still knows it: a connection that is made anew may be to another one."""
        return self.link.open and self.number == self.link.told_on


def has_room(there: Mapping[Key, Held], caller: Caller) -> bool:
    """Whether a server that has these can be asked for another one in the name of a caller."""
    mine = sum(caller.who in each.whose for each in there.values())
    return len(there) < SERVER_MOST and mine < CALLER_MOST


def subscribed(found: Mapping[str, Any], asked: tuple[str, ...]) -> tuple[Ident, tuple[str, ...]]:
    """The id of a subscription, and which of what was asked for it has, by its server's answer. Raises `ValueError`."""
    ident, said = found.get("subscription_id"), found.get("subscribed")
    if not isinstance(ident, str | int) or len(str(ident)) > LONGEST_NAME:
        raise ValueError(f"subscription_id is no string of at most {LONGEST_NAME} characters")
    names = {one for one in said if isinstance(one, str)} if isinstance(said, list) else set[str]()
    return ident, tuple(one for one in asked if one in names)
