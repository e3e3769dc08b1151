"""500 hostile texts in everything that a server, an agent or a caller may write, shown by every page of the console: none becomes
markup, none hides, none breaks the page."""

from __future__ import annotations

import asyncio
import json
import sys
from hashlib import sha256
from pathlib import Path
from urllib.parse import quote

from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Asked
from gatewright.audit.records import Actor, Subject
from gatewright.call import Call, Caller, Client, Refusal
from gatewright.rooms.hub import Hub, NoPlace
from gatewright.rooms.in_process import Inside
from gatewright.rooms.participants.tool_responder import Tools
from gatewright.rooms.policy import Identity
from tests.console.hostile import Looked, hostile_texts, look_at
from tests.console.in_process import Client as Person
from tests.console.in_process import Within, within

SERVER = Path(__file__).parents[1] / "tool_servers/hostile_words.py"
TEXTS = hostile_texts()
_PAGES = 400
"""Looked at, at most."""


def _configuration(folder: Path) -> str:
    words = folder / "words.json"
    words.write_text(json.dumps(TEXTS), encoding="utf-8")
    agents = "".join(
        f'[[grants]]\nagent = {json.dumps(_name(text))}\nserver = "words"\njustification = {_toml(text)}\n'
        for text in TEXTS[10:40]
    )
    return f'[rooms]\n{agents}[[servers]]\nid = "words"\ncommand = "{sys.executable}"\nargs = ["{SERVER}", "{words}"]\n[[grants]]\nagent = "*"\nserver = "words"\n'


def _toml(text: str) -> str:
    whole = text[:2000].encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def _name(text: str) -> str:
    """As names are taken: in a line, without what shows nothing."""
    return "".join(one for one in text if one.isprintable())[:120].strip()


async def _talk(console: Within) -> None:
    """What agents say in a room, also as proposals, under names of their own."""
    hub = console.parts.ground.of(Hub)
    assert hub is not None
    for number in range(0, 500, 10):
        identity = Identity(f"{_name(TEXTS[number])[:60]} {number}", ("mcp/*", "chat"))
        bot = Inside(
            hub, topic="words", name=identity.id, responder=Tools("bot"), identity=identity
        )
        try:
            bot.sit()
        except NoPlace:  # nobody may be called so
            continue
        await bot.participant.welcomed()
        for text in (one[:4000] for one in TEXTS[number : number + 10]):
            bot.participant.chat(text.encode("utf-8", "replace").decode())
            params = {"name": text[:200], "arguments": {text[:200]: text}}
            clean = json.loads(json.dumps(params).encode("utf-8", "replace"))
            if text.isascii():
                bot.participant.propose("tools/call", clean, to=["gatewright"])
            await asyncio.sleep(0)


def _fill(console: Within) -> None:
    """What no server says: records, requests, keys."""
    ground = console.parts.ground
    queue = ground.of(ApprovalQueue)
    assert queue is not None
    for number, text in enumerate(TEXTS):
        short = text[:2000]
        if number % 3 == 0:
            whole = text.encode("utf-8", "replace").decode()  # as the store takes it
            said = whole[:2000]
            arguments = json.dumps({said: whole[:16_000], "b": [said]}, ensure_ascii=False)
            asked = Asked(said, said, said, sha256(arguments.encode()).hexdigest())
            queue.ask(asked, arguments=arguments, risk="dangerous", reason=whole, quorum=1)
        ground.audit.event(
            "dev.gatewright.performance",
            actor=Actor("agent", short, short),
            target=Subject(short, short, short),
            outcome="denied",
            details={
                "reason": short,
                "access": short,
                "confirmed_by": short,
                "redacted": {short: 2},
                "injection": {"marks": [short], "tool": short},
                "flow": {"untrusted": short, "private": short},
                f"k{short}": [short, {"x": short}],
            },
            trace_id=f"trace {short}",
        )
        _call(console, number, short)


