"""One question over HTTP: what goes out, and what every kind of answer means."""

import base64
import json
import socket
import threading
from typing import Any

import pytest

from gatewright.cli.errors import CliError
from gatewright.cli.gateway_client import ask, ask_all, from_error, unwrapped
from gatewright.cli.running import Endpoint as Where
from gatewright.mcp.wire.codes import REASONS, recovery
from gatewright.mcp.wire.headers_and_meta import ERROR_ORIGIN
from tests.cli.endpoints import Endpoint


def where(endpoint: Endpoint) -> Where:
    return Where(endpoint.url, "token")


def problem(endpoint: Endpoint, answer: tuple[int, str, bytes]) -> CliError:
    endpoint.replies["tools/call"] = lambda _: answer
    with pytest.raises(CliError) as caught:
        ask(where(endpoint), "tools/call", {"name": "t"})
    return caught.value


def test_a_question_carries_what_the_stateless_revision_asks_for(endpoint: Endpoint) -> None:
    endpoint.replies["tools/call"] = lambda _: {"content": []}
    params = {"name": "naïve", "arguments": {"region": "eu", "n": 5}}
    assert ask(where(endpoint), "tools/call", params, headers={("region",): "Region"}) == {
        "content": []
    }
    (message,), (headers,) = endpoint.asked, endpoint.headers
    meta = message["params"].pop("_meta")
    assert message == {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    assert meta["io.modelcontextprotocol/protocolVersion"] == "2026-07-28"
    assert meta["io.modelcontextprotocol/clientInfo"]["name"] == "gatewright-cli"
    assert "discovery" in meta["io.modelcontextprotocol/clientCapabilities"]["mgp"]["extensions"]
    encoded = base64.b64encode("naïve".encode()).decode()
    assert headers["path"] == "/mcp"
    assert headers["MCP-Protocol-Version"] == "2026-07-28"
    assert headers["Mcp-Method"] == "tools/call"
    assert headers["Mcp-Name"] == f"=?base64?{encoded}?="
    assert headers["Mcp-Param-Region"] == "eu"
    assert headers["Authorization"] == "Bearer token"
    assert headers["Accept"] == "application/json, text/event-stream"


def test_the_query_of_a_url_is_asked_for_with_it(endpoint: Endpoint) -> None:
    endpoint.replies["ping"] = lambda _: {}
    ask(Where(f"{endpoint.url}?tenant=a&x=%2F"), "ping")
    assert endpoint.headers[0]["path"] == "/mcp?tenant=a&x=%2F"


def test_without_a_token_none_is_sent(endpoint: Endpoint) -> None:
    endpoint.replies["ping"] = lambda _: {}
    ask(Where(endpoint.url), "ping")
    assert "Authorization" not in endpoint.headers[0]


def test_numbers_beyond_floats_come_back_whole(endpoint: Endpoint) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"result":{"n":123456789012345678901234567890,"z":null}}'
    endpoint.replies["ping"] = lambda _: (200, "application/json; charset=utf-8", body)
    assert ask(where(endpoint), "ping") == {"n": 123456789012345678901234567890, "z": None}


def test_an_event_stream_is_read_to_the_answer_and_progress_goes_to_standard_error(
    endpoint: Endpoint, capfd: pytest.CaptureFixture[str]
) -> None:
    def notification(method: str, params: Any) -> bytes:
        return json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode()

    stream = b": hello\n\n"
    for data in (
        notification("notifications/progress", {"progress": 1, "message": "half way"}),
        notification(
            "notifications/message", {"level": "info", "data": "a \x1b[1mlog line\nerror: b"}
        ),
        notification("notifications/progress", {"progress": 2}),
        notification("notifications/odd", []),
        b'{"jsonrpc":"2.0","id":1,"result":{"ok":true}}',
    ):
        stream += b"event: message\ndata: " + data + b"\n\n"
    endpoint.replies["tools/call"] = lambda _: (200, "text/event-stream", stream)
    assert ask(where(endpoint), "tools/call", {"name": "t"}) == {"ok": True}
    assert capfd.readouterr().err == "> half way\n> a \\u{1b}[1mlog line\n> error: b\n"


