"""What a stranger's JSON may make of itself in one step, wherever it is read: every shape that costs, in every place that decodes.

Counted is what the decoders make (values, members, decimals), and not the time that it takes: so many units of 25 nanoseconds each on the machine
where `mcp.wire.foreign_json` was measured.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from gatewright.call import Answer, Caller, CannotAsk, Client, Failure
from gatewright.dialects.groundhog import outcomes as groundhog_outcomes
from gatewright.dialects.groundhog.client_requests import ClientRequests
from gatewright.mcp.client import http_rules
from gatewright.mcp.client.answers import read_reply
from gatewright.mcp.client.link import ServerFailed
from gatewright.mcp.client.notification_params import params_of
from gatewright.mcp.client.server_requests import ServerRequests
from gatewright.mcp.protocol import eras, ggen, input_required, outcomes, retry_hints, task_ids
from gatewright.mcp.protocol.mcp_client import Failed, Handshake, Hello
from gatewright.mcp.protocol.mcp_server import Answered
from gatewright.mcp.server.client_session import ClientSession
from gatewright.mcp.server.server_context import Presented
from gatewright.mcp.wire import foreign_json, jsonrpc
from gatewright.mcp.wire.versions import LATEST_LEGACY
from gatewright.mcpx import envelope
from gatewright.mcpx.payload import examine
from gatewright.oauth.documents import Unusable, decode_document
from gatewright.servers.listing import Listing, fetch_section
from gatewright.servers.openapi.result import result_of
from gatewright.servers.server_callbacks import Told
from gatewright.servers.server_catalogue import build_listing
from gatewright.servers.server_screen import Screen
from gatewright.servers.spec import ServerSpec
from gatewright.transport.slices import whole
from tests.servers.rig import make_call

UNITS = 1_200_000
"""In one step: thirty milliseconds."""
MIB = 1024 * 1024
SIZES = (200_000, MIB - 20_000, 2 * MIB)


def repeated(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b"[" + (unit + b",") * (size // (len(unit) + 1)) + b"1]"


def wide(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b"{" + (unit + b",") * (size // (len(unit) + 1)) + b'"z":1}'


def keys(size: int) -> bytes:
    return b"{" + b",".join(b'"%x":1' % number for number in range(size // 9)) + b"}"


def text(unit: bytes) -> Callable[[int], bytes]:
    return lambda size: b'"' + unit * (size // len(unit)) + b'"'


SHAPES: Mapping[str, Callable[[int], bytes]] = {
    "decimals with an exponent": repeated(b"1e1"),
    "decimals next to nothing": repeated(b"8.5e-324"),
    "decimals with a zero": repeated(b"1.50"),
    "decimals of full precision": repeated(b"-0.1234567890123456"),
    "decimals that are too precise": repeated(b"0.12345678901234567890123456"),
    "numbers": repeated(b"1"),
    "long integers": repeated(b"9" * 4000),
    "empty objects": repeated(b"{}"),
    "empty lists": repeated(b"[]"),
    "small objects": repeated(b'{"a":1}'),
    "named objects": repeated(b'{"name":"x"}'),
    "tasks": repeated(b'{"taskId":"x"}'),
    "empty texts": repeated(b'""'),
    "nested": lambda size: b"[" * 60 + repeated(b"[[[]]]")(size) + b"]" * 60,
    "one key again and again": wide(b'"a":1'),
    "the id again and again": wide(b'"id":1'),
    "an escaped key again and again": wide(b'"\\u0069d":1'),
    "many keys": keys,
    "long keys": wide(b'"' + b"k" * 5000 + b'":[]'),
    "escapes": text(b"\\u00e9"),
    "surrogates": text(b"\\ud83d\\ude00"),
    "one long text": text(b"abc, def: [ghi] {jkl} 1.5e1 "),
}


class Work:
    """What the decoders made since it was last reset, and the most that they did in one step."""

    def __init__(self) -> None:
        self.now = self.most = 0

    def add(self, units: int) -> None:
        self.now += units
        self.most = max(self.most, self.now)

    def step(self) -> None:
        self.now = 0


def weight(found: Any) -> int:
    units, left = 0, [found]
    while left:
        one = left.pop()
        if isinstance(one, dict):
            units += 1 + 5 * len(one)
            left.extend(one.values())
        elif isinstance(one, list):
            units += 5
            left.extend(one)
        elif isinstance(one, float):
            units += 14
        else:
            units += 1
    return units


class Metered:
    """A decoder that says what it made; `each` is what one member or element is worth that stays a text, or None for values."""

    def __init__(self, work: Work, inner: Any, each: int | None) -> None:
        self._work, self._inner, self._each = work, inner, each

    def decode(self, data: Any) -> Any:
        found = self._inner.decode(data)
        self._work.add(weight(found) if self._each is None else self._each * len(found))
        return found


@pytest.fixture
def work(monkeypatch: pytest.MonkeyPatch) -> Work:
    made = Work()
    for name, each in (("_decoder", None), ("_members", 5), ("_array", 2), ("_entries", 4), ("_keyed", 20)):  # fmt: skip
        monkeypatch.setattr(foreign_json, name, Metered(made, getattr(foreign_json, name), each))
    # Whoever has a decoder of another kind is not metered: it has to be one of the counted.
    return made


# -- the places


class Asked:
    """What was written to a server."""

    def __init__(self) -> None:
        self.said: list[bytes] = []

    def __call__(self, frame: bytes) -> None:
        self.said.append(frame)


def hello(shape: bytes) -> None:
    shake = Handshake(info={"name": "t"}, era="legacy")
    ask: Any = shake.start()
    raw = b'{"protocolVersion":"%b","capabilities":{"x":%b}}' % (LATEST_LEGACY.encode(), shape)
    assert isinstance(shake.answered(jsonrpc.Response(b"%d" % ask.ident, raw)), Hello | Failed)


def refused_hello(shape: bytes) -> None:
    shake = Handshake(info={"name": "t"}, era="legacy")
    ask: Any = shake.start()
    error = b'{"code":-32602,"message":"no","data":%b}' % shape
    assert isinstance(shake.answered(jsonrpc.Response(b"%d" % ask.ident, b"", error)), Failed)


class OnePage:
    """A link whose server answers one page and no other."""

    def __init__(self, raw: bytes) -> None:
        self._raw = raw

    async def fetch(self, *_: object) -> bytes:
        raw, self._raw = self._raw, b"{}"
        return raw


def page(member: bytes) -> Callable[[bytes], Awaitable[None]]:
    async def read(shape: bytes) -> None:
        link: Any = OnePage(b'{"tools":[],' + member + b":" + shape + b"}")
        with suppress(ServerFailed):
            found = await fetch_section(link, ServerSpec(id="s"), "tools")
            build_listing(ServerSpec(id="s"), Listing(Hello(""), {"tools": found[:20]}))

    return read


def entry(member: str) -> Callable[[bytes], None]:
    def read(shape: bytes) -> None:
        tool = {"name": msgspec.Raw(b'"t"'), "inputSchema": msgspec.Raw(b'{"type":"object"}')}
        listed = Listing(Hello(""), {"tools": [{**tool, member: msgspec.Raw(shape)}]})
        build_listing(ServerSpec(id="s"), listed)

    return read


def notification(shape: bytes) -> None:
    params_of(jsonrpc.Notification("notifications/x", b'{"x":' + shape + b"}"))


async def question(shape: bytes) -> None:
    said = Asked()
    asking = ServerRequests("s", said)
    asking.outside = _nobody
    asking.put(jsonrpc.Request(b"1", "elicitation/create", b'{"x":' + shape + b"}"), [])
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert said.said


async def _nobody(_: object) -> dict[str, Any]:
    raise CannotAsk("nobody")


def spoken(outcome: Any) -> None:
    """What every door makes of an outcome, and what is asked of it on the way."""
    call = make_call("tool", "tools/call", {"name": "t"})
    screen = Screen("s", Told(lambda *_: None, lambda *_: None, lambda *_: None))
    outcome = whole(screen._seen(call, outcome))
    if isinstance(outcome, Failure):
        if outcome.error is not None:
            retry_hints.unpromised(outcome.error, mgp=True)
            retry_hints.renamed(outcome.error, lambda name: name)
        ggen.error_of(outcome, "t")
        outcomes.spell(outcome, "tools/call", Client("2026-07-28"), "t", {})
        groundhog_outcomes.failure_of(outcome)
        return
    task_ids.created(outcome.raw, modern=True)
    task_ids.created(outcome.raw, modern=False)
    input_required.read_interim(outcome.raw)
    eras.to_caller(outcome, "tools/call", Client("2026-07-28"), {})
    ggen.tool_error_of(outcome)
    groundhog_outcomes.said_by_tool(outcome)


def error(shape: bytes) -> None:
    said = b'{"code":-32000,"message":"no","data":{"retryable":true,"x":' + shape + b"}}"
    spoken(read_reply(jsonrpc.Response(b"1", b"", said), "tool", modern=False))


def result(member: bytes) -> Callable[[bytes], None]:
    def read(shape: bytes) -> None:
        raw = b'{"isError":true,"_meta":{},' + member + b":" + shape + b"}"
        spoken(read_reply(jsonrpc.Response(b"1", raw), "tool", modern=False))

    return read


def whole_result(shape: bytes) -> None:
    """The shape is the result."""
    outcome = read_reply(jsonrpc.Response(b"1", shape), "tool", modern=False)
    if isinstance(outcome, Answer):
        spoken(outcome)


def interim(shape: bytes) -> None:
    with suppress(input_required.TooMuchAsked):
        input_required.read_interim(
            b'{"resultType":"input_required","inputRequests":{"a":' + shape + b"}}"
        )


def batch(shape: bytes) -> None:
    jsonrpc.parse_many(shape)
    http_rules.messages(shape)


def members_of_a_frame(shape: bytes) -> None:
    jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"method":"x","\\u0061":' + shape + b',"params":{}}')
    jsonrpc.parse(b'{"jsonrpc":"2.0","id":1,"method":"x","params":' + shape + b"}")
    jsonrpc.parse(b'{"jsonrpc":"2.0","id":' + shape + b',"method":7}')
    jsonrpc.parse(shape)


def answer_of_a_caller(member: str) -> Callable[[bytes], Awaitable[None]]:
    async def read(shape: bytes) -> None:
        waiting: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        nobody = Presented("http", Caller("", "anonymous"), None)
        peer: Any = SimpleNamespace(asks={b"1": (waiting, nobody)}, shown=nobody)
        said = b'{"code":1,"message":"m","x":' + shape + b"}"
        ClientSession._answered(peer, Answered(b"1", **{member: said}))
        assert waiting.done()
        waiting.exception()

    return read


async def answer_of_a_client(shape: bytes) -> None:
    said = Asked()
    asking = ClientRequests(said, bytes)
    waiting = asyncio.ensure_future(asking("x", {}))
    await asyncio.sleep(0)
    asking.answered(jsonrpc.Response(b'"gw-0000000000000000"', b'{"x":' + shape + b"}"))
    await asyncio.wait([waiting])
    waiting.exception()


def rpc_of_a_stranger(shape: bytes) -> None:
    """What is read of a long message before it is known whose it is."""
    for body in (
        b'{"jsonrpc":"2.0","id":1,"method":"tools/list","auth":' + shape + b"}",
        b'{"jsonrpc":"2.0","id":' + shape + b',"method":"tools/list","\\u0061uth":"a"}',
        shape,
    ):
        assert ggen.says_auth(body) in (True, False)
        ggen.presented(body, None)
        jsonrpc.split(body)


def body_of_an_api(shape: bytes) -> None:
    assert b'"structuredContent":' in whole(result_of(200, "application/json", shape))


def page_of_tasks(shape: bytes) -> None:
    for raw in (b'{"tasks":' + shape + b"}", b'{"tasks":[],"nextCursor":' + shape + b"}"):
        with suppress(ValueError):
            whole(task_ids.listed(raw, {"x": "y"}))


def document_of_oauth(shape: bytes) -> None:
    with suppress(Unusable):
        decode_document(b'{"issuer":"i","x":' + shape + b"}", dict[str, Any], "it")


def room(shape: bytes) -> None:
    payload = b'{"method":"x","params":{"x":' + shape + b"}}"
    frame = b'{"protocol":"mcpx/v0.1","id":"i","from":"f","kind":"mcp/request:x","payload":' + payload + b',"\\u0061":' + shape + b"}"  # fmt: skip
    found = envelope.read(frame)
    if isinstance(found, envelope.Envelope):
        assert isinstance(examine(found), object)


PLACES: Mapping[str, Callable[[bytes], Awaitable[None] | None]] = {
    "hello": hello,
    "refused hello": refused_hello,
    "list page": page(b'"tools"'),
    "cursor of a list": page(b'"nextCursor"'),
    "extra member of a list": page(b'"x"'),
    "name of a tool": entry("name"),
    "schema of a tool": entry("inputSchema"),
    "annotations of a tool": entry("annotations"),
    "execution of a tool": entry("execution"),
    "notification": notification,
    "question": question,
    "error": error,
    "content of a result": result(b'"content"'),
    "resultType of a result": result(b'"resultType"'),
    "task of a result": result(b'"task"'),
    "taskId of a result": result(b'"taskId"'),
    "_meta of a result": result(b'"_meta"'),
    "result": whole_result,
    "interim result": interim,
    "batch": batch,
    "frame": members_of_a_frame,
    "result of a caller": answer_of_a_caller("result"),
    "error of a caller": answer_of_a_caller("error"),
    "answer of a client": answer_of_a_client,
    "rpc": rpc_of_a_stranger,
    "API": body_of_an_api,
    "tasks": page_of_tasks,
    "OAuth": document_of_oauth,
    "room": room,
}


@pytest.mark.parametrize("place", PLACES)
async def test_no_shape_makes_more_than_one_step_may(
    place: str, work: Work, monkeypatch: pytest.MonkeyPatch
) -> None:
    rest = asyncio.sleep

    async def sleep(seconds: float) -> None:
        work.step()
        await rest(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    over = {}
    for name, shape in SHAPES.items():
        for size in SIZES:
            made = shape(size)
            work.now = work.most = 0
            found = PLACES[place](made)
            if found is not None:
                await found
            if work.most > UNITS:
                over[name, size] = work.most
    assert over == {}


def test_the_meter_sees_what_is_decoded_uncounted(work: Work) -> None:
    foreign_json.decode_whole(SHAPES["decimals with an exponent"](MIB))
    assert work.most > 2 * UNITS
