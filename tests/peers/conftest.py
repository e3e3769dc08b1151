"""Gateways in front of guests, and the tours through them, each made once."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.peers import tours
from tests.peers.peers import Peer, profiles

__all__ = ["Tours"]

Tours = Callable[[Peer, str], dict[str, Any]]


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of every guest; each has a profile in which it seems to be alone."""
    folder: Path = tmp_path_factory.mktemp("house")
    with ExitStack() as stack:
        servers = [stack.enter_context(each.open()) for each in tours.GUESTS.values()]
        said = {
            "approver": "caller",
            "hints": "off",
        }  # nobody waits for an operator, so there are no tasks
        content = config(*servers, profiles=profiles(*servers), approvals=said)
        yield stack.enter_context(running(folder, content))


@pytest.fixture(scope="session")
def toured(house: Gateway) -> Tours:
    """What a peer saw of a guest. A peer makes all its visits when it is first asked for one."""
    made: dict[Peer, dict[str, Any]] = {}

    def look(peer: Peer, server: str) -> dict[str, Any]:
        if peer not in made:
            made[peer] = tours.make(house, peer)
        found: dict[str, Any] = made[peer][server]
        return found

    return look
