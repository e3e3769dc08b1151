"""REST: paths and methods, statuses, who asks, and what is told to whom."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
import threading
from typing import Any

import pytest

from gatewright.call import Answer, Caller, Failure, Refusal, Target, Tool
from gatewright.mcp.wire import jsonrpc
from gatewright.transport.thread_turns import ThreadTurns
from tests.dialects.client import Answered, within
from tests.dialects.house import ANN, House, text
from tests.dialects.steps import Hang

TOOLS = [
    {"name": "echo", "description": "Says it again", "inputSchema": {"type": "object"}},
    {"name": "bare"},
]
LISTED = Answer(jsonrpc.encode({"tools": TOOLS}), own=True)


async def get(house: House, path: str, method: str = "GET", **options: Any) -> Answered:
    headers = {"content-type": None, "accept": "application/json", **options.pop("headers", {})}
    return await house.open(method=method, path=path, headers=headers, **options).whole()


async def call(house: House, name: str = "echo", body: bytes = b"{}", **options: Any) -> Answered:
    headers = {"accept": "*/*", **options.pop("headers", {})}
    return await house.post(body, path=f"/tools/{name}", headers=headers, **options)


async def test_a_tool_is_a_path_and_its_arguments_the_body() -> None:
    """GGEN-oas-3, GRH-int-2."""
    async with House() as house:
        house.script.does("echo", text("hi", structuredContent={"said": 1.10}))
        said = await call(house, body=b' {"a": [1]}\n', key="key-ann")
        (made,) = house.script.calls
    assert (said.status, said.json, said.kind) == (200, {"said": 1.10}, "application/json")
    assert (made.door, made.method, made.kind) == ("rest", "tools/call", "tool")
    assert made.params == {"name": "echo", "arguments": {"a": [1]}}
    assert (made.caller, said.headers["x-trace-id"]) == (ANN, made.trace_id)


async def test_a_name_with_a_slash_is_a_name() -> None:
    async with House() as house:
        house.script.does("srv/echo", text("hi"))
        assert (await call(house, "srv/echo")).json == "hi"


@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b"", "invalid_args"),
        (b"[]", "invalid_args"),
        (b"7", "invalid_args"),
        (b'{"a":', "parse_error"),
        (b"{\xff}", "parse_error"),
        (b'{"a":' * 70 + b"1" + b"}" * 70, "limit_exceeded"),
    ],
)
async def test_a_body_that_is_no_object_is_refused(body: bytes, kind: str) -> None:
    """GGEN-oas-3: 400."""
    async with House() as house:
        said = await call(house, body=body)
        assert house.script.calls == []
    assert (said.status, said.json["error"]["data"]["kind"]) == (400, kind)


@pytest.mark.parametrize(
    ("outcome", "status", "code"),
    [
        (Refusal("invalid_args", "no"), 400, -32001),
        (Refusal("access_denied", "no"), 403, -32005),
        (Refusal("tool_not_found", "no"), 404, -32002),
        (Refusal("rate_limited", "no", retry_after_ms=1500), 429, -32003),
        (Failure("upstream_unavailable", "no", {"sent": False}), 503, -32003),
        (Failure("internal", "no"), 422, -32603),
        (Failure("upstream_error", "no"), 422, -32003),
        (Failure("upstream_unavailable", "no"), 422, -32003),
        (Failure("upstream_timeout", "no"), 422, -32003),
        (Answer(b'{"content":[{"type":"text","text":"no"}],"isError":true}', True), 422, -32003),
    ],
)
async def test_each_end_has_its_status(outcome: Any, status: int, code: int) -> None:
    """GGEN-oas-2, GGEN-err-6 … GGEN-err-10. Of a call that may have run none after which clients send it again."""
    async with House() as house:
        house.script.does("echo", outcome)
        said = await call(house)
    error = said.json["error"]
    assert (said.status, error["code"], error["data"]["reason"]) == (status, code, "no")
    assert said.headers.get("retry-after") == ("2" if status == 429 else None)


async def test_arguments_that_do_not_fit_are_told_field_by_field() -> None:
    """GGEN-err-11."""
    async with House() as house:
        schema = {"properties": {"n": {"type": "integer"}}}
        house.upstream.tools["echo"] = Tool(Target("srv", "echo"), "echo", {}, schema)
        house.script.does("echo", Refusal("invalid_args", "no"))
        data = (await call(house, body=b'{"n":"x"}')).json["error"]["data"]
    assert (data["error_type"], data["field"]) == ("FieldValidation", "n")


async def test_the_tools_are_listed_and_each_can_be_read() -> None:
    """GGEN-core-2."""
    async with House() as house:
        house.script.does("tools/list", LISTED)
        house.upstream.tools["srv/echo"] = Tool(Target("srv", "echo"), "echo", {})
        listed = await get(house, "/tools")
        assert [one["name"] for one in listed.json["tools"]] == ["echo", "bare"]
        assert listed.json["tools"][1] == {
            "name": "bare",
            "description": "",
            "inputSchema": {"type": "object"},
        }
        for name in ("echo", "srv/echo"):
            assert (await get(house, f"/tools/{name}")).json == TOOLS[0]
        missing = await get(house, "/tools/none")
        assert (missing.status, missing.json["error"]["code"]) == (404, -32002)


async def test_a_list_that_is_refused_is_told_as_such() -> None:
    async with House() as house:
        house.script.does("tools/list", Refusal("rate_limited", "slow down"))
        for path in ("/tools", "/tools/echo", "/openapi.json", "/catalogue.json", "/docs"):
            assert (await get(house, path)).status == 429


async def test_who_may_read_no_tool_is_refused_the_list() -> None:
    """GGEN-auth-6, decision C-32."""
    async with House() as house:
        house.script.does("tools/list", Answer(b'{"tools":[]}', own=True))
        assert (await get(house, "/tools")).json == {"tools": []}
        house.upstream.tools["hidden"] = Tool(Target("srv", "x"), "x", {})
        refused = await get(house, "/tools")
        assert (refused.status, refused.json["error"]["code"]) == (403, -32005)


@pytest.mark.parametrize("key", [None, "wrong"])
@pytest.mark.parametrize(
    "path", ["/tools", "/tools/echo", "/openapi.json", "/profiles/small/tools"]
)
async def test_nobody_is_told_how_to_be_somebody(path: str, key: str | None) -> None:
    """GGEN-auth-10, GGEN-err-9: 401 with ggen's error and the challenge."""
    async with House(anonymous=False) as house:
        said = await get(house, path, key=key)
        assert house.script.calls == []
    assert (said.status, said.json["error"]["code"]) == (401, -32004)
    assert said.headers["www-authenticate"].startswith("Bearer")


