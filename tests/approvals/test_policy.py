"""What the configuration says about approvals, and the webhook of a new request."""

from __future__ import annotations

import asyncio
import json
import logging
import os
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from gatewright.approvals.gate import Rule
from gatewright.approvals.policy import (
    adopt,
    approval_queue_of,
    by_operators,
    queue_of,
    rules_of,
    webhook,
)
from gatewright.approvals.request import Approval, Asked
from gatewright.approvals.webhook_bodies import body_of
from gatewright.call import Target
from gatewright.config import Settings, load
from tests.approvals.voting import Voting
from tests.storage.parts import state_in

CONTENT = """
[approvals]
approver = "operator"
quorum = 2
hold_s = 3
expires_s = 60
[[servers]]
id = "files"
command = "true"
[servers.tools.read]
approver = "caller"
[servers.tools.write]
risk_level = "dangerous"
"""


def nowhere(one: Approval) -> str:
    """No page is there."""
    return ""


def settings(folder: Path, content: str = CONTENT) -> Settings:
    (folder / "mgp.toml").write_text(content)
    return load(folder / "mgp.toml", environ={"HOME": str(folder), "GATEWRIGHT_STATE": str(folder)})


def plain(one: Approval) -> bytes:
    """The generic body, without a console."""
    return body_of("json", one, "")


def nothing(event_type: str, **more: Any) -> int:
    return 0


def test_a_tool_has_the_approver_that_was_said_for_it_or_the_general_one(tmp_path: Path) -> None:
    rule = rules_of(settings(tmp_path))
    assert rule(Target("files", "read")) == Rule("caller", 2)
    assert rule(Target("files", "write")) == Rule("operator", 2)
    assert rules_of(settings(tmp_path, ""))(Target("files", "read")) == Rule("either", 1)


def test_what_is_said_of_every_tool_of_a_server_counts_where_a_tools_own_table_says_nothing(
    tmp_path: Path,
) -> None:
    said = settings(
        tmp_path,
        '[[servers]]\nid = "files"\ncommand = "true"\n[servers.tools."*"]\napprover = "operator"\n'
        '[servers.tools.read]\nrisk_level = "safe"\n',
    )
    assert rules_of(said)(Target("files", "write")) == Rule("operator", 1)
    assert rules_of(said)(Target("files", "read")) == Rule("operator", 1)
    assert rules_of(said)(Target("other", "write")) == Rule("either", 1)
    assert by_operators(said)
    assert by_operators(settings(tmp_path, ""))
    assert not by_operators(settings(tmp_path, '[approvals]\napprover = "caller"\n'))


async def test_the_queue_has_the_times_of_the_configuration_and_takes_others(
    tmp_path: Path,
) -> None:
    found = settings(tmp_path)
    desk = approval_queue_of(found, state_in(tmp_path), nothing)
    assert (desk.lasts_s, desk.tell, queue_of(found, desk, nowhere).hold_s) == (60, None, 3)
    other = settings(tmp_path, '[approvals]\nwebhook = "http://127.0.0.1:1/"\n')
    offered = [desk.offered]
    adopt(desk, settings(tmp_path, '[approvals]\napprover = "caller"\n'))
    assert [*offered, desk.offered] == [True, False]
    adopt(desk, other)
    assert (desk.lasts_s, desk.tell is None) == (3600, False)
    assert queue_of(other, desk, nowhere).policy("x") != queue_of(found, desk, nowhere).policy("x")
    desk.close()


def an_approval(folder: Path) -> Approval:
    store = Voting(state_in(folder), clock=lambda: 100.0, random=os.urandom)
    asked = Asked("ann", "files", "wipe", "a" * 64, "d" * 64, "p1")
    made = store.ask(
        asked, arguments='{"k":"v"}', risk="dangerous", reason="r", quorum=1, lasts_s=60
    )
    store.close()
    assert made is not None
    return made


class Hook:
    """A web server that is told, and answers with one status after the other."""

    def __init__(self, *statuses: int) -> None:
        self.statuses = list(statuses)
        self.told: list[Any] = []

    async def __aenter__(self) -> str:
        app = web.Application()
        app.router.add_post("/hook", self._post)
        self._runner = web.AppRunner(app)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        port = site._server.sockets[0].getsockname()[1]  # type: ignore[union-attr]
        return f"http://127.0.0.1:{port}/hook"

    async def __aexit__(self, *exc: object) -> None:
        await self._runner.cleanup()

    async def _post(self, request: web.Request) -> web.Response:
        self.told.append(json.loads(await request.text()))
        return web.Response(status=self.statuses.pop(0))


async def test_a_webhook_is_told_what_helps_to_decide_and_no_argument(tmp_path: Path) -> None:
    made, hook = an_approval(tmp_path), Hook(204)
    async with hook as url:
        async with asyncio.timeout(10):
            await webhook(url, plain)(made)
    (told,) = hook.told
    assert told["event"] == "approval.requested"
    assert told["approval"]["id"] == made.id
    assert told["decide"] == f"gatewright approve {made.id}"
    assert '"v"' not in json.dumps(told)


class Pauses:
    """How long somebody would have slept, and how often the hook was told by then."""

    def __init__(self, hook: Hook) -> None:
        self.hook = hook
        self.slept: list[tuple[int, bool]] = []

    async def __call__(self, seconds: float) -> None:
        self.slept.append((len(self.hook.told), seconds > 0))


async def test_a_webhook_that_fails_is_tried_again_after_a_pause(tmp_path: Path) -> None:
    hook = Hook(500, 200)
    pauses = Pauses(hook)
    async with hook as url:
        await webhook(url, plain, sleep=pauses)(an_approval(tmp_path))
    assert len(hook.told) == 2
    assert pauses.slept == [(1, True)]


async def test_a_webhook_that_nobody_answers_at_is_tried_again_after_a_pause(
    tmp_path: Path,
) -> None:
    pauses = Pauses(Hook())
    await webhook("http://127.0.0.1:1/", plain, sleep=pauses)(an_approval(tmp_path))
    assert pauses.slept == [(0, True), (0, True)]


async def test_a_webhook_that_goes_on_failing_is_a_line_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hook = Hook(500, 503, 500)
    made = an_approval(tmp_path)
    with caplog.at_level(logging.WARNING):
        async with hook as url:
            await webhook(url, plain, sleep=Pauses(hook))(made)
    assert len(hook.told) == 3
    assert f"the webhook was not told of {made.id}: HTTP 500" in caplog.text
