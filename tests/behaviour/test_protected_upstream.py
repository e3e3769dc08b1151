"""A protected upstream behind the whole gateway: what an operator does, and what never leaves it."""

from __future__ import annotations

import asyncio
import json
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.behaviour.gateway import Gateway, config, running
from tests.behaviour.hosts import host
from tests.servers.guarded import AuthorizationServer, ProtectedServer, protected

BROWSER = "import sys, urllib.request; urllib.request.urlopen(sys.argv[1], timeout=15).read()"
Pair = tuple[ProtectedServer, AuthorizationServer]


@contextmanager
def elsewhere() -> Iterator[Pair]:
    """Both servers on a loop of their own, because starting a gateway holds up that of the test."""
    ready: list[Pair] = []
    up, over = threading.Event(), threading.Event()

    async def serve() -> None:
        async with protected() as both:
            ready.append(both)
            up.set()
            await asyncio.to_thread(over.wait)

    thread = threading.Thread(target=asyncio.run, args=(serve(),))
    thread.start()
    try:
        assert up.wait(20)
        yield ready[0]
    finally:
        over.set()
        thread.join(20)


def knock(gateway: Gateway, deadline_s: float = 30.0) -> str:
    """Call the tool until it answers: the first call after a login may come too early."""
    end = time.monotonic() + deadline_s
    while time.monotonic() < end:
        said = gateway.cli("tool", "call", "guarded__knock", check=False)
        if said:
            return said
    raise AssertionError("the tool never answered")


async def test_an_upstream_works_after_a_login_and_never_hears_of_its_callers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "browser.py").write_text(BROWSER)
    monkeypatch.setenv("BROWSER", f"{sys.executable} {tmp_path / 'browser.py'} %s")
    with elsewhere() as (upstream, issuer):
        content = config({"id": "guarded", "url": upstream.url}, gateway={"anonymous": "deny"})
        with running(tmp_path, content) as gateway:
            (listed,) = json.loads(gateway.cli("server", "list", "--json"))
            assert listed["status"] != "connected"
            assert " gatewright server login guarded" in listed["reason"]
            gateway.cli("server", "login", "guarded", "--port", "0")
            assert knock(gateway).strip() == "in"
            made = gateway.cli("key", "create", "ada", "--json", "--key", gateway.operator_token)
            headers = {"authorization": f"Bearer {json.loads(made)['key']}"}
            async with host(gateway, headers=headers) as client:
                assert await client.text("guarded__knock") == "in"
        log = (tmp_path / "gateway.log").read_text()
    assert " gatewright server login guarded" in log
    ours = {None, *(f"Bearer {token}" for token in issuer.tokens)}
    assert set(upstream.heard) <= ours
    assert not [token for token in (*issuer.tokens, *issuer.refreshers) if token in log]
