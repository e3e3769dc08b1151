"""Screen `inbox` by its API and pages, with a whole gateway: what a person is shown of a call, and what a role may not do."""

from __future__ import annotations

import contextlib
import html
import http.server
import json
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from gatewright.approvals.queue import ApprovalQueue
from gatewright.approvals.request import Asked
from gatewright.console.held_definitions import held_id
from gatewright.console.screens.inbox import Several
from gatewright.pins.decisions import Decisions
from gatewright.pins.store import Seen
from tests.console.asking import Api, signed_in
from tests.console.in_process import within
from tests.console.running import DEMO, Console, eventually, running
from tests.storage.parts import operators_in


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("console")


@pytest.fixture(scope="module")
def key(folder: Path) -> str:
    """An operator's, made before the gateway runs for the first time."""
    config = folder / "first.toml"
    config.write_text(f'[storage]\npath = "{folder}/state"\n')
    words = ["key", "create", "olga", "--operator", "--config", str(config)]
    made = subprocess.run(
        [sys.executable, "-m", "gatewright", *words], capture_output=True, text=True, check=True
    )
    return made.stdout.strip()


@pytest.fixture(scope="module")
def console(folder: Path, key: str) -> Iterator[Console]:
    with running(folder, gateway='operators = "key"') as found:
        yield found


@pytest.fixture(scope="module")
def api(console: Console, key: str) -> Api:
    return Api(console, {"Authorization": f"Bearer {key}"})


def the_one(api: Api) -> dict[str, Any]:
    """The request that waits, once there is one."""
    eventually(lambda: len(api.get("/approvals")["approvals"]) == 1)
    found: dict[str, Any] = api.get("/approvals")["approvals"][0]
    return found


def test_a_request_says_what_is_known_of_its_call(api: Api, console: Console) -> None:
    with console.calling("demo__write_note", name="a", text="b") as call:
        one = the_one(api)
        found = api.get(f"/approvals/{one['id']}")
        assert found["request"] == one
        assert found["rule"] == "confirmation_required of demo/write_note"
        assert found["call"]["program"].startswith("gatewright-cli")
        states = {gate["gate"]: gate["state"] for gate in found["gates"]}
        before = list(states).index("confirm")  # in a shadowed run it is not the last
        assert set(list(states.values())[:before]) == {"passed"}
        assert states["confirm"] == "waits"
        said = api.post(f"/approvals/{one['id']}/approve", digest=one["digest"])
        assert (said["state"], said["by"]) == ("approved", "olga")
        assert "written" in call.communicate(timeout=20)[0]


def test_a_viewer_sees_and_decides_on_nothing(api: Api, console: Console) -> None:
    """By the URL alone nobody decides either, where keys are the only proof."""
    viewer = signed_in(console)
    with console.calling("demo__write_note", name="c", text="d"):
        one = the_one(api)
        assert viewer.get("/approvals")["approvals"] == [one]
        for path, given in (
            (f"{one['id']}/approve", {"digest": one["digest"]}),
            (f"{one['id']}/deny", {"comment": "no"}),
            (f"{one['id']}/difference", {"edited": "{}"}),
            ("decisions", {"of": [{"id": one["id"]}], "approve": False, "comment": "no"}),
        ):
            found = viewer.post(f"/approvals/{path}", **given)
            assert (found["status"], found["code"]) == (403, "role"), path
        for act in ("accept", "refuse"):
            assert viewer.post(f"/held-definitions/df_1/{act}", digest="x")["status"] == 403
        assert api.post(f"/approvals/{one['id']}/deny", comment="enough")["state"] == "denied"


def test_a_form_names_several_with_what_was_looked_at() -> None:
    several = Several(of="ap_1:aa ap_2:bb ap_3")
    assert [(one.id, one.digest) for one in several.looked] == [
        ("ap_1", "aa"),
        ("ap_2", "bb"),
        ("ap_3", ""),
    ]


def test_the_webhook_is_told_where_to_look(tmp_path: Path) -> None:
    """In the console that is served."""
    with hook() as (url, told):
        text = f'{DEMO}\n[approvals]\nwebhook = "{url}"\nwebhook_format = "slack"\n'
        with (
            running(tmp_path, text) as console,
            console.calling("demo__write_note", name="a", text="b"),
        ):
            eventually(lambda: len(told) == 1)
            one = Api(console).get("/approvals")["approvals"][0]
            assert f"{console.url}/inbox/{one['id']}" in told[0]


@contextlib.contextmanager
def hook() -> Iterator[tuple[str, list[str]]]:
    """A web server that is told; its URL, and the bodies of what it was told."""
    told: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            told.append(self.rfile.read(int(self.headers["content-length"])).decode())
            self.send_response(204)
            self.end_headers()

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", told
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def test_what_is_not_shown_whole_has_no_button_that_approves_it(tmp_path: Path) -> None:
    """Alone, where not all of it is kept; among others, also where it hides much."""
    async with within(tmp_path) as console:
        queue = console.parts.ground.of(ApprovalQueue)
        assert queue is not None
        hides = json.dumps({"a": "\u202e\u200b" * 150}, ensure_ascii=False)
        asked = {}
        for name, text in (
            ("plain", "{}"),
            ("long", f'{{"a":"{"x" * 20_000}"}}'),
            ("hides", hides),
        ):
            said = Asked("ann", "demo", name, sha256(text.encode()).hexdigest())
            made = queue.ask(said, arguments=text, risk="moderate", reason="x", quorum=1)
            assert made is not None
            asked[name] = made
        olga = await console.person("operator", "olga")
        pages = {name: (await olga.get(f"/inbox/{one.id}")).text for name, one in asked.items()}
        may = {name: "Approve once" in page for name, page in pages.items()}
        assert may == {"plain": True, "long": False, "hides": True}
        assert "nobody can approve it here" in pages["long"]
        assert pages["hides"].count("U+202E") >= 150
        of = "%20".join(f"{one.id}:{one.runs}" for one in asked.values())
        batch = (await olga.get(f"/inbox/batch?of={of}")).text
        assert "1 requests" in batch
        assert "2 of those that were selected hide too much" in batch
        assert asked["plain"].id in batch
        assert asked["long"].id not in batch


