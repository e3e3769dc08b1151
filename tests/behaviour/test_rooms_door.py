"""Who gets into a room and what they are told; presence; routing; one place for one participant."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from typing import Any

import pytest
from joserfc import jwt
from joserfc.jwk import ECKey, OctKey
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus
from websockets.typing import Subprotocol

from gatewright.mcpx.capabilities import PROFILES
from gatewright.rooms.policy import Known, Topic
from gatewright.rooms.signed_tokens import Signed
from tests.rooms.foreign import Guest
from tests.rooms.hall import FULL, Hall, token_of

SECRET = OctKey.import_key("a-shared-secret-of-32-bytes-or-more")


async def refusal(
    url: str, token: str | None = None, **options: Any
) -> tuple[int, str, str | None]:
    """Status, error and challenge of a connection that is refused before the upgrade."""
    headers = dict(options.pop("headers", {}))
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    with pytest.raises(InvalidStatus) as found:
        await connect(url, additional_headers=headers, proxy=None, **options)
    response = found.value.response
    body = json.loads(bytes(response.body or b"{}"))
    assert body["message"]
    return response.status_code, body["error"], response.headers.get("www-authenticate")


async def test_a_participant_is_welcomed_by_name_and_sees_who_is_here() -> None:
    """MCPX-6.2-1, MCPX-6.2-4, MCPX-6.2-5, MCPX-5.1-1, MCPX-3.5.1-1, MCPX-3.5.1-2, MCPX-3.4-2: the client sends its
    token and nothing else, and the welcome is the first thing that it hears."""
    people = {"a": FULL, "b": ("chat",), "c": PROFILES["read-only"]}
    async with Hall(people) as hall:
        await hall.all("a", "b")
        c = await hall.guest("c")
        first = json.loads(c.heard[0])
        assert first.pop("id")
        assert first.pop("ts")
        assert first == {
            "protocol": "mcpx/v0.1",
            "from": "system:gateway",
            "to": ["c"],
            "kind": "system/welcome",
            "payload": {
                "you": {"id": "c", "capabilities": list(people["c"])},
                "participants": [
                    {"id": "a", "capabilities": list(FULL)},
                    {"id": "b", "capabilities": ["chat"]},
                ],
            },
        }
        assert await c.fence() == []


async def test_coming_and_going_is_told_to_the_others() -> None:
    """MCPX-3.4-1, decision C-60: not to the joiner, unless that is configured."""
    for told in (False, True):
        async with Hall({"a": FULL, "b": ("chat",)}, presence_to_joiner=told) as hall:
            a = await hall.guest("a")
            assert [one["kind"] for one in await a.fence()] == ["system/presence"] * told
            b = await hall.guest("b")
            join = await a.next("system/presence")
            assert join["from"] == "system:gateway"
            assert "to" not in join
            assert join["payload"] == {
                "event": "join",
                "participant": {"id": "b", "capabilities": ["chat"]},
            }
            assert a.participants["b"] == ["chat"]
            await (b.leave() if told else b.crash())
            leave = await a.next("system/presence")
            assert leave["payload"] == {"event": "leave", "participant": {"id": "b"}}
            assert "b" not in a.participants


async def test_a_bad_token_is_refused_before_the_upgrade() -> None:
    """MCPX-6.2-2, decision C-27."""
    async with Hall({"a": FULL}) as hall:
        url = hall.url + "?topic=lobby"
        assert (await refusal(url, "wrong"))[:2] == (401, "auth_failed")
        status, error, challenge = await refusal(url)
        assert (status, error, challenge) == (401, "auth_required", 'Bearer realm="gatewright"')
        for headers in ({"Authorization": "Basic YTpi"}, {"Authorization": "Bearer"}):
            assert (await refusal(url, headers=headers))[0] == 401
        assert hall.hub.rooms == {}
        assert hall.notes.lines == []


async def test_a_bad_token_may_be_told_by_a_close_where_that_is_configured() -> None:
    """MCPX-6.2-2: 1008 after the upgrade, and no welcome."""
    async with Hall({"a": FULL}, refusal="close") as hall:
        async with connect(hall.url + "?topic=t", proxy=None) as socket:
            await asyncio.wait_for(socket.wait_closed(), 20)
            assert socket.close_code == 1008
        assert (await refusal(hall.url, token_of("a")))[0] == 400


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?",
        "?topic=",
        "?topic",
        "?x=1",
        "?topic=a&topic=b",
        "?topic=%00",
        "?topic=%ff",
        "?topic=a%0d",
    ],
)
async def test_a_topic_must_be_named(query: str) -> None:
    """MCPX-6.2-3."""
    async with Hall({"a": FULL}) as hall:
        assert (await refusal(hall.url + query, token_of("a")))[:2] == (400, "invalid_request")
        assert (await refusal(hall.url + "?topic=a&mode=some", token_of("a")))[0] == 400


async def test_without_a_token_the_configured_policy_decides() -> None:
    """MCPX-6.2-7: refused by default; or let in under a name of its own, with the capabilities of that policy."""
    async with Hall({"a": FULL}) as hall:
        assert (await refusal(hall.url + "?topic=t"))[0] == 401
    async with Hall({"a": FULL}, anonymous=("chat",), topics={"in": Topic("restricted")}) as hall:
        one, two = await hall.guest(None), await hall.guest(None)
        assert one.id.startswith("anonymous-")
        assert one.id != two.id
        assert one.capabilities == ["chat"]
        assert (await refusal(hall.url + "?topic=t", "wrong"))[0] == 401
        assert (await refusal(hall.url + "?topic=in"))[:2] == (403, "access_denied")


async def test_a_browser_passes_its_token_as_a_subprotocol() -> None:
    """MCPX-6.2-1: it cannot set the header; the answer names the other subprotocol, never the token."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        offer = [Subprotocol("mcpx"), Subprotocol(f"mcpx.bearer.{token_of('a')}")]
        a = await hall.guest(None, subprotocols=offer, origin="http://localhost:3000")
        assert (a.id, a.socket.subprotocol) == ("a", "mcpx")
        url = hall.url + "?topic=t"
        assert (await refusal(url, subprotocols=offer[1:]))[0] == 400
        assert (await refusal(url, token_of("b"), subprotocols=offer))[0] == 400
        assert (await refusal(url + f"&token={token_of('a')}"))[0] == 401
    async with Hall({"a": FULL}, token_in_query=True) as hall:
        assert (await hall.guest(None, more=f"&token={token_of('a')}")).id == "a"


