"""The usual call, read in one step, is what the parser makes of it."""

from __future__ import annotations

import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.json_bounds import Limits
from gatewright.mcp.wire.jsonrpc import Request
from gatewright.mcp.wire.plain_call import plain_call

CALL = b'{"jsonrpc":"2.0","id":%b,"method":"tools/call","params":%b}'


@pytest.mark.parametrize("ident", [b"1", b"-7", b'"a"', b"0", b'""'])
@pytest.mark.parametrize("params", [b"{}", b'{"name":"x","arguments":{"a":[1.50,"\\""]}}'])
def test_a_plain_call_is_read_as_parse_and_decode_read_it(ident: bytes, params: bytes) -> None:
    data = CALL % (ident, params)
    parsed = jsonrpc.parse(data)
    assert isinstance(parsed, Request)
    found = plain_call(data, Limits())
    assert found is not None
    assert found == (parsed.id, jsonrpc.decode(parsed.params), len(parsed.params))
    assert jsonrpc.encode(found[1]) == jsonrpc.encode(jsonrpc.decode(parsed.params))


@pytest.mark.parametrize(
    "data",
    [
        CALL % (b"1.5", b"{}"),
        CALL % (b"null", b"{}"),
        CALL % (b'"\\u0061"', b"{}"),
        CALL % ('"é"'.encode(), b"{}"),
        CALL % (b"1", b"[]"),
        CALL % (b"1", b"no"),
        CALL % (b"1", b'{"a":' + b"[" * 100 + b"]" * 100 + b"}"),
        CALL % (b"9" * 1000, b"{}"),
        CALL % (b"1", b'{"a":"\xff"}'),
        CALL.replace(b"tools/call", b"tools/list") % (b"1", b"{}"),
        CALL.replace(b'"2.0"', b'"1.0"') % (b"1", b"{}"),
        (CALL % (b"1", b"{}")).replace(b'"id":1', b'"id":1,"id":2'),
        (CALL % (b"1", b"{}")).replace(b'"id":1', b'"id":1,"trace_id":"t"'),
        (CALL % (b"1", b'{"a":1}')).replace(b'"method"', b'"params":{},"method"'),
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        b"[]",
    ],
)
def test_what_is_no_plain_call_is_left_to_parse(data: bytes) -> None:
    assert plain_call(data, Limits()) is None