def _call(console: Within, number: int, text: str) -> None:
    """A call as an agent may make it, refused."""
    call = Call(
        id=f"call-{number}",
        door="http",
        kind="tool",
        method=text,
        name=text,
        params={"name": text, "arguments": {text: text}},
        caller=Caller(text, "agent", "key"),
        client=Client("2025-11-25", info={"name": text, "version": text}),
        trace_id=f"{number:032x}",
        facts={
            "access": text,
            "redacted": {text: 2},
            "injection": [text],
            "flow": {"untrusted": text, "private": text},
            "validator_applied": text,
            "permissions_used": [text],
            "confirmed_by": text,
        },
    )
    log = console.parts.ground.audit
    log.open(call).close(call, Refusal("tool_not_found", text, gate="resolve"))


async def _walk(person: Person, console: Within) -> tuple[int, int, list[str]]:
    """Every page that pages lead to: how many, how many marks they show, and what is wrong."""
    known = {
        page.path for screen in console.screens for page in screen.pages if page.method == "GET"
    }
    waiting = sorted(one for one in known if "{" not in one)
    waiting += [
        f"/access?open_agent={quote(_name(one))}&open_server=words&open_tool=tool0"
        for one in TEXTS[10:40]
    ]
    seen, marks, wrong = set(waiting), 0, list[str]()
    looked = 0
    by_shape: dict[str, int] = {}
    while waiting and looked < _PAGES:
        way = waiting.pop(0)
        answer = await person.get(way)
        looked += 1
        if answer.status >= 500:
            wrong.append(f"{way[:100]}: {answer.status}")
        if "text/html" not in (answer.headers["content-type"] or ""):
            continue
        found: Looked = look_at(answer.text)
        marks += found.marks
        wrong += [f"{way[:100]}: {one}" for one in found.wrong]
        for one in sorted(found.ways - seen):
            shape = one.partition("?")[0].split("/")[1]
            by_shape[shape] = by_shape.get(shape, 0) + 1
            if by_shape[shape] <= 60 and not one.startswith(("/static/", "/api/")):
                seen.add(one)
                waiting.append(one)
    return looked, marks, wrong


async def test_no_hostile_text_becomes_more_than_text(tmp_path: Path) -> None:
    async with within(tmp_path, _configuration(tmp_path)) as console:
        assert len(console.parts.ground.now.catalogue().shelf("words").tools) > 100
        _fill(console)
        person = await console.person("operator", TEXTS[3])
        listener = await console.person("operator", "listener")
        assert (await listener.api("POST", "/rooms/join", {"topic": "words"})).status == 200
        await _talk(console)
        room = look_at((await listener.get("/rooms?topic=words")).text)
        assert room.wrong == []
        assert room.marks > 50
        looked, marks, wrong = await _walk(person, console)
        assert wrong == []
        assert looked > 60
        assert marks > 1000


async def test_errors_and_the_sign_in_page_show_texts_too(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        person, nobody = await console.person("operator"), console.nobody()
        for whole in TEXTS[::7]:
            text = quote(whole[:4000], safe="", errors="replace")
            for client, way in (
                (person, f"/inbox/{text}"),
                (person, f"/audit?add={text}%3Ax"),
                (person, f"/audit?agent={text}&tool={text}"),
                (person, f"/audit?since={text}"),
                (person, f"/audit?trace={text}"),
                (nobody, f"/sign-in?next={text}"),
                (nobody, f"/{text}"),
            ):
                cookies = {
                    "Cookie": f"{client.cookie}; theme={quote(whole[:50], errors='replace')}"
                }
                answer = await client.get(way, cookies)
                assert answer.status < 500, way
                if "text/html" in (answer.headers["content-type"] or ""):
                    assert look_at(answer.text).wrong == [], way


def test_the_parser_finds_what_it_is_for() -> None:
    for page in (
        "<p><zq1zq>x</p>",
        "<p zq1zq=1>x</p>",
        "<p onclick=x>x</p>",
        "<a href='javascript:x'>x</a>",
        "<a href='//x'>x</a>",
        "<p>\u202e</p>",
        "<p title='\u200b'>x</p>",
        "<p><b></p></b>",
        "<p>",
        "<!-- x -->",
        "<script>x</script>",
        "<p style='x'>x</p>",
    ):
        assert look_at(page).wrong, page
    assert look_at("<p title='a'>zq1zq &lt;b&gt;</p>").wrong == []
    assert len({one for one in TEXTS if "zq" in one}) == 500