async def test_a_foreign_page_gets_nowhere() -> None:
    """Host and Origin are checked before the token is looked at, as at every door."""
    async with Hall({"a": FULL}) as hall:
        url = hall.url + "?topic=t"
        found = await refusal(url, token_of("a"), origin="https://evil.example")
        assert found[:2] == (403, "origin_refused")
        assert hall.notes.lines == []


async def test_a_page_of_this_machine_comes_in_with_a_token_alone() -> None:
    """Where anybody may come in, any page that runs here could: it has no token."""
    async with Hall({"a": FULL}, anonymous=FULL) as hall:
        found = await refusal(hall.url + "?topic=t", origin="http://localhost:3000")
        assert found[:2] == (403, "origin_refused")
        own = hall.server.url
        assert (await hall.guest(None, origin=own)).id.startswith("anonymous-")
        assert (await hall.guest("a", origin="http://localhost:3000")).id == "a"


def signed(claims: dict[str, Any], key: Any = SECRET, alg: str = "HS256") -> str:
    """A token of another service."""
    return jwt.encode({"alg": alg}, claims, key)


async def test_a_signed_token_says_who_where_and_what() -> None:
    """MCPX-5.1-1, MCPX-5.1-2: and is refused where anything about it is not in order."""
    later = int(time.time()) + 600
    good = {"sub": "robot", "capabilities": ["chat"], "topics": ["lab"], "exp": later, "iss": "us"}
    checks = Signed(SECRET, ["HS256"], clock=time.time, issuer="us")
    async with Hall({"a": FULL, "robot": PROFILES["read-only"]}, signed=checks) as hall:
        robot = await hall.guest(None, "lab", token=signed(good))
        assert (robot.id, robot.capabilities) == ("robot", ["chat"])
        old = {"participantId": "old", "topic": "lab", "exp": later, "iss": "us"}
        assert (await hall.guest(None, "lab", token=signed(old))).id == "old"
        bare = {"sub": "robot", "exp": later, "iss": "us"}
        named = await hall.guest(None, "else", token=signed(bare))
        assert named.capabilities == list(PROFILES["read-only"])
        none = await hall.guest(
            None, "lab2", token=signed({**bare, "sub": "n", "capabilities": []})
        )
        assert none.capabilities == []
        assert (await refusal(hall.url + "?topic=other", signed(good)))[0] == 403
        wrong: list[dict[str, Any]] = [
            {**good, "exp": 1},
            {name: value for name, value in good.items() if name != "exp"},
            {**good, "iss": "them"},
            {**good, "capabilities": ["*"]},
            {**good, "capabilities": "chat"},
            {**good, "topics": "lab"},
            {**good, "sub": 7},
        ]
        other = OctKey.import_key("another-secret-of-32-bytes-or-more!")
        tokens = [signed(one) for one in wrong] + [signed(good, other), signed(good) + "x", "a.b.c"]
        tokens.append(signed(good, ECKey.generate_key("P-256"), "ES256"))
        _, body, _ = signed(good).split(".")
        tokens.append(f"eyJhbGciOiJub25lIn0.{body}.")
        for token in tokens:
            assert (await refusal(hall.url + "?topic=lab", token))[0] == 401, token
        reserved = signed({**bare, "sub": "system:gateway"})
        assert (await refusal(hall.url + "?topic=lab", reserved))[0] == 403


