"""The page on which an operator decides: who may, for how long, and that nothing else is on it."""

from __future__ import annotations

import json
import os
import re
from hashlib import sha256
from html import unescape
from typing import Any
from urllib.parse import urlencode

import pytest
from msgspec.structs import replace

from gatewright.approvals import endpoint
from gatewright.approvals.endpoint import ApprovalPage
from gatewright.approvals.request import Approval, Asked, CannotDecideError, Voter
from gatewright.approvals.shown_arguments import shown
from gatewright.call import Caller, Refusal
from gatewright.mcp.server.http_request import Connection
from gatewright.secret_scanning.escape_invisible import is_unseen
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge
from tests.audit.parts import approval

ARGUMENTS = '{"path":"/<b>\\u202e"}'
CALL = Asked("ann", "files", "wipe", sha256(ARGUMENTS.encode()).hexdigest())
BASE = "http://127.0.0.1:8420"
HERE = ("127.0.0.1", 5)
KEYS = {"op": Caller("olga", "operator", "k1"), "agent": Caller("ann")}


class Queue:
    """One request, and what was decided on it."""

    def __init__(self, asked: Asked = CALL) -> None:
        self.one = approval(asked, arguments=ARGUMENTS, reason="it is dangerous", risk="dangerous")
        self.said: list[tuple[bool, str, str, str]] = []

    def get(self, id: str) -> Approval | None:
        return self.one if id == self.one.id else None

    def decide(
        self, id: str, yes: bool, *, by: Voter, seen: str, comment: str = "", edited: str = ""
    ) -> Approval:
        assert seen == self.one.arguments
        if by.name == self.one.agent:
            raise CannotDecideError("own", "somebody else has to decide")
        assert by.key == "k1", "the key that was shown"
        self.said.append((yes, by.name, comment, edited))
        self.one = replace(self.one, state="approved" if yes else "denied", by=by.name)
        return self.one


class World:
    def __init__(self, asked: Asked = CALL) -> None:
        self.queue = Queue(asked)
        self.page = ApprovalPage(self.queue, self.identify, os.urandom)
        self.page.reached_at(BASE)
        self.path = self.page.url(self.queue.one).removeprefix(BASE)

    @staticmethod
    def identify(door: str, key: str | None) -> Caller | Refusal:
        return KEYS.get(key or "") or Refusal("auth_failed", "no")

    async def ask(
        self, method: str = "GET", path: str | None = None, client: Any = HERE, **form: str
    ) -> tuple[int, dict[bytes, bytes], str]:
        return await self.post(
            urlencode({"seen": CALL.arguments_digest, **form}).encode(), method, path, client
        )

    async def post(
        self, body: bytes, method: str = "POST", path: str | None = None, client: Any = HERE
    ) -> tuple[int, dict[bytes, bytes], str]:
        sent: list[dict[str, Any]] = []

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return {"type": "http.request", "body": body}

        scope = {"method": method, "path": path or self.path, "client": client, "headers": []}
        await self.page(Connection(scope, receive, send, None))
        return sent[0]["status"], dict(sent[0]["headers"]), sent[1]["body"].decode()


@pytest.fixture
def world() -> World:
    return World()


async def test_the_request_is_shown_with_nothing_hidden_and_nothing_loaded(world: World) -> None:
    status, headers, page = await world.ask()
    assert status == 200
    for words in ("ann", "run files/wipe", "it is dangerous", CALL.arguments_digest[:16]):
        assert words in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page
    policy = headers[b"content-security-policy"].decode()
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "frame-ancestors 'none'" in policy
    assert headers[b"cache-control"] == b"no-store"
    assert "<script" not in page
    assert "http" not in page.replace("http-equiv", "")


async def test_the_page_says_what_of_long_arguments_it_does_not_show(world: World) -> None:
    assert "Not shown" not in (await world.ask())[2]
    world.queue.one = replace(world.queue.one, arguments=shown('{"path":"' + "x" * 20_000 + '"}'))
    _, _, page = await world.ask()
    assert "Not shown: of 20011 characters of arguments the first 16384 are kept here" in page
    assert "Other arguments" not in page


