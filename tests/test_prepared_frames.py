"""Lines of a server that are no plain answers, in the middle of a prepared call: it ends, and is recorded, as a walked one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.prepared_twins import Caller, Gateway, twins

_PLAIN = '{"content":[{"type":"text","text":"x"}]}'
_CHUNK = '{"request_id":$ID,"index":0,"content":{"type":"text","text":"c"},"done":%s}'


def _answers(*members: str) -> list[str]:
    return [f'{{"jsonrpc":"2.0",{one}}}' for one in members]


def _says(method: str, params: str) -> str:
    return f'{{"jsonrpc":"2.0","method":"{method}","params":{params}}}'


IDS = [
    f'{{"jsonrpc":"2.0",{ident},"result":{_PLAIN}}}'
    for ident in (
        '"id":$ID,"id":$NEXT',
        '"id":$NEXT,"id":$ID',
        '"id":$NEXT',
        *('"id":$ID.0', '"id":$IDe0', '"id":0$ID', '"id":-$ID', '"id":$ID00000000000000000000'),
        *('"id":"$ID"', '"id":null', '"id":true', '"Id":$ID', '"\\u0069d":$ID'),
    )
]
SHAPES = [
    *_answers(
        f'"id":$ID,"result":{_PLAIN},"error":{{"code":1,"message":"e"}}',
        f'"id":$ID,"error":{{"code":1,"message":"e"}},"result":{_PLAIN}',
        f'"id":$ID,"result":{_PLAIN},"result":{{"content":[]}}',
        f'"id":$ID,"result":{_PLAIN},"method":"ping"',
        f'"id":$ID,"method":"sampling/createMessage","params":{{}},"result":{_PLAIN}',
        f'"id":$ID,"Result":{_PLAIN}',
        f'"id":$ID,"result":{_PLAIN},"x":1',
        *('"id":$ID', '"id":$ID,"result":null', '"id":$ID,"result":[]', '"id":$ID,"result":"x"'),
        *(
            '"id":$ID,"error":"x"',
            '"id":$ID,"error":{}',
            '"id":$ID,"error":{"code":"x","message":1}',
        ),
    ),
    f'{{"jsonrpc":"1.0","id":$ID,"result":{_PLAIN}}}',
    f'{{"id":$ID,"result":{_PLAIN}}}',
    f'[{{"jsonrpc":"2.0","id":$ID,"result":{_PLAIN}}}]',
    f'  {{"result":{_PLAIN} ,"id":$ID,"jsonrpc":"2.0"}}\r',
    f'{{"jsonrpc":"2.0","id":$ID,"result":{_PLAIN}}}' * 2,
    *("garbage", "", "null", "1", "{", "\0", "\ufeff{}"),
]
RESULTS = _answers(
    *(
        f'"id":$ID,"result":{one}'
        for one in (
            "{}",
            '{"content":[],"content":[{"type":"text","text":"y"}]}',
            '{"content":[{"type":"text","text":"x","_meta":{"a":1}}],"_meta":{"dev.gatewright/x":1,"\\u0064ev.gatewright/y":1}}',
            '{"content":[],"_meta":{"dev.gatewright/x":1}}',
            '{"content":[],"_mgp":{"status":"pending_approval"}}',
            '{"content":[],"resultType":"input_required","inputRequests":{"a":{"method":"roots/list"}}}',
            '{"content":[],"\\u005fmgp":{"status":"pending_approval"},"cacheScope":"x"}',
            '{"content":[],"result\\u0054ype":"input_required","inputRequests":{"a":{"method":"roots/list"}}}',
            '{"task":{"taskId":"T1","status":"working","createdAt":"2026-01-01T00:00:00Z","ttl":1000}}',
            '{"content":[],"resultType":"task","taskId":"T"}',
            '{"content":[{"type":"resource_link","uri":"a://b","name":"n"}]}',
            '{"content":[{"type":"text","text":"a\\u202eb\\u200b"}]}',
            '{"content":[{"type":"text","text":"\\ud800"}]}',
            '{"content":[{"type":"text","text":NaN}]}',
            '{"content":' + '{"a":' * 200 + "1" + "}" * 201,
        )
    ),
    '"id":$ID,"error":{"code":-32000,"message":"m","data":{"\\u005fmgp":{},"status":"pending\\u005fapproval"}}',
    '"id":$ID,"error":{"code":-32042,"message":"url","data":{"elicitations":[{"mode":"url","url":"javascript:1","message":"m","elicitationId":"e"}]}}',
)
SAID = [
    _says("notifications/progress", '{"progressToken":$ID,"progress":1}'),
    _says("notifications/progress", '{"progressToken":"$ID","progress":1}'),
    _says("notifications/cancelled", '{"requestId":$ID}'),
    _says("notifications/mgp.stream.chunk", _CHUNK % "false"),
    _says("notifications/mgp.stream.chunk", _CHUNK % "true"),
    _says("notifications/message", '{"level":"error","data":"d","_meta":{"progressToken":$ID}}'),
    _says("notifications/tasks/status", '{"taskId":"T1","status":"working"}'),
    _says("notifications/resources/updated", '{"uri":"a://b"}'),
    _says("tools/call", '{"name":"tell"}'),
    *_answers('"id":"$ID","method":"ping"', '"id":$ID,"method":"ping"'),
    *_answers(
        '"id":9,"method":"roots/list"', '"id":9,"method":"sampling/createMessage","params":{}'
    ),
]


async def test_whatever_lines_a_server_writes_a_prepared_call_ends_as_a_walked_one(
    tmp_path: Path,
) -> None:
    ident = prepared = 0
    async with twins(tmp_path) as both:

        async def hears(who: str, arguments: dict[str, Any]) -> str:
            nonlocal ident
            ident += 1
            params = {"name": "obedient__tell", "arguments": arguments}
            message = {"id": ident, "method": "tools/call", "params": params}

            def send(gateway: Gateway) -> Caller:
                gateway.callers[who].send(message)
                return gateway.callers[who]

            return await both.hears(send)

        for who in ("anna", "carl"):
            for lines in (*IDS, *SHAPES, *RESULTS, *SAID):
                while True:  # what always becomes an ordinary call is prepared more and more seldom
                    before = both.prepares.house.prepared.served
                    assert await hears(who, {"text": "so"}) == "so"
                    if both.prepares.house.prepared.served > before:
                        break
                assert await hears(who, {"text": lines, "how": "raw"}), lines
                both.recorded()
                prepared += both.prepares.house.prepared.served - before - 1
    assert prepared > len(IDS + SHAPES + RESULTS + SAID)
