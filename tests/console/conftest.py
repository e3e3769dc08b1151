"""A gateway for the tests of one module, and whoever asks its console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.console.client import Visitor
from tests.console.running import Console, running


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """One that needs another configuration has a fixture of this name in its module."""
    with running(tmp_path_factory.mktemp("console")) as found:
        yield found


@pytest.fixture
def stranger(console: Console) -> Visitor:
    """Nobody is signed in."""
    return Visitor(console)


@pytest.fixture
def operator(console: Console) -> Visitor:
    """Signed in by a URL of this machine."""
    found = Visitor(console)
    assert found.open(console.new_url().partition("#")[2]).status == 200
    return found