async def test_topics_are_public_restricted_or_private() -> None:
    """MCPX-5.1-3: an outsider is refused where a topic is not public; a token may be good for some topics only."""
    topics = {"in": Topic("restricted"), "own": Topic("private", ("a",))}
    lab = Known("c", FULL, topics=("lab",))
    async with Hall({"a": FULL, "b": FULL, "c": lab}, topics=topics) as hall:
        may = {"a": "free in own", "b": "free in", "c": "lab", "key-ann": "free lab"}
        for name, allowed in may.items():
            token = name if name.startswith("key") else token_of(name)
            for topic in ("free", "in", "own", "lab"):
                if topic in allowed.split() or (topic == "lab" and name in "ab"):
                    await hall.guest(None, topic, token=token)
                else:
                    found = await refusal(f"{hall.url}?topic={topic}", token)
                    assert found[:2] == (403, "access_denied"), (name, topic)


async def test_a_full_topic_takes_nobody_else() -> None:
    """Decision C-31, `topic_full`: but whoever is in it may come again."""
    async with Hall(dict.fromkeys("abc", FULL), participants=2, max_topics=2) as hall:
        await hall.all("a", "b")
        status, error, _ = await refusal(hall.url + "?topic=lobby", token_of("c"))
        assert (status, error) == (503, "resource_exhausted")
        await hall.guest("a")
        await hall.guest("c", "second")
        assert (await refusal(hall.url + "?topic=third", token_of("c")))[0] == 503