@pytest.mark.parametrize("name", sorted(REASONS))
def test_every_reason_has_its_exit_code_and_keeps_its_trace(name: str) -> None:
    row = REASONS[name]
    data = {"reason": name, "trace_id": "abc", "_mgp": recovery(name)}
    found = from_error({"code": row.mgp_code, "message": "told", "data": data})
    assert (found.exit_code, found.code, found.message) == (row.exit, name, "told")
    assert found.request_id == "abc"
    assert found.hint


@pytest.mark.parametrize(
    ("error", "code", "exit_code"),
    [
        *(
            ({"code": code, "message": "no"}, "upstream_error", 5)
            for code in (-32603, -32602, -32601, -32000, 1001, 7)
        ),
        ({"code": 1001, "message": "", "data": {"reason": "invented"}}, "upstream_error", 5),
        ({"code": -32603, "data": [1], "message": 5}, "upstream_error", 5),
        ("no object", "upstream_error", 5),
        (None, "upstream_error", 5),
    ],
)
def test_an_error_without_a_reason_of_the_gateways_is_the_servers_own(
    error: Any, code: str, exit_code: int
) -> None:
    found = from_error(error)
    assert (found.code, found.exit_code) == (code, exit_code)
    assert found.message


@pytest.mark.parametrize("name", sorted(REASONS))
def test_a_reason_that_a_server_wrote_is_no_word_of_the_gateways(name: str) -> None:
    data = {"reason": name, "_meta": {ERROR_ORIGIN: "server"}, "_mgp": recovery(name)}
    found = from_error({"code": REASONS[name].mgp_code, "message": "m", "data": data})
    assert (found.code, found.exit_code) == ("upstream_error", 5)


def test_a_wait_is_told_in_seconds() -> None:
    data = {"reason": "rate_limited", "_mgp": recovery("rate_limited", retry_after_ms=2500)}
    assert from_error({"code": 3000, "message": "m", "data": data}).hint == "try again in 2.5 s"


@pytest.mark.parametrize(
    ("answer", "exit_code"),
    [
        ((401, "text/plain", b"no"), 3),
        ((404, "text/html", b"<html>"), 4),
        ((200, "application/json", b"{}"), 4),
        ((200, "application/json", b"not json"), 4),
        ((200, "text/event-stream", b"data: {}\n\n"), 4),
        ((204, "", b""), 4),
    ],
)
def test_what_is_no_mcp_answer_is_told_as_such(
    endpoint: Endpoint, answer: tuple[int, str, bytes], exit_code: int
) -> None:
    found = problem(endpoint, answer)
    assert found.exit_code == exit_code
    assert found.message.startswith(f"this is no MCP endpoint: HTTP {answer[0]}")


def test_an_error_with_an_http_status_keeps_its_own_words(endpoint: Endpoint) -> None:
    body = {
        "jsonrpc": "2.0",
        "error": {"code": 1002, "message": "a key is needed", "data": {"reason": "auth_required"}},
    }
    found = problem(endpoint, (401, "application/json", json.dumps(body).encode()))
    assert (found.exit_code, found.message) == (3, "a key is needed")
    assert "gatewright key create" in found.hint


def test_nobody_at_the_port_is_exit_code_4(endpoint: Endpoint) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/mcp"
        with pytest.raises(CliError, match=r"cannot be reached.*process 12") as caught:
            ask(Where(url, "t", 12), "ping")
    assert caught.value.exit_code == 4


def test_a_silent_gateway_is_given_up_after_the_timeout() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with pytest.raises(CliError, match=r"said nothing for 0\.2 s") as caught:
            ask(Where(url), "ping", timeout_s=0.2)
    assert caught.value.exit_code == 4


