"""The usual call, read in one step, is what the parser makes of it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatewright.mcp.protocol.client_params import params_of
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


IDS = (
    *(b"7 -7 0 -0 01 -01 1.0 1e3 -1e3 NaN - +1 1_0 null true []".split()),
    *(b"9" * 127, b"9" * 128, b"9" * 129, b"-" + b"9" * 127, b'{"a":1}'),
    *(b'"a"', b'""', b'"\\u0061"', b'"\\""', b'"\\/"', b'"id"', b'"{["', b'"\x01"', b'"\xff"'),
    *(b'"\xc3\xa9"', b'"' + b"x" * 126 + b'"', b'"' + b"x" * 127 + b'"'),
)
VALUES = (
    *(b'1 -0 1.50 1e400 0.30000000000000004 12345678901234567890123 "" "x" null [] {}'.split()),
    *(b'"\\ud800"', b'"\\ud83d\\ude00"', b'"\xff"', b'"\xed\xa0\x80"', b'"\\""', b'"{[\\"]}"'),
    *(
        b"[" * 40 + b"]" * 40,
        b"[" * 70 + b"]" * 70,
        b'{"a":{"b":[{}]}}',
        b'{"a":1,"a":2}',
        b"1.",
        b"[1,]",
    ),
)
NAMES = {
    b"id": b"i\\u0064",
    b"method": b"m\\u0065thod",
    b"params": b"Params",
    b"jsonrpc": b"jsonrpc ",
}
_said = st.sampled_from(VALUES)
_object = st.builds(
    lambda members: b"{" + b",".join(b'"%b":%b' % one for one in members) + b"}",
    st.lists(
        st.tuples(
            st.sampled_from((b"name", b"arguments", b"_meta", b"n\\u0061me", b"Name")), _said
        ),
        max_size=4,
    ),
)
_params = st.one_of(_object, _said, st.just(b'{"name":"x","arguments":{"a":1}}'))
_members = st.fixed_dictionaries(
    {
        b"jsonrpc": st.sampled_from((b'"2.0"',) * 6 + (b'"2\\u002e0"', b'"1.0"', b"2.0")),
        b"id": st.sampled_from(IDS),
        b"method": st.sampled_from((b'"tools/call"',) * 6 + (b'"tools\\/call"', b'"tools/list"')),
        b"params": _params,
    }
)


@st.composite
def _bodies(draw: st.DrawFn) -> bytes:
    """Of a call, with what may be odd about one: names, order, what stands twice or is missing, spaces, what stands before or behind."""
    said = [*draw(_members).items()]
    odd = draw(st.sampled_from((*"------", "twice", "missing", "named", "more")))
    at = draw(st.integers(0, 3))
    name, _ = said[at]
    if odd == "twice":
        said.append((name, draw(_members)[name]))
    elif odd == "missing":
        del said[at]
    elif odd == "named":
        said[at] = NAMES[name], said[at][1]
    elif odd == "more":
        said.append(draw(st.sampled_from(((b"trace_id", b'"t"'), (b"auth", b"1"), (b"x", b"{}")))))
    space = draw(st.sampled_from((b"", b"", b" ", b"\n", b"\x0c", b"/**/")))
    text = b",".join(
        b'"%b":%b%b' % (one, space, value) for one, value in draw(st.permutations(said))
    )
    before = draw(st.sampled_from((b"",) * 8 + (b" ", b"\xef\xbb\xbf")))
    behind = draw(st.sampled_from((b"",) * 8 + (b"\n", b"\x00", b"}", b"{}")))
    whole: bytes = before + b"{" + text + b"}" + behind
    return whole


def _spelled(value: Any) -> Any:
    """With the types, the order and the text of numbers in it."""
    if isinstance(value, dict):
        return [(name, _spelled(one)) for name, one in value.items()]
    if isinstance(value, list):
        return [_spelled(one) for one in value]
    return type(value), getattr(value, "text", repr(value))


@given(_bodies(), st.sampled_from((Limits(), Limits(depth=3), Limits(id_chars=4), Limits(keys=1))))
@settings(max_examples=600)
@example(CALL % (b"-0", b"{}"), Limits())
def test_whatever_is_read_in_one_step_is_what_the_parser_makes_of_it(
    data: bytes, limits: Limits
) -> None:
    """It reads less, and never anything else: what a gate judges is what its server is sent, whichever way it came."""
    found = plain_call(data, limits)
    if found is None:
        return
    ident, params, size = found
    parsed = jsonrpc.parse(data, limits)
    assert isinstance(parsed, Request)
    assert (parsed.method, parsed.trace_id) == ("tools/call", None)
    assert (parsed.id, len(parsed.params), ident.find(b"\\")) == (ident, size, -1)
    assert _spelled(jsonrpc.decode(parsed.params)) == _spelled(params)
    if params.keys() <= {"name", "arguments"}:
        assert params_of(parsed) == params