async def test_a_second_connection_of_a_participant_takes_the_place_of_the_first() -> None:
    """MCPX-8.1-2: the old one is closed with 1000, and there is one presence entry."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        again = await hall.guest("a")
        assert await a.over() == (1000, "replaced by a newer connection")
        assert await b.fence() == []
        assert b.participants == {"a": list(FULL)}
        assert again.participants == {"b": list(FULL)}
        await again.next("chat")
        await b.chat("x")
        assert (await again.next())["from"] == "b"
        assert [one.participantId for one in hall.hub.connections()] == ["b", "a"]


async def test_the_state_of_a_connection_is_four_things_and_how_it_is_routed() -> None:
    """MCPX-2.1-2, MCPX-8.1-1."""
    async with Hall({"a": FULL}) as hall:
        await hall.guest("a")
        (state,) = hall.hub.connections()
        assert (state.participantId, state.capabilities) == ("a", FULL)
        assert (state.topic, state.mode, state.echo) == ("lobby", "all", True)
        assert len(state.connectionId) == 36
        assert state.connectedAt.endswith("Z")


async def test_directed_participants_hear_broadcasts_and_what_names_them() -> None:
    """MCPX-6.3-1, MCPX-6.3-2, decision C-29: by the configuration, or by the query."""
    people: dict[str, Any] = dict.fromkeys("acd", FULL)
    people["b"] = Known("b", FULL, mode="directed")
    async with Hall(people) as hall:
        a, b, c = await hall.all("a", "b", "c")
        d = await hall.guest("d", more="&mode=directed")
        for one in (a, b, c):
            await one.next("system/presence")
        sent = [await a.chat("x", to=to) for to in (["c"], ["b"], ["b", "d"], [], ...)]
        for _ in sent:
            await a.next("chat")  # its own, so that all of them have passed
        heard = {one.id: [found["id"] for found in await one.fence()] for one in (b, c, d)}
        # What they say to find out is heard by those who come after.
        assert heard["b"] == sent[1:]
        assert heard["c"][:5] == sent
        assert heard["d"][:3] == sent[2:]


async def test_who_may_not_hear_everything_does_not_by_asking_for_it() -> None:
    """By the configuration, and by what one may send: who may call no tools hears what is directed."""
    people: dict[str, Any] = {"a": FULL, "b": Known("b", FULL, mode="directed"), "c": ("chat",)}
    async with Hall(people) as hall:
        for name in people:
            await hall.guest(name, more="&mode=all")
        found = {one.participantId: one.mode for one in hall.hub.connections()}
        assert found == {"a": "all", "b": "directed", "c": "directed"}


async def test_routing_may_be_switched_at_run_time() -> None:
    """MCPX-6.3-3: from the next message on."""
    async with Hall({"a": FULL, "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        first = await a.chat("1", to=["a"])
        assert (await b.next())["id"] == first
        assert hall.hub.prefer("b", mode="directed") == 1
        await a.chat("2", to=["a"])
        await a.fence()
        assert hall.hub.prefer("b", mode="all", echo=False) == 1
        last = await a.chat("3", to=["a"])
        assert [(await b.next())["payload"]["text"] for _ in range(2)] == ["fence", "3"]
        await b.chat("not heard by me")
        assert [one["payload"]["text"] for one in await a.fence()] == ["3", "not heard by me"]
        assert last == json.loads(b.heard[-2])["id"]
        assert hall.hub.prefer("nobody", echo=True) == 0


async def test_echo_is_on_unless_a_token_says_otherwise() -> None:
    """Decision C-28."""
    async with Hall({"a": FULL, "b": Known("b", FULL, echo=False)}) as hall:
        a, b = await hall.all("a", "b")
        await a.chat("1")
        await b.chat("2")
        await a.chat("3")
        said = [(await a.next("chat"))["payload"]["text"] for _ in range(3)]
        assert sorted(said) == ["1", "2", "3"]
        heard = [(await b.next())["payload"]["text"] for _ in range(2)]
        assert heard == ["1", "3"]


async def test_the_record_has_who_came_and_what_kinds_passed_and_never_what_was_said() -> None:
    """MCPX-7.1-2, MCPX-3.2.1-6: proposals, fulfilments and answers with the ids that link them; a message that cannot
    be recorded is not passed on."""
    async with Hall({"a": PROFILES["proposal-only"], "b": FULL}) as hall:
        a, b = await hall.all("a", "b")
        proposal = await a.post("mcp/proposal:tools/call:x", {"method": "secret"})
        await b.next()
        done = await b.post("mcp/request:tools/call:x", {}, correlation_id=proposal)
        await b.next()
        await a.chat("secret")
        await a.post("mcp/request:tools/call:x", {})
        await a.error()
        hall.notes.broken = True
        await b.post("mcp/request:tools/call:x", {})
        assert (await b.error())["payload"]["error"] == "audit_unavailable"
        assert [one["kind"] for one in await a.fence()] == []
        hall.notes.broken = False
        assert hall.notes.lines == [
            ("joined", "lobby", "a", "configuration"),
            ("joined", "lobby", "b", "configuration"),
            ("passed", "lobby", proposal, "mcp/proposal:tools/call:x", None),
            ("passed", "lobby", done, "mcp/request:tools/call:x", proposal),
            ("refused", "lobby", "a", "capability_violation", "mcp/request:tools/call:x"),
        ]
        hall.notes.broken = True
        assert (await refusal(hall.url + "?topic=t", token_of("a")))[0] == 503
        hall.notes.broken = False


async def test_a_crowd_that_comes_and_goes_leaves_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """MCPX-3.4-1: each of the others is told of each, in whatever order they come."""
    names = [f"p{number}" for number in range(40)]
    async with Hall(dict.fromkeys(names, FULL) | {"z": FULL}) as hall:
        z = await hall.guest("z")
        crowd = await asyncio.gather(*(hall.guest(name) for name in names))
        while len(z.participants) < 40:
            await z.next("system/presence")
        for one, other in itertools.pairwise(crowd):
            assert (other.id in one.participants) != (other.id == one.id)
        await asyncio.gather(*(one.crash() for one in crowd))
        while z.participants:
            await z.next("system/presence")
        await hall.gone(1)
    assert caplog.records == []


async def test_the_older_path_of_mcpx_clients_leads_here_too() -> None:
    """MCPX-9.5-1: `/v0/ws` is what clients of drafts ask for; a foreign client gets in and is heard."""
    async with Hall({"a": FULL}) as hall:
        guest = Guest(hall.url.replace("/ws", "/v0/ws"), "a topic/with:signs&", token_of("a"))
        await guest.connect()
        hall.guests.append(guest)
        assert await guest.fence() == []
        assert list(hall.hub.rooms) == ["a topic/with:signs&"]