def lost(method: str, says: bytes) -> CliError:
    """What comes of a question to which a gateway says no more than this, and hangs up."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.sendall(says)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        with pytest.raises(CliError) as caught:
            ask(Where(url), method, {"name": "t"}, timeout_s=10)
        thread.join(10)
    return caught.value


HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n"
LOST = (
    b"",
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 99\r\n\r\n{",
    HEAD + b"Connection: close\r\n\r\n",
    HEAD + b"Content-Length: 99\r\n\r\ndata: {",
)


@pytest.mark.parametrize("says", LOST)
@pytest.mark.parametrize("method", ["tools/call", "gatewright/server/stop"])
def test_of_what_was_asked_and_not_answered_is_not_said_that_nobody_was_reached(
    method: str, says: bytes
) -> None:
    found = lost(method, says)
    assert (found.exit_code, found.code) == (9, "not_known")
    assert "whether it was carried out is not known" in found.message
    assert "audit query" in found.hint
    assert "serve" not in found.hint


@pytest.mark.parametrize("says", LOST)
def test_of_a_question_that_does_nothing_nothing_is_in_doubt(says: bytes) -> None:
    assert lost("tools/list", says).exit_code == 4


def test_a_call_that_a_gateway_leaves_unanswered_is_in_doubt_and_one_that_was_not_sent_is_not() -> (
    None
):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/mcp"
        with pytest.raises(CliError, match=r"said nothing for 0\.2 s: whether") as caught:
            ask(Where(url), "tools/call", {"name": "t"}, timeout_s=0.2)
    assert caught.value.exit_code == 9
    with pytest.raises(CliError) as caught:
        ask(Where(url), "tools/call", {"name": "t"}, timeout_s=10)
    assert (caught.value.exit_code, caught.value.code) == (4, "gateway_unreachable")


def test_a_call_that_was_handed_on_is_in_doubt_as_well() -> None:
    for name, row in REASONS.items():
        data = {"reason": name, "_mgp": recovery(name, once=True)}
        found = from_error({"code": row.mgp_code, "message": "told", "data": data})
        assert found.exit_code == (9 if row.exit == 4 and row.retryable else row.exit), name


def test_a_gateway_that_hangs_up_is_told() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def hang_up() -> None:
            connection, _ = server.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/mcp"
        with pytest.raises(CliError) as caught:
            ask(Where(url), "ping", timeout_s=10)
        thread.join(10)
    assert caught.value.exit_code == 4


@pytest.mark.parametrize("url", ["", "ftp://x/mcp", "http://", "http://[", "127.0.0.1:8420"])
def test_what_is_no_url_is_a_usage_error(url: str) -> None:
    with pytest.raises(CliError, match="not an HTTP URL") as caught:
        ask(Where(url), "ping")
    assert caught.value.exit_code == 2


def test_all_pages_of_a_list_are_fetched(endpoint: Endpoint) -> None:
    pages = {None: (["a", "b"], "2"), "2": (["c"], "3"), "3": ([], None)}

    def page(message: dict[str, Any]) -> dict[str, Any]:
        names, after = pages[message["params"].get("cursor")]
        return {"tools": [{"name": name} for name in names], "nextCursor": after}

    endpoint.replies["tools/list"] = page
    found = ask_all(where(endpoint), "tools/list", "tools")
    assert [tool["name"] for tool in found] == ["a", "b", "c"]


def test_a_list_without_end_is_given_up(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gatewright.cli.gateway_client._PAGES", 5)
    endpoint.replies["tools/list"] = lambda _: {"tools": [], "nextCursor": "again"}
    with pytest.raises(CliError, match="has no end: 5 pages"):
        ask_all(where(endpoint), "tools/list", "tools")
    assert len(endpoint.asked) == 5


def test_a_result_is_shown_without_what_the_protocol_puts_around_it() -> None:
    said = {"resultType": "complete", "_meta": {"a": 1}, "tools": [], "_mgp": {}}
    assert unwrapped(said) == {"tools": [], "_mgp": {}}