async def test_a_profile_has_its_own_tools_and_document() -> None:
    async with House() as house:
        house.script.does("tools/list", LISTED)
        house.script.does("echo", text("hi"))
        assert (await house.post(b"{}", path="/profiles/small/tools/echo")).json == "hi"
        said = await get(house, "/profiles/small/openapi.json")
        assert said.json["servers"] == [{"url": "/profiles/small"}]
        assert {one.profile for one in house.script.calls} == {"small"}
        for path in ("/profiles/large/tools", "/profiles/small", "/profiles/small/mcp"):
            assert (await get(house, path)).status == 404


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/tools", "GET, HEAD"),
        ("PUT", "/tools/echo", "GET, HEAD, POST"),
        ("DELETE", "/openapi.json", "GET, HEAD"),
        ("POST", "/docs", "GET, HEAD"),
    ],
)
async def test_a_method_that_is_not_there_is_named(method: str, path: str, allow: str) -> None:
    """GGEN-oas-3."""
    async with House() as house:
        said = await get(house, path, method)
    assert (said.status, said.headers["allow"]) == (405, allow)
    assert said.json["error"]["code"] == -32601


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"content-type": "text/plain"}, 415),
        ({"accept": "text/html"}, 406),
        ({"host": "evil.example"}, 403),
        ({"origin": "http://evil.example"}, 403),
    ],
)
async def test_a_request_of_another_kind_is_refused(headers: Any, status: int) -> None:
    told: list[tuple[Caller, str, int, str]] = []
    async with House(refused=lambda *one: told.append(one)) as house:
        said = await call(house, headers=headers, key="key-ann")
        assert house.script.calls == []
    assert said.status == status
    assert [one[:2] for one in told] == ([] if status == 403 else [(ANN, "rest")])


