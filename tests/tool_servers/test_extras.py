"""The server with extras says exactly what it has written down, and gives back exactly what it got."""

from __future__ import annotations

import json
from decimal import Decimal

import aiohttp
import pytest

from tests.tool_servers.drive import Child, listening, started
from tests.tool_servers.extras import EVERYTHING, HARD, NUMBERS, RESULTS, SPACED, TOOLS
from tests.tool_servers.wires import member

PARAMS = (
    '{"name":"mirror","arguments":{"value":[9007199254740993,1.10,1e400,null,"\\u00e9"], "" :{}},'
    '"_meta":{"progressToken":1.0,"v/x":null},"vendor":' + HARD + "}"
)


async def _raw_result(child: Child, method: str, params: str = "{}") -> str:
    await child.send(f'{{"jsonrpc":"2.0","id":"raw","method":"{method}","params":{params}}}')
    found = member(await child.line(), "result")
    assert found is not None
    return found


def test_the_hard_value_is_json_that_a_careless_reader_changes() -> None:
    exact = json.loads(HARD, parse_float=Decimal)["numbers"]
    careless = json.loads(json.dumps(json.loads(HARD)["numbers"]))
    assert "1.10" in NUMBERS
    assert exact != careless
    assert json.dumps(json.loads(HARD)) != HARD


async def test_the_mirror_gives_back_every_character_of_its_params() -> None:
    async with started("extras") as child:
        await child.hello()
        result = await _raw_result(child, "tools/call", PARAMS)
        assert member(result, "params") == PARAMS
        assert json.loads(result)["content"][0]["text"] == PARAMS


@pytest.mark.parametrize("method", sorted(RESULTS))
async def test_every_answer_arrives_as_it_was_written_down(method: str) -> None:
    async with started("extras") as child:
        await child.hello()
        assert await _raw_result(child, method) == RESULTS[method]


async def test_tool_results_keep_blanks_and_unknown_content() -> None:
    async with started("extras") as child:
        await child.hello()
        assert await _raw_result(child, "tools/call", '{"name":"spaced"}') == SPACED
        assert await _raw_result(child, "tools/call", '{"name":"everything"}') == EVERYTHING
        kinds = [block["type"] for block in json.loads(EVERYTHING)["content"]]
        assert "hologram" in kinds


async def test_unknown_methods_are_answered_with_their_own_params() -> None:
    async with started("extras") as child:
        await child.hello()
        assert await _raw_result(child, "vendor/x", HARD) == HARD
        assert (await child.refused("server/discover"))["code"] == -32601


async def test_an_error_carries_its_data_untouched() -> None:
    async with started("extras") as child:
        await child.hello()
        error = await child.refused("tools/call", {"name": "fail"})
        assert error["code"] == -31999
        assert error["data"]["vendor"]["numbers"][0] == 9007199254740993


async def test_chatter_comes_before_its_answer_with_every_extra_in_it() -> None:
    async with started("extras") as child:
        await child.hello()
        asked = {"name": "chatter", "_meta": {"progressToken": 7}}
        key = await child.ask("tools/call", asked)
        lines = [await child.line() for _ in range(4)]
        methods = [json.loads(line).get("method") for line in lines]
        assert methods == [
            "notifications/progress",
            "notifications/message",
            "notifications/vendor.news",
            None,
        ]
        assert member(lines[2], "params") == HARD
        assert json.loads(lines[3])["id"] == key


async def test_what_a_client_said_at_the_beginning_and_besides_can_be_read_back() -> None:
    async with started("extras") as child:
        await child.hello(can={"vendor": {"a": 1}})
        await child.send('{"jsonrpc":"2.0","method":"notifications/vendor.x","params":{"n":1.10}}')
        assert '"vendor"' in await child.text("hello_seen")
        notices = await child.call("notices_seen")
        texts = [block["text"] for block in notices["content"]]
        assert '{"method":"notifications/vendor.x","params":{"n":1.10}}' in texts


async def test_every_tool_on_the_list_can_be_called() -> None:
    async with started("extras") as child:
        await child.hello()
        listed = [tool["name"] for tool in (await child.request("tools/list"))["tools"]]
        assert listed == list(TOOLS)
        answers = [
            await child.answer_to(await child.ask("tools/call", {"name": name})) for name in listed
        ]
        assert [each.get("error", {}).get("code", 0) for each in answers].count(0) == len(TOOLS) - 1


async def test_over_http_the_mirror_is_as_exact_as_over_a_pipe() -> None:
    both = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
    async with listening("extras") as url, aiohttp.ClientSession(headers=both) as http:
        first = '{"jsonrpc":"2.0","id":0,"method":"initialize","params":{}}'
        async with http.post(url, data=first) as answer:
            ours = {"Mcp-Session-Id": answer.headers["Mcp-Session-Id"]}
        body = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{PARAMS}}}'
        async with http.post(url, data=body, headers=ours) as answer:
            result = member(await answer.text(), "result")
        assert result is not None
        assert member(result, "params") == PARAMS