async def test_what_is_not_shown_whole_is_denied_and_never_approved(world: World) -> None:
    world.queue.one = replace(world.queue.one, arguments=shown('{"a":"' + "x" * 20_000 + '"}'))
    seen = sha256(world.queue.one.arguments.encode()).hexdigest()
    page = (await world.ask())[2]
    assert ("value=deny>" in page, "value=approve>" in page) == (True, False)
    found = await world.ask("POST", key="op", decision="approve", seen=seen)
    assert (found[0], world.queue.said) == (409, [])
    assert (await world.ask("POST", key="op", decision="deny", seen=seen))[0] == 200


async def test_an_operators_key_decides_once(world: World) -> None:
    status, _, page = await world.ask(
        "POST", key="op", decision="approve", comment="fine", edited=ARGUMENTS
    )
    assert (status, world.queue.said) == (200, [(True, "olga", "fine", "")])
    assert "may run files/wipe" in page
    assert (await world.ask())[0] == 404
    assert (await world.ask("POST", key="op", decision="deny"))[0] == 404
    assert len(world.queue.said) == 1


async def test_a_no_and_other_arguments_reach_the_queue() -> None:
    no, other = World(), World()
    await no.ask("POST", key="op", decision="deny", comment="not now")
    assert no.queue.said == [(False, "olga", "not now", "")]
    await other.ask("POST", key="op", decision="approve", edited='{"path":"/tmp"}')
    assert other.queue.said == [(True, "olga", "", '{"path":"/tmp"}')]


@pytest.mark.parametrize("key", ["", "agent", "nonsense"])
async def test_the_address_alone_decides_nothing(world: World, key: str) -> None:
    """Whoever asked knows the address: it takes an operator's key."""
    status, _, page = await world.ask("POST", key=key, decision="approve")
    assert (status, world.queue.said) == (403, [])
    assert "key of an operator" in page


async def test_who_asked_does_not_decide_by_being_an_operator_too() -> None:
    world = World(Asked("olga", "files", "wipe", kind="operator"))
    status, _, page = await world.ask("POST", key="op", decision="approve")
    assert (status, world.queue.said) == (409, [])
    assert "somebody else has to decide" in page


@pytest.mark.parametrize("path", ["/approvals/", "/approvals/0", "/approvals/" + "0" * 64])
async def test_an_address_that_was_not_given_out_leads_nowhere(world: World, path: str) -> None:
    assert (await world.ask(path=path))[0] == 404
    assert (await world.ask("POST", path=path, key="op", decision="approve"))[0] == 404
    assert world.queue.said == []


@pytest.mark.parametrize("client", [("192.0.2.7", 5), None, ("nonsense", 1)])
async def test_other_machines_are_shown_nothing(world: World, client: Any) -> None:
    assert (await world.ask(client=client))[0] == 404


async def test_other_methods_are_refused(world: World) -> None:
    assert (await world.ask("PUT"))[0] == 405
    world.page.reached_at("")
    assert world.page.url(world.queue.one) == ""


async def test_a_yes_is_to_the_arguments_that_were_on_the_page(world: World) -> None:
    """With a quorum another operator may have written others meanwhile."""
    _, _, page = await world.ask()
    assert f"name=seen type=hidden value={CALL.arguments_digest}" in page
    world.queue.one = replace(world.queue.one, arguments='{"path":"/"}')
    status, _, page = await world.ask("POST", key="op", decision="approve")
    assert (status, world.queue.said) == (409, [])
    assert "changed since this page was shown" in page
    seen = sha256(b'{"path":"/"}').hexdigest()
    assert seen in page
    assert (await world.ask("POST", key="op", decision="approve", seen=seen))[0] == 200


HIDDEN = "\u202e\u2066\u200b\u061c\u3164\u034f\ufe0f\u2028\U000e0041\x1b"


