"""A shell and an endpoint for every test that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.endpoints import Endpoint, running_endpoint
from tests.cli.shell import Shell

__all__ = ["endpoint", "shell"]


@pytest.fixture
def shell(tmp_path: Path) -> Shell:
    """Commands in a folder of their own."""
    return Shell(tmp_path)


@pytest.fixture
def endpoint(shell: Shell) -> Iterator[Endpoint]:
    """An endpoint that the shell's commands take for the running gateway."""
    with running_endpoint() as found:
        found.enter(shell.state)
        yield found
