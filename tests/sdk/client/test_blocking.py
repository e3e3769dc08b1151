"""The client for programs without an event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import sys
import threading
from typing import Any

import pytest

from gatewright.sdk.client import Options, SyncClient
from gatewright.sdk.errors import TransportError
from tests.servers.rig import SERVERS

ASKER = [sys.executable, str(SERVERS / "asker.py")]
SECONDS = 20


def yes(params: dict[str, Any]) -> dict[str, Any]:
    return {"action": "accept", "content": {"name": "Ann"}}


def test_a_program_without_a_loop_does_the_same() -> None:
    heard: list[str] = []
    options = Options(elicit=yes, on_event=lambda method, _: heard.append(method))
    with SyncClient(ASKER, options) as client:
        assert "slow" in [one.name for one in client.list_tools()]
        assert client.call_tool("structured", {"a": 1, "b": 2}).value == {"sum": 3}
        assert '"Ann"' in client.call_tool("ask_elicitation").text
        assert client.call_tool("progress", {"steps": 1}, on_progress=lambda _: None).text
        uri = client.list_resources()[0].uri
        assert client.read_resource(uri).contents
        assert client.list_resource_templates()[0].uri
        prompt = client.list_prompts()[0].name
        assert client.get_prompt(prompt).messages
        ref = {"type": "ref/prompt", "name": "greet"}
        assert client.complete(ref, "who", "A").values is not None
        assert client.request("tools/list").raw["tools"]
        client.set_log_level("error")
        client.watch(uri)
        client.ping()
        assert client.hello is not None
        assert client.mgp is None


def test_several_threads_may_call_at_once() -> None:
    with SyncClient(ASKER) as client, concurrent.futures.ThreadPoolExecutor(8) as pool:

        def add(number: int) -> Any:
            return client.call_tool("structured", {"a": number, "b": 1}).value["sum"]

        assert list(pool.map(add, range(40), timeout=SECONDS)) == list(range(1, 41))


def test_a_call_that_is_not_waited_for_can_be_cancelled() -> None:
    began = threading.Event()
    with SyncClient(ASKER) as client:
        call = client.submit_tool("slow", {"seconds": 60}, on_progress=lambda _: began.set())
        assert began.wait(SECONDS)
        assert call.cancel()
        told: list[Any] = []
        while not told:
            told = client.call_tool("cancelled_ids").value["cancelled"]
        assert len(told) == 1


def test_a_client_that_cannot_connect_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with pytest.raises(TransportError), SyncClient(["/no/such/program"]):
        pass
    assert threading.active_count() == before


def test_a_client_outside_its_block_says_what_to_do() -> None:
    client = SyncClient(ASKER)
    with pytest.raises(TransportError, match="with"):
        client.list_tools()
    client.connect()
    client.close()
    client.close()
    with pytest.raises(TransportError, match="with"):
        client.call_tool("progress")


def test_a_client_that_is_closed_lets_go_of_threads_that_wait() -> None:
    client = SyncClient(ASKER, Options(elicit=yes))
    client.connect()
    begun, ended = threading.Event(), threading.Event()
    said: list[BaseException] = []

    async def never() -> None:
        begun.set()
        await asyncio.Event().wait()

    def wait() -> None:
        try:
            client._wait(never())
        except (TransportError, concurrent.futures.CancelledError) as problem:
            said.append(problem)
        ended.set()

    threading.Thread(target=wait, daemon=True).start()
    assert begun.wait(SECONDS)
    client.close()
    assert ended.wait(SECONDS)
    assert isinstance(said[0], TransportError)
