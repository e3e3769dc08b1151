"""Every place in the console's templates that shows what others wrote, fed with hostile texts: none becomes markup, hides, or breaks the page.

The places are read out of the templates, so that a new one is in it by itself: it fails until a page is made that shows it (`made_views`).
With `GATEWRIGHT_HOSTILE_TEXTS=500` every place shows each of the 500 texts, and so does every value that no filter goes over.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Asked
from gatewright.audit.records import Actor, Subject
from gatewright.console.people import Person
from gatewright.console.rendering import environment
from gatewright.console.screen import Copies
from gatewright.rooms.hub import Hub
from gatewright.rooms.in_process import Inside
from gatewright.rooms.orchestrator_seat import RULES
from gatewright.rooms.participants.rules import Rule, RuleBook
from gatewright.rooms.participants.tool_responder import Tools
from gatewright.rooms.policy import Identity
from tests.console.filled import said_in
from tests.console.hostile import EVERY_SHAPE, hostile_texts, look_at
from tests.console.hostile_places import Places
from tests.console.in_process import Client, Within, within
from tests.console.made_views import made_views
from tests.console.running import DEMO, ROOT

TEXTS = hostile_texts()
_VALUE_CHARS = 3_000
"""Of a value that no filter goes over, at most: what a form gave, which is bounded where it is read."""
_WHERE = {"agent": "*", "server": "demo", "tool": "echo"}
_FED = 140
"""Places, at least, that pages of a running gateway show here."""
_ROUNDS = int(os.environ.get("GATEWRIGHT_HOSTILE_TEXTS", "0")) or EVERY_SHAPE
"""So many texts in every place: all shapes of them, unless all texts are asked for."""
_OURS = re.compile(r'command\("[^"{}]*"\)')
"""Not fed: a command that stands in the template, in which nobody's text is."""
_CONFIG = """
[limits.calls.caller]
per_minute = 1000
[rooms]
default_profile = "full"
[rooms.orchestrator]
topics = ["deploys"]
people = ["boss"]
[[servers]]
id = "held"
command = "{python}"
args = ["{root}/examples/demo_server.py"]
pin = "approve"
[[servers]]
id = "broken"
command = "{python}"
args = ["-c", "import sys; sys.exit('it broke')"]
[[grants]]
agent = "ann"
server = "demo"
tool = "echo"
justification = "she asked"
"""


def _asked(console: Within) -> str:
    """A request that waits for a person."""
    queue = console.parts.ground.of(ApprovalQueue)
    assert queue is not None
    made = queue.ask(
        Asked("ann", "demo", "write_note", "d" * 64),
        arguments='{"name": "a", "text": "b"}',
        risk="moderate",
        reason="its tool asks for a person",
        quorum=2,
    )
    assert made is not None
    return made.id


@asynccontextmanager
async def _running(console: Within, boss: Client) -> AsyncIterator[None]:
    """While inside, a call waits in a gate."""
    fields = {"server": "demo", "tool": "write_note", "arguments": '{"name": "x", "text": "y"}'}
    call = asyncio.create_task(boss.form("/tools/try", fields))
    async with asyncio.timeout(20):
        while not (await boss.api("GET", "/calls/running")).json()["calls"]:
            await asyncio.sleep(0.02)
    yield
    call.cancel()
    await asyncio.wait([call])


async def _room(console: Within, boss: Client) -> None:
    rules = RuleBook()
    rule = Rule(
        id="",
        action="ask",
        pattern="mcp/request:*",
        by="boss",
        where={"arguments.path": "/srv/*"},
        evidence={"approved": "three times"},
    )
    rules.add(rule)
    rules.stop("mallory", "it went wild")
    folder = console.parts.ground.settings.storage.path / RULES
    folder.mkdir(exist_ok=True)
    (folder / "deploys.json").write_bytes(rules.text)
    await boss.api("POST", "/rooms/join", {"topic": "deploys"})
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    identity = Identity("bot", ("mcp/*", "chat"))
    bot = Inside(hub, topic="deploys", name="bot", responder=Tools("bot"), identity=identity)
    bot.sit()
    await bot.participant.welcomed()
    bot.participant.chat("hello")
    for name in ("one", "two"):
        params = {"name": name, "arguments": {"a": "b"}}
        proposal = bot.participant.propose("tools/call", params, to=["boss"])
        bot.participant.chat("dry run of it", about=proposal.id)
    async with asyncio.timeout(20):
        while (
            len(found := (await boss.api("GET", "/rooms/talk?topic=deploys")).json()["proposals"])
            < 2
        ):
            await asyncio.sleep(0.02)
    decision = {"topic": "deploys", "proposal": found[0]["id"], "do": "reject", "reason": "no"}
    await boss.api("POST", "/rooms/proposals", decision)


def _record(console: Within) -> None:
    """What is in the record of other gates and kinds."""
    console.parts.ground.audit.event(
        "dev.gatewright.performance",
        actor=Actor("agent", "ann", "key"),
        target=Subject("demo", "echo", "echo"),
        outcome="denied",
        details={"reason": "rate", "confirmed_by": "boss", "redacted": {"secret": 1}, "x": "y"},
    )


