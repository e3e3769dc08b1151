"""How clients come in by WebSocket and by POST, on real sockets."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from gatewright.dialects.groundhog.endpoint import SUBPROTOCOL, GroundhogEndpoint
from gatewright.dialects.groundhog.listener import Site
from gatewright.mcp.server.guard import Guard
from gatewright.mcp.server.http_app import App
from gatewright.transport.http_server import serve
from tests.dialects.client import SECONDS
from tests.dialects.groundhog.rig import Rig
from tests.dialects.house import ANN, text
from tests.dialects.steps import Hang

KEY = {"authorization": "Bearer key-ann"}
LIST = {"jsonrpc": "2.0", "id": "1", "method": "session/get", "params": {}}


@asynccontextmanager
async def served(rig: Rig, *, posts: bool = False) -> AsyncIterator[str]:
    """The address of a site whose path is `/hog`."""
    door = GroundhogEndpoint(rig.parts)
    app = App(rig.house.front, Guard(), frozenset({"small"}), [door.routes])
    server = await serve(Site(app, door, "/hog", posts=posts), host="127.0.0.1", port=0)
    try:
        yield server.url
    finally:
        await app.close()
        await server.stop(1.0)


@asynccontextmanager
async def browsing() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(SECONDS)) as http:
        yield http


async def asked(socket: aiohttp.ClientWebSocketResponse, message: dict[str, Any]) -> Any:
    await socket.send_str(json.dumps(message))
    return json.loads((await asyncio.wait_for(socket.receive(), SECONDS)).data)


@pytest.mark.parametrize("path", ["/hog", "/mcp", "/mcp/small"])
async def test_an_upgrade_without_a_subprotocol_is_groundhogs(path: str) -> None:
    """GRH-msg-1 and GRH-cfg-3."""
    async with Rig() as rig, served(rig) as url, browsing() as http:
        socket = await http.ws_connect(url + path, headers=KEY)
        assert socket.protocol is None
        assert (await asked(socket, LIST))["result"]["user_context"]["user_id"] == "ann"
        named = await http.ws_connect(url + path, headers=KEY, protocols=(SUBPROTOCOL,))
        assert named.protocol == SUBPROTOCOL
        for one in (socket, named):
            await one.close()


async def test_the_subprotocol_mcp_stays_mcp() -> None:
    async with Rig() as rig, served(rig) as url, browsing() as http:
        socket = await http.ws_connect(url + "/hog", headers=KEY, protocols=("mcp",))
        assert socket.protocol == "mcp"
        answer = await asked(socket, LIST)
        assert "error_type" not in json.dumps(answer)
        await socket.close()


async def test_a_handshake_that_comes_first_makes_it_mcp() -> None:
    async with Rig() as rig, served(rig) as url, browsing() as http:
        rig.house.script.does("echo", text("hi"))
        socket = await http.ws_connect(url + "/hog", headers=KEY)
        params = {"protocolVersion": "2025-11-25", "capabilities": {}}
        hello = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        assert (await asked(socket, hello))["result"]["protocolVersion"] == "2025-11-25"
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "echo"}}
        assert (await asked(socket, call))["result"]["content"][0]["text"] == "hi"
        assert rig.house.script.calls[0].door == "websocket"
        await socket.close()


async def test_a_wrong_credential_is_refused_before_the_upgrade() -> None:
    """GRH-err-6 and GRH-test-2 (decision C-27)."""
    async with Rig() as rig, served(rig) as url, browsing() as http:
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(url + "/hog", headers={"authorization": "Bearer wrong"})
        assert caught.value.status == 401
        (noted,) = rig.notes.found
        assert (noted.caller, noted.door, noted.outcome.reason) == (
            None,
            "groundhog",
            "auth_failed",
        )


async def test_too_many_connections_without_a_credential_are_turned_away() -> None:
    """GRH-test-6."""
    async with Rig(waiting_most=2) as rig, served(rig) as url, browsing() as http:
        sockets = [await http.ws_connect(url + "/hog") for _ in range(2)]
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(url + "/hog")
        assert caught.value.status == 503
        known = await http.ws_connect(url + "/hog", headers=KEY)
        for one in (*sockets, known):
            await one.close()


async def test_a_page_from_elsewhere_gets_nowhere() -> None:
    """GRH-test-2: Host and Origin are judged before the door is."""
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        foreign = {**KEY, "origin": "https://evil.example"}
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await http.ws_connect(url + "/hog", headers=foreign)
        assert caught.value.status == 403
        async with http.post(url + "/hog", json=LIST, headers=foreign) as answer:
            assert answer.status == 403


async def test_a_post_is_one_message_and_its_answer() -> None:
    """GRH-cfg-2."""
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        async with http.post(url + "/hog", json=LIST, headers=KEY) as answer:
            assert answer.status == 200
            body = await answer.json()
        assert body["result"]["user_context"]["user_id"] == "ann"
        silent = {"jsonrpc": "2.0", "method": "session/get"}
        async with http.post(url + "/hog", json=silent, headers=KEY) as answer:
            assert (answer.status, await answer.read()) == (202, b"")
        async with http.get(url + "/hog", headers=KEY) as answer:
            assert answer.status == 405
        assert len(rig.parts.sessions) == 0


@pytest.mark.parametrize("many", [False, True])
async def test_a_post_whose_client_leaves_ends_what_it_asked_for(many: bool) -> None:
    """No connection counts it any more, so there would be no bound to how much of it runs."""
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        hang = Hang()
        rig.house.script.does("echo", hang)
        call = {"tool_id": "echo", "parameters": {}}
        message = {"jsonrpc": "2.0", "id": "1", "method": "tools/invoke", "params": call}
        body = [message] if many else message
        asking = asyncio.ensure_future(http.post(url + "/hog", json=body, headers=KEY))
        await asyncio.wait_for(hang.began.wait(), SECONDS)
        asking.cancel()
        async with asyncio.timeout(SECONDS):
            while not rig.house.script.cancelled:
                await asyncio.sleep(0.01)
        assert rig.house.script.cancelled == ["echo"]


@pytest.mark.parametrize("headers", [{}, {"authorization": "Bearer wrong"}])
async def test_a_post_of_nobody_is_refused_in_groundhogs_words(headers: dict[str, str]) -> None:
    """GRH-cfg-5 and GRH-err-6."""
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        async with http.post(url + "/hog", json=LIST, headers=headers) as answer:
            assert answer.status == 401
            error = (await answer.json())["error"]
        assert error["data"]["error_code"] == "authentication_failed"
        (noted,) = rig.notes.found
        assert noted.caller is None
        assert noted.outcome.message == error["data"]["error_message"]


async def test_beyond_what_is_recorded_of_nobody_the_answer_is_the_same() -> None:
    """GRH-err-11, GRH-test-3: the record of nobody's requests is bounded, and nobody can tell by the answer."""
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        rig.notes.room = False
        async with http.post(url + "/hog", json=LIST) as answer:
            assert answer.status == 401
            code = (await answer.json())["error"]["data"]["error_code"]
        assert code == "authentication_failed"
        rig.notes.broken = True
        async with http.post(url + "/hog", json=LIST) as answer:
            assert answer.status == 503
            assert (await answer.json())["error"]["data"]["error_type"] == "system_error"


async def test_sessions_go_on_over_posts_by_their_names() -> None:
    async with Rig() as rig, served(rig, posts=True) as url, browsing() as http:
        for ident in ("1", "2"):
            named = {"security_context": {"session_id": "session456"}}
            message = {**LIST, "id": ident, "params": named}
            async with http.post(url + "/hog", json=message, headers=KEY) as answer:
                assert (await answer.json())["result"]["session_id"] == "session456"
        assert len(rig.parts.sessions) == 1
        assert rig.parts.sessions.open(ANN, "session456") is rig.parts.sessions.find(
            ANN, "session456"
        )


@pytest.mark.parametrize(
    "early", [["x"] * 400, [json.dumps(LIST)] * 400, ["x" * 20_000]], ids=["junk", "asks", "long"]
)
async def test_who_says_much_before_saying_who_it_is_is_hung_up_on(early: list[str]) -> None:
    """One message is enough in order to say so; others are not read."""
    async with Rig() as rig, served(rig) as url, browsing() as http:
        socket = await http.ws_connect(url + "/hog")
        for one in early:
            await socket.send_str(one)
        while (await asyncio.wait_for(socket.receive(), SECONDS)).type is aiohttp.WSMsgType.TEXT:
            pass
        assert socket.closed
