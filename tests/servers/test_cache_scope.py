"""What a server says about keeping what was read, and about who answers, as modern callers may read it."""

from __future__ import annotations

import json
from itertools import product
from typing import Any

import pytest

from gatewright.call import Answer, Call
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.transport.large_text import LARGE
from gatewright.transport.slices import whole
from tests.servers.rig import LEGACY, MODERN, FakeBack, make_call
from tests.servers.test_server_screen import House, Large

INFO = {META_SERVER_INFO: {"name": "gatewright", "version": "9"}}
CLAIMS: dict[str, Any] = {"ttlMs": 9_999_999, "cacheScope": "public", "_meta": {**INFO, "x": 1}}
READ = {"contents": [{"uri": "x://r", "text": '"cacheScope":"private"'}]}


def reading(client: Any = MODERN) -> Call:
    return make_call("resource", "resources/read", {"uri": "x://r"}, client=client)


def seen(said: dict[str, Any] | str, call: Call, *, modern: bool) -> Any:
    text = said if isinstance(said, str) else json.dumps(said)
    found = whole(House().screen._seen(call, Answer(text.encode(), modern=modern)))
    assert isinstance(found, Answer)
    return json.loads(found.raw)


def test_a_legacy_server_promises_nothing_to_modern_callers() -> None:
    assert seen({**READ, **CLAIMS}, reading(), modern=False) == {**READ, "_meta": {"x": 1}}
    called = make_call("tool", "tools/call", {"name": "t"}, client=MODERN)
    result = {"content": [], **CLAIMS}
    assert seen(result, called, modern=False) == {**result, "_meta": {"x": 1}}


@pytest.mark.parametrize("name", ["ttlMs", "cacheScope", "ttl\\u004ds", "cache\\u0053cope"])
def test_one_promise_is_found_as_well(name: str) -> None:
    assert seen(f'{{"contents":[],"{name}":5}}', reading(), modern=False) == {"contents": []}


def test_what_is_said_to_legacy_callers_means_nothing_and_stays() -> None:
    said = {**READ, **CLAIMS}
    assert seen(said, reading(LEGACY), modern=False) == said


@pytest.mark.parametrize("scope", ['"public"', ' "public"', '"pu\\u0062lic"', "5", "null"])
def test_what_a_modern_server_lets_read_is_for_its_reader_alone(scope: str) -> None:
    text = f'{{"contents":[{{"text":"x"}}],"ttlMs":5,"cacheScope":{scope}}}'
    found = seen(text, reading(), modern=True)
    assert (found["ttlMs"], found["cacheScope"]) == (5, "private")
    twice = f'{{"contents":[{{"cacheScope":"private"}}],"cacheScope":{scope}}}'
    assert seen(twice, reading(), modern=True)["cacheScope"] == "private"


@pytest.mark.parametrize(
    "text",
    [
        '{"contents":[ ],"ttlMs":5,"cacheScope":"private"}',
        '{"contents":[ ],"ttlMs":5,"cacheScope" : "private"}',
        '{"contents":[ ],"ttlMs":5}',
    ],
)
def test_a_modern_answer_for_its_reader_alone_stays_the_bytes_that_came(text: str) -> None:
    answer = Answer(text.encode(), modern=True)
    assert whole(House().screen._seen(reading(), answer)) is answer


@pytest.mark.parametrize("modern", [True, False])
@pytest.mark.parametrize("client", [LEGACY, MODERN])
def test_a_plain_look_at_what_was_read_misses_nothing(modern: bool, client: Any) -> None:
    """The short way says what the long way says (0060)."""
    pieces = [
        '"cacheScope":"private"',
        '"cacheScope" : "public"',
        '"ttlMs":5',
        '"ttl\\u004ds":5',
        '"contents":[{"cacheScope":"private","ttlMs":1}]',
        '"contents":[{"text":"\\"cacheScope\\":\\"private\\""}]',
        f'"_meta":{{"{META_SERVER_INFO}":1}}',
    ]
    for several in product(pieces, repeat=3):
        answer = Answer(f"{{{','.join(several)}}}".encode(), modern=modern)
        found = whole(House().screen._seen(reading(client), answer))
        assert found == whole(House().screen._read(reading(client), answer))


async def test_a_large_answer_promises_no_more() -> None:
    said = {"contents": [{"text": "x" * LARGE}], **CLAIMS}
    link: Any = Large(json.dumps(said).encode())
    work = House().screen.request(link, "resources/read", {}, reading(), FakeBack(), 0)
    found = await work
    assert isinstance(found, Answer)
    assert set(json.loads(found.raw)) == {"contents", "_meta"}
