"""Lists known agent names (keys, hosts, configuration); warns when a command names another one, and suggests similar names."""

from __future__ import annotations

import os
import time

from gatewright.access.grants import EVERYBODY
from gatewright.cli.output import note
from gatewright.cli.state_access import seen
from gatewright.config import Settings
from gatewright.hosts.local_agents import AGENTS
from gatewright.identity.keys import KeyStore
from gatewright.schemas.lookalikes import spellings
from gatewright.schemas.nearest import closest

__all__ = ["agents_of", "note_unknown"]

_ALWAYS = ("anonymous", "local")


def agents_of(settings: Settings) -> set[str]:
    """Everybody who can be told to be somebody: keys that were ever made, hosts, and those of the configuration."""
    known = {*_ALWAYS, *AGENTS, *settings.agents, *(one.agent for one in settings.grants)}
    with seen(settings.storage.path) as state:
        keys = KeyStore(state, clock=time.time, random=os.urandom).keys()
    return known | {one.name for one in keys}


def note_unknown(settings: Settings, agent: str) -> None:
    """Say so where nobody is known by this name, with those that come close. Whom an issuer names (NAME:SUBJECT) only it knows."""
    if agent == EVERYBODY or ":" in agent:
        return
    known = agents_of(settings)
    if not known.isdisjoint(spellings(agent)):
        return
    near = closest(agent, sorted(known), 3)
    meant = f"; did you mean {' or '.join(near)}?" if near else ""
    note(f"no agent {agent!r} is known: no key and no host is called so{meant}")
