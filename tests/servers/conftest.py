"""Fixtures for getting into a protected upstream (`guarded`)."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from gatewright.oauth.client import Identity
from gatewright.servers.authorize import Browser, OAuth
from gatewright.servers.login_store import Logins
from tests.servers.guarded import BACK, Clock, Make, Pair, protected, user

__all__ = ["clock", "make", "pair"]


@pytest.fixture
async def pair() -> AsyncIterator[Pair]:
    """A protected server and its authorization server."""
    async with protected() as both:
        yield both


@pytest.fixture
def clock() -> Clock:
    """Time by hand."""
    return Clock()


@pytest.fixture
def make(pair: Pair, clock: Clock, tmp_path: Path) -> Make:
    """Makes an authorizer for the server of `pair`; all of them share one folder."""

    def made(*, browser: Any = user, identity: Identity | None = None, **more: Any) -> OAuth:
        return OAuth(
            "files",
            pair[0].url,
            identity or Identity(),
            Logins(tmp_path),
            browser=Browser(browser, BACK) if browser is not None else None,
            clock=clock,
            **more,
        )

    return made
