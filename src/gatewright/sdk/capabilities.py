"""`ServerCapabilities` (`TypedDict`: name, version, capabilities, item counts) and `server_capabilities`, which makes it from given counts.

On the wire the same stands in `initialize`, with the counts in its `_meta` (decision C-41).
"""

from __future__ import annotations

from typing import TypedDict

__all__ = ["Changing", "Offers", "ServerCapabilities", "Subscribing", "server_capabilities"]


class Changing(TypedDict):
    """Whether a change of the list is announced."""

    listChanged: bool


class Subscribing(TypedDict):
    """The same, and whether one resource can be watched."""

    subscribe: bool
    listChanged: bool


class Offers(TypedDict):
    """By what is offered."""

    tools: Changing
    resources: Subscribing
    prompts: Changing


class ServerCapabilities(TypedDict):
    """The object of the contract."""

    name: str
    version: str
    capabilities: Offers
    tools_count: int
    resources_count: int
    prompts_count: int


def server_capabilities(
    name: str,
    version: str,
    *,
    tools: int,
    resources: int = 0,
    prompts: int = 0,
    announces: bool = True,
    subscribes: bool = False,
) -> ServerCapabilities:
    """The object for a server with so many tools, resources and prompts.

    `announces`: changes of any list are told (`notifications/…/list_changed`); `subscribes`: single resources can be
    watched.
    """
    return {
        "name": name,
        "version": version,
        "capabilities": {
            "tools": {"listChanged": announces},
            "resources": {"subscribe": subscribes, "listChanged": announces},
            "prompts": {"listChanged": announces},
        },
        "tools_count": tools,
        "resources_count": resources,
        "prompts_count": prompts,
    }
