"""A key that ends while its vote, or any other act by it, is on its way: every way in which an operator acts, with a whole gateway."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from gatewright.approvals.commands import approve
from gatewright.approvals.endpoint import ApprovalPage
from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Approval, Asked
from gatewright.identity.keys import Key, KeyStore
from gatewright.mcp.server.http_request import Connection
from tests.console.in_process import Client, Within, within
from tests.storage.parts import state_in

ASKED = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
Ending = Literal["rotated", "revoked", "rotated with an overlap"]
WAYS = ("api", "session", "page", "batch", "batch of the page", "address")


class House:
    """A gateway with its console, a key of olga, who is an operator, and what ends it in another process."""

    def __init__(self, console: Within, folder: Path) -> None:
        self.console = console
        found = console.parts.ground.of(ApprovalQueue)
        assert found is not None
        self.queue = found
        self.there = KeyStore(state_in(folder / "state"), clock=time.time, random=os.urandom)
        self.key, self.secret = self._made()
        self.bearer = {"Authorization": f"Bearer {self.secret}", "Cookie": None}
        self.page = ApprovalPage(found, console.parts.ground.now.identify, os.urandom)
        self.page.reached_at("http://127.0.0.1")

    def _made(self) -> tuple[Key, str]:
        return self.there.create("olga", kind="operator", by="t")

    def ask(self, tool: str = "wipe", quorum: int = 1) -> Approval:
        said: Any = {"arguments": "{}", "risk": "dangerous", "reason": "", "quorum": quorum}
        made = self.queue.ask(replace(ASKED, tool=tool), **said)
        assert made is not None
        return made

    def end(self, how: Ending) -> None:
        if how == "revoked":
            self.there.revoke(self.key.id, by="t")
            self._made()
        else:
            overlap_s = 60.0 if how == "rotated with an overlap" else 0.0
            self.there.rotate(self.key.id, overlap_s=overlap_s, by="t")

    async def signed_in(self) -> Client:
        client = self.console.nobody()
        answer = await client.form("/sign-in", {"key": self.secret})
        client.cookie = answer.headers["set-cookie"].partition(";")[0]
        session = self.console.sessions.all()[0]
        client.csrf = session.csrf
        return client

    async def vote(self, way: str, one: Approval, arrives: Callable[[], object]) -> int:
        """Say yes; `arrives` is called while the body is on its way. The status."""
        if way == "address":
            return await self._address(one, arrives)
        client = self.console.nobody() if way == "api" else await self.signed_in()
        self.console.arrives = arrives
        headers: Any = self.bearer if way == "api" else {}
        batch = {"of": [{"id": one.id, "digest": one.runs}], "approve": True}
        form = {"of": f"{one.id}:{one.runs}", "decision": "approve"}
        if way == "page":
            answer = await client.form(f"/inbox/{one.id}/approve", {"digest": one.runs})
        elif way == "batch of the page":
            answer = await client.form("/inbox/batch", form)
        elif way == "batch":
            answer = await client.api("POST", "/approvals/decisions", batch, headers)
        else:
            path = f"/approvals/{one.id}/approve"
            answer = await client.api("POST", path, {"digest": one.runs}, headers)
        return answer.status

    async def _address(self, one: Approval, arrives: Callable[[], object]) -> int:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            arrives()
            seen = sha256(one.arguments.encode()).hexdigest()
            form = {"key": self.secret, "decision": "approve", "seen": seen}
            return {"type": "http.request", "body": urlencode(form).encode()}

        path = self.page.url(one).removeprefix("http://127.0.0.1")
        scope = {"method": "POST", "path": path, "client": ("127.0.0.1", 5), "headers": []}
        await self.page(Connection(scope, receive, send, None))
        return int(sent[0]["status"])


@asynccontextmanager
async def house(folder: Path) -> AsyncIterator[House]:
    async with within(folder) as console:
        made = House(console, folder)
        try:
            yield made
        finally:
            made.there.close()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["rotated", "revoked", "rotated with an overlap"])
async def test_no_way_takes_a_yes_by_a_key_that_ended_while_it_was_on_its_way(
    tmp_path: Path, how: Ending, way: str
) -> None:
    """Its owner has the next key already. One that is replaced with an overlap is in force until that ends."""
    async with house(tmp_path) as found:
        one = found.ask()
        status = await found.vote(way, one, lambda: found.end(how))
        after = found.queue.get(one.id)
        assert after is not None
        good = how == "rotated with an overlap"
        assert after.state == ("approved" if good else "pending")
        assert (status < 300) is good


async def test_of_a_batch_nothing_is_decided_by_a_key_that_ended_in_the_middle_of_it(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as found:
        first, second = found.ask(), found.ask("other")
        client = await found.signed_in()

        async def ends() -> None:
            while (one := found.queue.get(first.id)) is not None and one.state == "pending":
                await asyncio.sleep(0)
            found.end("rotated")

        ending = asyncio.ensure_future(ends())
        of = [{"id": one.id, "digest": one.runs} for one in (first, second)]
        done = await client.api("POST", "/approvals/decisions", {"of": of, "approve": True})
        await ending
        said = done.json()
        assert [one.get("state", "") for one in said] == ["approved", ""]
        assert "the key that olga showed has ended" in said[1]["problem"]
        assert found.queue.undone(first.id), "and what it did before goes with it"
        assert found.queue.redeem(ASKED) is None


async def test_what_waits_for_others_ends_with_the_key_that_said_yes_in_a_session(
    tmp_path: Path,
) -> None:
    async with house(tmp_path) as found:
        one = found.ask(quorum=2)
        assert await found.vote("session", one, lambda: None) == 200
        other, _ = found.there.create("olga", kind="operator", by="t")
        found.there.revoke(other.id, by="t")
        votes = vars(found.queue)["_store"].votes
        assert votes(one.id) == (["olga"], []), "another key of hers"
        found.end("rotated")
        assert votes(one.id) == ([], ["olga"])


@pytest.mark.parametrize("yes", [True, False])
async def test_a_prompt_at_a_terminal_ends_with_the_key_that_opened_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, yes: bool
) -> None:
    """A no lets nothing pass."""
    async with house(tmp_path) as found:
        one = found.ask()
        monkeypatch.setenv("HOME", str(tmp_path))
        with approve.opened(tmp_path / "mgp.toml", found.secret) as prompt:
            found.end("rotated")
            vars(approve)["_decide"](prompt, one, yes=yes)
        after = found.queue.get(one.id)
        assert after is not None
        assert after.state == ("pending" if yes else "denied")


@pytest.mark.parametrize("way", ["api", "page"])
async def test_nothing_else_is_changed_by_a_key_that_ended_while_its_body_was_on_its_way(
    tmp_path: Path, way: str
) -> None:
    async with house(tmp_path) as found:
        client = found.console.nobody() if way == "api" else await found.signed_in()
        victim, _ = await _others_session(found)
        found.console.arrives = lambda: found.end("rotated")
        if way == "api":
            answer = await client.api("DELETE", f"/sign-ins/{victim}", None, found.bearer)
        else:
            answer = await client.form(f"/sessions/signed-in/{victim}/end", {})
        assert answer.status in (303, 401), answer.text
        assert found.console.sessions.by_id(victim) is not None


async def _others_session(found: House) -> tuple[str, str]:
    otto = await found.console.person("viewer", "otto")
    session = next(one for one in found.console.sessions.all() if one.person.id == "otto")
    return session.id, otto.csrf