async def test_no_place_of_the_page_shows_what_nobody_sees() -> None:
    """Each text that comes from a caller, and the place where it can be changed."""
    arguments = json.dumps({"path": f"/tmp/{HIDDEN}x"}, ensure_ascii=False)
    asked = Asked(f"ann{HIDDEN}", f"files{HIDDEN}", f"wipe{HIDDEN}", _sha(arguments))
    world = World(asked)
    world.queue.one = replace(
        world.queue.one, arguments=arguments, reason=f"why{HIDDEN}", risk=f"much{HIDDEN}"
    )
    status, _, page = await world.ask()
    assert status == 200
    assert "<textarea" in page
    assert not [f"{ord(one):x}" for one in page if is_unseen(one) and one != "\n"]
    shown = re.search("<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert shown is not None
    assert json.loads(unescape(shown[1])) == json.loads(arguments)
    seen = _sha(arguments)
    assert f"name=seen type=hidden value={seen}" in page  # of the raw value
    done = await world.ask(
        "POST", key="op", decision="approve", seen=seen, edited=unescape(shown[1])
    )
    assert done[0] == 200
    assert world.queue.said == [(True, "olga", "", "")]  # nothing was changed


async def test_a_refusal_shows_nothing_hidden_either() -> None:
    world = World(Asked("olga", "files", f"wipe{HIDDEN}", kind="operator"))
    _, _, page = await world.ask("POST", key="op", decision="approve")
    assert not [one for one in page if is_unseen(one) and one != "\n"]


def _sha(text: str) -> str:
    return sha256(text.encode()).hexdigest()


SEEN = sha256(ARGUMENTS.encode()).hexdigest()
FORM = {"key": "op", "decision": "deny", "seen": CALL.arguments_digest}


@pytest.mark.parametrize("length", [*range(2040, 2060), 5000])
@pytest.mark.parametrize("text", ["a+b&=%", "é", "\u200b", "%41"])
async def test_a_long_text_of_a_form_is_read_as_browsers_write_it(
    world: World, text: str, length: int
) -> None:
    """It is read a piece at a time, and no escape is cut in two."""
    comment = (text * length)[:length]
    assert (await world.ask("POST", comment=comment, **FORM | {"seen": SEEN}))[0] == 200
    assert world.queue.said[0][2] == comment


@pytest.mark.parametrize("body", [b"a=b&" * 17, b"&" * 1000, bytes(range(256)) * 100])
async def test_what_is_no_form_is_refused(world: World, body: bytes) -> None:
    status, _, said = await world.post(body)
    assert (status, "form" in said or "Not decided" in said) in {(400, True), (403, True)}
    assert world.queue.said == []


async def test_of_a_field_that_stands_twice_the_first_counts(world: World) -> None:
    body = urlencode(FORM | {"seen": SEEN}).encode() + b"&decision=approve&key=agent"
    assert (await world.post(body))[0] == 200
    assert world.queue.said[0][:2] == (False, "olga")


async def test_half_an_escape_is_read_as_it_stands(world: World) -> None:
    body = urlencode(FORM | {"seen": SEEN}).encode() + b"&comment=%" + b"%" * 3000 + b"%4"
    assert (await world.post(body))[0] == 200
    assert world.queue.said[0][2] == "%" * 3001 + "%4"


async def test_no_number_of_addresses_takes_another_one_away(world: World) -> None:
    """A caller that repeats a waiting call is shown an address each time; those of others stay good."""
    for number in range(2_000):
        world.page.url(replace(world.queue.one, id=f"ap_{number:016x}"))
    assert world.page.url(world.queue.one).endswith(world.path), "one request has one address"
    status, _, page = await world.ask()
    assert status == 200
    assert "it is dangerous" in page


async def test_an_address_that_was_not_made_here_is_none(world: World) -> None:
    """Nor is one of another request, or of another gateway with the same request."""
    id, _, mac = world.path.removeprefix("/approvals/").partition(".")
    other = World(CALL)
    for path in (
        id,
        f"{id}.",
        f"{id}.{mac[:-1]}",
        f"{id}.{mac}0",
        f".{mac}",
        f"ap_0.{mac}",
        f"{id}.{'0' * 64}",
        f"\udcff.{mac}",
        other.path.removeprefix("/approvals/"),
        "",
    ):
        status, _, page = await world.ask(path=f"/approvals/{path}")
        assert (status, "dangerous" in page) == (404, False), path


@pytest.mark.parametrize(
    ("problem", "status", "said"),
    [(BodyTimeout, 408, "in time"), (BodyTooLarge, 413, "at most")],
)
async def test_a_form_that_does_not_arrive_is_told_why(
    world: World,
    problem: type[Exception],
    status: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def read(*_: object) -> bytes:
        raise problem

    monkeypatch.setattr(endpoint, "read_body", read)
    found = await world.post(b"")
    assert (found[0], said in found[2]) == (status, True)
    assert world.queue.said == []
