"""Gateways that whole modules share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.gateway import Gateway, config, running, server


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
    with running(folder, config(server("extras"), gateway={"unprefixed": True})) as gateway:
        yield gateway
