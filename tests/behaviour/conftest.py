"""Gateways that whole modules share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.access_house import House
from tests.behaviour.gateway import Gateway, config, running, server
from tests.behaviour.ggen_house import Firm, firm_running
from tests.behaviour.groundhog_house import GroundhogHouse, houses
from tests.behaviour.token_house import TokenHouse, token_house


@pytest.fixture(scope="session")
def several(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of three servers."""
    folder: Path = tmp_path_factory.mktemp("several")
    content = config(server("asker"), server("extras"), server("echo"))
    with running(folder, content) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def bare(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway in front of one server whose names it shows as they are."""
    folder: Path = tmp_path_factory.mktemp("bare")
    extras = server("extras", methods=["vendor/*", "notifications/vendor.*"])
    with running(folder, config(extras, gateway={"unprefixed": True})) as gateway:
        yield gateway


@pytest.fixture(scope="session")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenHouse]:
    """A gateway that takes access tokens."""
    with token_house(tmp_path_factory.mktemp("tokens")) as house:
        yield house


@pytest.fixture(scope="session")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """A gateway whose callers need keys; `open` lets in who has no grant, `echo` does not."""
    content = config(
        server("echo"),
        server("echo", "open", default_policy="opt-out"),
        server("asker"),
        grants=[{"agent": "reader", "server": "echo", "permission": "deny"}],
        gateway={"anonymous": "deny"},
    )
    with running(tmp_path_factory.mktemp("access"), content) as gateway:
        yield House(gateway)


@pytest.fixture(scope="session")
def firm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Firm]:
    """A gateway in front of ggen's example server; its callers need keys."""
    with firm_running(tmp_path_factory.mktemp("firm")) as found:
        yield found


@pytest.fixture(scope="session")
def grounds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, GroundhogHouse]]:
    """A gateway for each transport of Groundhog's, by its door."""
    with houses(tmp_path_factory.mktemp("groundhog")) as found:
        yield found