class Pages:
    """What was made of texts on the pages of one console, looked at with a parser."""

    def __init__(self, console: Within, person: Client) -> None:
        self._console = console
        self._person = person
        self.wrong: list[str] = []
        self.made = 0

    async def get(self, *ways: str) -> None:
        """Pages by their URLs."""
        for way in ways:
            self._look(way, await self._person.get(way))

    async def post(self, way: str, **fields: str) -> None:
        """What a form is answered with."""
        self._look(way, await self._person.form(way, fields))

    def _look(self, way: str, answer: Any) -> None:
        self.made += 1
        if answer.status >= 500:
            self.wrong.append(f"{way}: {answer.status}")
        if "text/html" in (answer.headers["content-type"] or ""):
            self.wrong += [f"{way}: {one}" for one in look_at(answer.text).wrong]

    async def every(self) -> None:
        """Each screen, each list, and the first that each leads to."""
        pages = [one for screen in self._console.screens for one in screen.pages]
        await self.get(*(one.path for one in pages if one.method == "GET" and "{" not in one.path))


async def _walk(console: Within, pages: Pages, boss: Client) -> None:
    await pages.every()
    held = (await boss.api("GET", "/held-definitions")).json()["definitions"]
    newest_seq = (await boss.api("GET", "/audit")).json()["newest"]
    calls = (await boss.api("GET", "/calls")).json()["calls"]
    await pages.get(
        f"/inbox/{held[0]['id']}",
        "/inbox/none",
        "/inbox?agent=x&server=y&risk=z",
        f"/servers/held/pin?tool={held[0]['tool']}",
        "/servers/held",
        "/servers/demo",
        "/servers/broken",
        "/servers/broken/history",
        "/tools?q=text",
        "/tools/one?server=demo&tool=delete_all_notes",
        "/tools/one?server=held&tool=echo",
        "/access?open_agent=ann&open_server=demo&open_tool=echo",
        "/access?agent=x&find=y",
        "/rooms?topic=deploys",
        "/rooms/part?topic=deploys",
        "/audit?agent=x&trace=" + "0" * 32,
        "/sessions/run?agent=boss",
        "/connect/cursor/connecting?take_over=true",
        "/connect/cursor/importing",
        *(f"/live?open={one['id']}" for one in calls[:5]),
        *(f"/audit/{seq}" for seq in range(newest_seq, max(0, newest_seq - 30), -1)),
    )


async def _forms(pages: Pages, boss: Client, waiting: str, host: str) -> None:
    """What is answered to forms."""
    await pages.post("/tools/try", server="demo", tool="read_note", arguments='{"name": "x"}')
    await pages.post("/tools/try", server="demo", tool="count", arguments='{"to": 2}')
    await pages.post("/tools/try", server="demo", tool="none", arguments="{}")
    await pages.post(f"/inbox/{waiting}/difference", edited='{"other": 1}')
    await pages.post(f"/inbox/{waiting}/difference", edited="{")
    asked = "/access/cell?open_agent=%2A&open_server=demo&open_tool=echo"
    for act, do in (("plan", "deny"), ("save", "deny")):
        version = (await boss.api("GET", asked)).json()["version"]
        change = {**_WHERE, "do": do, "why": "x", "version": version}
        await pages.post(f"/access/{act}", **change)
    await pages.get("/access", asked.replace("/access/cell", "/access"))
    await pages.post("/connect/from/plan", text=host, path="")
    await pages.post("/health/verify")
    await pages.post("/health/look")


async def test_every_place_that_shows_foreign_text_shows_it_as_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / ".cursor").mkdir()
    host = json.dumps(
        {"mcpServers": {"notes": {"command": "true", "env": {"API_KEY": "secret-value"}}}}
    )
    (tmp_path / ".cursor/mcp.json").write_text(host)
    config = _CONFIG.format(python=sys.executable, root=ROOT) + DEMO
    async with within(tmp_path, config) as console:
        places = Places(vars(console.site)["_templates"], TEXTS)
        boss = await console.person("operator", "boss")
        pages = Pages(console, boss)
        await _room(console, boss)
        _record(console)
        waiting = _asked(console)
        await pages.get(f"/inbox/{waiting}", f"/inbox/batch?of={waiting}:x")
        await _forms(pages, boss, waiting, host)
        async with _running(console, boss):
            await _walk(console, pages, boss)
        await pages.post(f"/inbox/{waiting}/deny", comment="no")
        await pages.get(f"/inbox/{waiting}", f"/inbox/list?open={waiting}&shown={waiting}&since=1")
        for _ in range(4):
            await _walk(console, pages, boss)
        assert pages.wrong == []
        assert sum(count > 0 for count in places.shown.values()) >= _FED


def _value(text: str) -> str:
    """As it is read and kept: nothing that is no Unicode gets so far."""
    return text[:_VALUE_CHARS].encode("utf-8", "replace").decode()


def test_every_place_takes_every_shape_of_text() -> None:
    """With made up values, of which each text that is not the gateway's own is hostile: so a page fails as well that shows it unfiltered."""
    made = environment(lambda: 1.0, lambda name: f"/static/{name}")
    places = Places(made, TEXTS)
    boss = Person("boss", "operator", "url")
    page: dict[str, Any] = {
        "person": boss,
        "may": boss.may,
        "screen": SimpleNamespace(name="x"),
        "screens": (),
    }
    page |= {"csrf": "c", "session": "s", "since": 0, "now": 1.0, "theme": "", "copies": Copies()}
    page |= {"base": "http://x", "version": "1", "topics": ""}
    wrong, views = set[str](), [*made_views()]
    for text in TEXTS[:_ROUNDS]:
        for name, values in views:
            given = said_in({**page, **values}, _value(text))
            shown = look_at(made.get_template(name).render(given))
            wrong |= {f"{name}: {one}" for one in shown.wrong}
    assert sorted(wrong) == []
    few = [place for place, count in places.shown.items() if count < _ROUNDS]
    assert [one for one in few if not _OURS.fullmatch(one.partition(": ")[2])] == []