async def test_a_body_that_is_too_long_is_refused() -> None:
    async with House(frame_bytes=100) as house:
        said = await call(house, body=b'{"a":"' + b"x" * 100 + b'"}')
    assert (said.status, said.json["error"]["data"]["kind"]) == (413, "too_large")


@pytest.mark.parametrize(
    "headers",
    [{"traceparent": f"00-{'ab' * 16}-{'cd' * 8}-01"}, {"x-trace-id": "ab" * 16}],
)
async def test_a_trace_of_the_callers_own_goes_with_the_call(headers: Any) -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))
        said = await call(house, headers=headers)
        assert house.script.calls[0].trace_id == said.headers["x-trace-id"] == "ab" * 16


async def test_a_client_that_leaves_ends_its_call() -> None:
    async with House() as house:
        hang = Hang()
        house.script.does("echo", hang)
        wire = house.open(b"{}", path="/tools/echo")
        await within(hang.began.wait())
        wire.leave()
        await within(wire.task)
        assert house.script.cancelled == ["echo"]


async def test_what_depends_on_who_asks_is_not_kept_by_others() -> None:
    async with House() as house:
        house.script.does("tools/list", LISTED)
        house.script.does("echo", text("hi"))
        for path in ("/tools", "/tools/echo", "/openapi.json", "/docs"):
            assert (await get(house, path)).headers["cache-control"] == "no-store"
        assert (await call(house)).headers["cache-control"] == "no-store"


async def test_the_document_says_whether_a_key_is_needed() -> None:
    """GGEN-oas-1."""
    for anonymous in (True, False):
        async with House(anonymous=anonymous) as house:
            house.script.does("tools/list", LISTED)
            said = await get(house, "/openapi.json", key="key-ann")
            assert ({} in said.json["security"]) is anonymous
            assert set(said.json["paths"]) == {
                "/tools",
                "/tools/{tool_name}",
                "/tools/echo",
                "/tools/bare",
            }


async def test_the_catalogue_has_the_tools_with_tags_a_version_and_the_time() -> None:
    """GGEN-exp-1 at this door."""
    async with House() as house:
        house.script.does("tools/list", LISTED)
        said = (await get(house, "/catalogue.json", key="key-ann")).json
    assert [one["name"] for one in said["tools"]] == ["echo", "bare"]
    assert {"name", "description", "inputSchema", "tags"} <= set(said["tools"][0])
    assert said["version"] == "1.0.0"
    assert dt.datetime.fromisoformat(said["generated_at"]).tzinfo is not None


async def test_a_long_document_is_made_beside_everything_else() -> None:
    """Other requests are answered while a document of thousands of tools is written."""
    schema = {"type": "object", "properties": {f"p{n}": {"type": "integer"} for n in range(10)}}
    tools = [{"name": f"t{n}", "inputSchema": schema} for n in range(2000)]
    async with House() as house:
        house.script.does("tools/list", Answer(jsonrpc.encode({"tools": tools}), own=True))
        house.script.does("echo", text("hi"))
        wire = house.open(method="GET", path="/openapi.json", headers={"content-type": None})
        assert (await call(house)).json == "hi"
        said = await wire.whole()
    assert len(said.json["paths"]) == 2002


