"""Keys of a gateway, and the same keys as another process has them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gatewright.identity.keys import KeyStore
from tests.audit.parts import Clock, noise
from tests.storage.parts import state_in


@pytest.fixture
def clock() -> Clock:
    return Clock(1000.0)


@pytest.fixture
def callers(tmp_path: Path, clock: Clock) -> Iterator[KeyStore]:
    found = KeyStore(state_in(tmp_path), clock=clock, random=noise())
    yield found
    found.close()


@pytest.fixture
def elsewhere(tmp_path: Path, clock: Clock) -> Iterator[KeyStore]:
    """The same keys in another process, as far as the first can tell."""
    found = KeyStore(state_in(tmp_path), clock=clock, random=lambda size: b"\x77" * size)
    yield found
    found.close()