async def test_nothing_that_is_approved_stands_behind_a_click_or_is_cut(tmp_path: Path) -> None:
    """Alone and among others; nor is the name of what would run."""
    async with within(tmp_path) as console:
        queue = console.parts.ground.of(ApprovalQueue)
        assert queue is not None
        text = json.dumps({"a": "x" * 5000 + " and its end"})
        tool = "t" * 300 + "_wipe"
        said = Asked("ann", "demo", tool, sha256(text.encode()).hexdigest())
        made = queue.ask(said, arguments=text, risk="moderate", reason="x", quorum=1)
        assert made is not None
        olga = await console.person("operator", "olga")
        alone = (await olga.get(f"/inbox/{made.id}")).text
        among = (await olga.get(f"/inbox/batch?of={made.id}:{made.runs}")).text
        for page in (alone, among):
            assert "<details" not in page.partition("What each gate said")[0]
            assert page.count(" and its end") >= 1
            assert tool in page


async def test_nobody_is_offered_to_decide_on_their_own_call(tmp_path: Path) -> None:
    async with within(tmp_path) as console:
        queue = console.parts.ground.of(ApprovalQueue)
        assert queue is not None
        own = Asked("olga", "demo", "write", "d" * 64, kind="operator")
        made = queue.ask(own, arguments="{}", risk="moderate", reason="x", quorum=1)
        assert made is not None
        olga, bob = (
            await console.person("operator", "olga"),
            await console.person("operator", "bob"),
        )
        mine, his = [(await one.get(f"/inbox/{made.id}")).text for one in (olga, bob)]
        assert ("Approve once" in mine, "Deny" in mine, "data-pick" in mine) == (
            False,
            False,
            False,
        )
        assert ("Approve once" in his, "Deny" in his, "data-pick" in his) == (True, True, True)
        assert "somebody else has to decide" in mine
        assert 'href="/live/running?agent=olga"' in mine


async def test_the_last_decision_is_said_where_nothing_is_left(tmp_path: Path) -> None:
    """Among others a line above them would move what is under the pointer."""
    async with within(tmp_path) as console:
        queue = console.parts.ground.of(ApprovalQueue)
        assert queue is not None
        operators_in(console.parts.ground.database, "bob")
        bob = await console.person("operator", "bob")
        said = list[bool]()
        asked = [Asked("ann", "demo", f"write{one}", "d" * 64) for one in range(2)]
        waiting = [
            queue.ask(one, arguments="{}", risk="moderate", reason="x", quorum=1) for one in asked
        ]
        for one in waiting:
            assert one is not None
            page = (await bob.form(f"/inbox/{one.id}/approve", {"digest": one.runs})).text
            said.append(f"Approved: demo / {one.tool}." in page)
        assert said == [False, True]


def copied(page: str) -> list[str]:
    """What the footer copies, as a page says it or as what is fetched puts it there."""
    begins, ends = ("<footer", "</footer") if "<footer" in page else ('id="copies-now"', "</div")
    part = page.rpartition(begins)[2].partition(ends)[0]
    return [html.unescape(one) for one in re.findall(r'data-copy="([^"]*)"', part)]


async def test_what_changed_again_is_accepted_by_no_copied_call_until_it_is_looked_at(
    tmp_path: Path,
) -> None:
    """As by no button. The command names no digest: it shows what there is now."""
    async with within(tmp_path) as console:
        store = vars(console.parts.ground.of(Decisions))["_store"]
        for says in ("one", "two", "three"):
            seen = Seen("wipe", json.dumps({"description": says}), f"digest-{says}")
            store.judge("files", [seen], ask_first=False)
        id = held_id("files", "wipe")
        olga = await console.person("operator", "olga")
        first = (await olga.get(f"/inbox/{id}")).text
        assert [("accept" in one, "digest-three" in one) for one in copied(first)] == [
            (False, False),
            (True, True),
        ]
        again = (await olga.get(f"/inbox/list?open={id}&looked={id}:digest-two")).text
        assert "I have looked at it again" in again
        (command,) = copied(again)
        assert command.endswith("server pin files wipe")
        same = (await olga.get(f"/inbox/list?open={id}&looked={id}:digest-three")).text
        assert "digest-three" in copied(same)[1]


async def test_what_somebody_else_decided_is_approved_by_nothing_that_is_copied(
    tmp_path: Path,
) -> None:
    async with within(tmp_path) as console:
        queue = console.parts.ground.of(ApprovalQueue)
        assert queue is not None
        operators_in(console.parts.ground.database, "bob")
        said = Asked("ann", "demo", "write", "d" * 64)
        made = queue.ask(said, arguments="{}", risk="moderate", reason="x", quorum=1)
        assert made is not None
        olga, bob = [await console.person("operator", one) for one in ("olga", "bob")]
        before = copied((await olga.get(f"/inbox/list?open={made.id}")).text)
        assert all(made.runs in one for one in before)
        await bob.form(f"/inbox/{made.id}/deny", {"comment": "no"})
        after = (await olga.get(f"/inbox/list?open={made.id}")).text
        assert "Nothing is left to decide here" in after
        assert not any(made.id in one for one in copied(after))
        assert len(copied(after)) == 2