@pytest.mark.parametrize("path", ["/openapi.json", "/catalogue.json", "/docs"])
@pytest.mark.parametrize("members", [1, 2000])
async def test_what_is_made_of_one_long_definition_is_made_beside_everything_else(
    path: str, members: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bytes count, not the tools; and writing the document out counts as making it."""
    encoded: list[bool] = []
    encode = jsonrpc.encode

    def note(value: Any) -> bytes:
        encoded.append(threading.current_thread() is threading.main_thread())
        return encode(value)

    schema = {"properties": {f"p{n}": {"type": "integer"} for n in range(members)}}
    listed = encode({"tools": [{"name": "one", "inputSchema": schema}]})
    async with House() as house:
        house.script.does("tools/list", Answer(listed, own=True))
        threads: list[bool] = []
        beside = ThreadTurns.run

        async def count(turns: ThreadTurns, work: Any) -> Any:
            threads.append(True)
            monkeypatch.setattr(jsonrpc, "encode", note)
            return await beside(turns, work)

        monkeypatch.setattr(ThreadTurns, "run", count)
        assert (await get(house, path)).status == 200
    assert threads == [True] * (members > 1)
    if members > 1 and path != "/docs":
        assert encoded
        assert not any(encoded)


async def test_the_page_is_there_for_who_has_no_key_yet_but_shows_nothing() -> None:
    async with House(anonymous=False) as house:
        house.script.does("tools/list", LISTED)
        stranger = await get(house, "/docs")
        assert (stranger.status, stranger.kind) == (200, "text/html")
        assert b"echo" not in stranger.body
        assert b"<summary>echo</summary>" in (await get(house, "/docs", key="key-ann")).body


async def test_a_large_answer_leaves_in_pieces() -> None:
    """GGEN-p4-1."""
    async with House() as house:
        house.script.does("echo", text("x" * 1_000_000))
        said = await call(house)
    assert "content-length" not in said.headers
    assert len(json.loads(said.body)) == 1_000_000


async def test_a_defect_of_ours_is_answered_as_everything_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with House() as house:
        house.script.does("echo", text("hi"))

        def breaks(*_: object) -> bytes:
            raise RuntimeError("the password is swordfish")

        monkeypatch.setattr("gatewright.mcp.protocol.ggen.result_of", breaks)
        said = await call(house)
    # Not 500: the call has been carried out (decision 0039).
    assert (said.status, said.json["error"]["data"]["kind"]) == (422, "internal")
    assert "swordfish" not in said.body.decode()


async def test_an_answer_that_breaks_when_its_call_ran_is_not_to_be_asked_for_again() -> None:
    """Decision 0039: no client of HTTP sends a request again for this status."""
    async with House() as house:
        house.script.does("echo", Answer(b"{no result at all"))
        said = await house.post(b"{}", path="/tools/echo")
    assert said.status == 422
    assert said.json["error"]["data"]["retryable"] is False


@pytest.mark.parametrize("path", ["/docs", "/openapi.json"])
async def test_what_nobody_waits_for_any_more_is_not_made(
    path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Documents are made one after the other: whoever asks, leaves and asks again has nobody wait behind all of these."""
    schema = {"properties": {f"p{n}": {"type": "integer"} for n in range(2000)}}
    listed = jsonrpc.encode({"tools": [{"name": "one", "inputSchema": schema}]})
    turns: list[ThreadTurns] = []
    beside = ThreadTurns.run

    async def count(self: ThreadTurns, work: Any) -> Any:
        turns.append(self)
        return await beside(self, work)

    monkeypatch.setattr(ThreadTurns, "run", count)
    async with House() as house:
        house.script.does("tools/list", Answer(listed, own=True))
        await get(house, path)
        async with turns[0]._turn:
            wire = house.open(method="GET", path=path, headers={"content-type": None})
            while len(turns) < 2:
                await asyncio.sleep(0)
            wire.leave()
            await within(wire.task)
        assert not turns[0]._turn.locked()
