"""What a hostile caller sends: for each validator, gate, codec and door the texts that cost most to judge.

`calls(size)` yields (name, tool, JSON text of the arguments), each of about so many bytes: many values, long ones, deep ones, in
lists, in objects, and in members that no schema declares. `frames(size)` yields whole frames that are no honest call. Inert:
nothing here does anything where it is run.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

__all__ = ["CODE", "TOOLS", "api_calls", "calls", "frames", "objects", "schema_calls", "words"]

TOOLS = {
    "shell": "sandbox",
    "strict": "sandbox",
    "sql": "readonly",
    "fetch": "network_restricted",
    "code": "code_safety",
    "file": "paths",
}
"""Tool of the hostile server → the validator that judges it."""


def _many(unit: str, size: int) -> list[str]:
    return [unit] * max(1, size // (len(json.dumps(unit)) + 1))


def _long(unit: str, size: int) -> str:
    return (unit * (size // len(unit) + 1))[:size]


def _nested(unit: str, size: int) -> Any:
    """Lists of objects of lists, as deep as the door lets in, with the text at every end."""
    value: Any = _many(unit, size)
    for level in range(20):
        value = {"a": value} if level % 2 else [value]
    return value


def _members(unit: str, size: int) -> dict[str, str]:
    return {f"{number}{unit}": unit for number in range(min(9000, size // (2 * len(unit) + 16)))}


_SHELL = ("ls -la", "a|" * 60 + "a", "'" * 60, "$(" * 60, '"\\"' * 60, "{a,b}" * 30, "a=" * 60)
_DEEP_SQL = "SELECT " + "(" * 23 + "1" + ")" * 23
_WIDE_SQL = "SELECT " + ",".join(["a.b+1"] * 600)
_SQL = (
    "SELECT 1",
    _DEEP_SQL,
    _WIDE_SQL,
    "SELECT 1;" * 400,
    "SELECT " + "CASE WHEN 1 THEN " * 23 + "1",
    f"SELECT a FROM t{' JOIN t t' * 40}",  # noqa: S608 - judged, never run
    f"delete from t where 1{' and a=1' * 300}",  # noqa: S608 - judged, never run
)
_URLS = (
    "http://example.com/",
    "http://127.0.0.1%2eexample.com/",
    "http://\u24d4xample.com/",
    "http://" + "xn--a." * 40 + "com/",
    "http://a@" * 20 + "b",
    "10.0.0.1.nip.io",
)
CODE = (
    "print(1)\n",
    "x = " + "+".join(["1"] * 2400),
    "x = " + "[" * 90 + "]" * 90,
    "\n".join(["x = f'{a!r:>{b}}'"] * 500),
    "".join(f"a{i} = a{i - 1} + a{i - 1}\n" for i in range(1, 400)),
    "lambda: " * 400 + "0",
)
_PATHS = (
    "a/../b",
    "%252e%252e%252f" * 50,
    "../" * 900,
    "a" * 4000,
    "\u2024\u2024/" * 500,
    "a/" * 1900,
)

_UNITS = {
    "shell": _SHELL,
    "strict": _SHELL,
    "sql": _SQL,
    "fetch": _URLS,
    "code": CODE,
    "file": _PATHS,
}
_KEYS = {
    "shell": "command",
    "strict": "x",
    "sql": "sql",
    "fetch": "url",
    "code": "code",
    "file": "path",
}


def _forms(unit: str, key: str, size: int) -> dict[str, Any]:
    return {
        "list": {key: _many(unit, size)},
        "undeclared": {"unseen": [{key: one} for one in _many(unit, size * 2 // 3)][:9000]},
        "nested": {"deep": _nested(unit, size)},
        "members": _members(unit, size),
        "long": {key: _long(unit, size), "free": _long(unit + " ", size // 4)},
    }


def calls(size: int) -> Iterator[tuple[str, str, bytes]]:
    """Each as (name, tool, arguments)."""
    for tool, units in _UNITS.items():
        for number, unit in enumerate(units):
            for form, value in _forms(unit, _KEYS[tool], size).items():
                yield f"{TOOLS[tool]}.{tool}.{number}.{form}", tool, _text(value)
    yield from schema_calls(size)
    yield from _values(size)


def schema_calls(size: int) -> Iterator[tuple[str, str, bytes]]:
    """What costs most to hold against the schemas of `results.definitions`."""
    numbers = list(range(size // 8))
    rows = [{"a": number, "b": [number]} for number in range(size // 32)]
    yield "schema.unique_numbers", "unique", _text({"list": numbers})
    yield "schema.unique_objects", "unique", _text({"list": rows})
    yield (
        "schema.unique_lists",
        "unique",
        _text({"list": [[[one]] for one in numbers[: size // 16]]}),
    )
    yield "schema.pattern", "pattern", _text({"a": _long("a", size - 20) + "!"})
    yield "schema.patterns", "pattern", _text({"many": _many("aaaaaaaaaaaaaaaaaaaaaaaa!", size)})
    yield "schema.pattern_names", "pattern", _text(_members("aaaaaaaaaaaaaaaaaaaa!", size))
    deep: Any = {}
    for _ in range(55):
        deep = {"next": deep, "other": deep} if len(_text(deep)) < size // 2 else {"next": deep}
    yield "schema.recursive", "recursive", _text(deep)
    yield (
        "schema.any_of",
        "any_of",
        _text({"list": [{"k": one % 40} for one in numbers[: size // 12]]}),
    )
    yield "schema.enum", "enum", _text({"list": _many("value-9999", size)})
    yield "schema.multiple_of", "multiple", _text({"list": [1e308] * (size // 7)})
    yield "schema.big_integers", "multiple", b'{"list":[%b]}' % (b"9" * (size - 12))


def api_calls(size: int) -> Iterator[tuple[str, bytes]]:
    """(name, arguments) of the operation of `web.api_of` that has arguments in path, query, headers, cookies and a form: what costs
    most to encode, each once as much as was asked for, and once little enough for a URL."""
    for much, length in (("long", size), ("fitting", 40_000)):
        texts = {
            "slashes": _long("a/", length),
            "letters": _long("\u00fd", length // 6),
            "values": ["a"] * min(40_000, length // 4),
            "members": {f"k{one}": "a" for one in range(min(9000, length // 12))},
        }
        for kind, value in texts.items():
            for place in ("path", "query", "header", "cookie"):
                yield f"api.{place}.{kind}.{much}", _text({"path": "a", place: value})
            yield f"api.form.{kind}.{much}", _text({"path": "a", "body": {"x": value}})


def _values(size: int) -> Iterator[tuple[str, str, bytes]]:
    """Arguments that nobody judges, but everybody reads, digests and writes."""
    yield "json.ones", "echo", b'{"x":[' + b",".join([b"1"] * (size // 2 - 8)) + b"]}"
    yield "json.empty_lists", "echo", b'{"x":[' + b",".join([b"[]"] * (size // 3 - 8)) + b"]}"
    yield "json.members", "echo", _text({str(number): 0 for number in range(size // 10)})
    yield "json.same_member", "echo", b"{" + b",".join([b'"x":1'] * (size // 6)) + b"}"
    yield "json.decimals", "echo", b'{"x":[' + b",".join([b"1.00"] * (size // 5 - 4)) + b"]}"
    yield "json.long_decimal", "echo", b'{"x":0.' + b"1" * (size - 16) + b"}"
    yield "json.integer", "echo", b'{"x":' + b"9" * (size - 16) + b"}"
    yield "json.integers", "echo", b'{"x":[' + b",".join([b"9" * 4000] * (size // 4001)) + b"]}"
    yield "json.exponents", "echo", b'{"x":[' + b",".join([b"1e999"] * (size // 6)) + b"]}"
    yield "json.escapes", "echo", b'{"x":"' + b"\\u00e9" * (size // 6 - 4) + b'"}'
    yield (
        "json.escaped_envelope",
        "echo",
        b'{"x":"\\u00e9","y":[' + b",".join([b"{}"] * 9000) + b"]}",
    )
    yield "json.commas", "echo", _text({"x": "," * (size - 16)})
    yield "json.colons", "echo", _text({"x": ':"{[' * (size // 5)})
    yield "json.text", "echo", _text({"text": _long("all work and no play ", size - 32)})
    yield "secrets.in_arguments", "echo", _text({"text": _long("token: a ", size - 32)})
    yield "headers.argument", "headers", _text({"region": _long("\u00e9", size // 3)})
    yield from _names(size)


def _names(size: int) -> Iterator[tuple[str, str, bytes]]:
    """Names of members, each of which is compared with those that the schema of `named` has."""
    rows = min(480, size // 12)
    yield "names.rows", "named", _text({"rows": [{"x": 1}] * rows})
    yield (
        "names.variants",
        "named",
        _text({"either": [{f"k{one}": {"x": 1}} for one in range(rows // 2)]}),
    )
    yield "names.places", "named", _text({"placed": [{"x": 1}] * rows})
    for kind, unit in (
        ("wide", "\uff41"),
        ("ligatures", "\ufb03"),
        ("signs", "-"),
        ("accents", "a\u0301"),
    ):
        most = min(9000, size // (250 * len(unit.encode()) + 20))
        yield (
            f"names.{kind}",
            "named",
            _text({f"{unit * (240 // len(unit))}{one}": 1 for one in range(most)}),
        )


def objects(size: int) -> Iterator[tuple[str, bytes]]:
    """(name, JSON text of an object), for whatever frame has room for one: all that nobody judges, texts of every validator, and depth."""
    for name, tool, text in _values(size):
        if tool == "echo":
            yield name.removeprefix("json."), text
    yield "nested", _text({"deep": _nested(_URLS[0], size)})
    yield "names", _text(_members(CODE[0].strip(), size))
    most = min(40_000, size // 8)  # values: no more than are let in
    yield "ones_let_in", b'{"x":[' + b",".join([b"1"] * most) + b"]}"
    yield "lists_let_in", b'{"x":[' + b",".join([b"[]"] * most) + b"]}"
    yield "rows_let_in", _text({"x": [{"password": "a"}] * (most // 4)})
    yield "members_let_in", _text({f"k{one}": "token: a" for one in range(min(9000, size // 24))})
    yield "brackets", b'{"x":' + b"[" * (size // 2) + b"]" * (size // 2) + b"}"
    yield "schema", _text({"type": "object", "pattern": _long("(a|b)?", size // 2), "$ref": "#"})


def words(size: int) -> Iterator[tuple[str, str]]:
    """(name, text), for whatever frame has room for one."""
    yield "letters", _long("a", size)
    yield "words", _long("all work and no play ", size)
    yield "secrets", _long("token: a ", size)
    yield "humps", _long("aA", size)
    yield "dots", _long("../", size)
    yield "escaped", _long("%252e", size)
    yield "braces", _long("{a}", size)
    yield "colons", _long("a:", size)
    yield "unseen", _long("\u200b\u2063", size // 3)
    yield "wide", _long("\U0001f3f4\u00e9", size // 4)
    yield "controls", _long("\x01\n", size // 6)
    yield "han", _han(size // 3)
    yield "han_words", " ".join([_han(180)] * max(1, size // 541))
    yield "marks", _long("e\u0301\u0323", size // 5)
    yield "lone_marks", _long("\u0301 ", size // 3)
    yield "expanding", _long("\ufdfa", size // 3)  # eighteen characters each in NFKC


def _han(count: int) -> str:
    """So many characters of a script without spaces, hardly a pair of which comes twice."""
    return "".join(chr(0x4E00 + one * 7919 % 20_000) for one in range(count))


def frames(size: int) -> Iterator[tuple[str, bytes]]:
    """Whole bodies of a POST to the MCP endpoint."""
    yield "frame.brackets", b"[" * size
    yield "frame.braces", b'{"a":' * (size // 5)
    yield (
        "frame.batch",
        b"[" + b",".join([b'{"jsonrpc":"2.0","id":1,"method":"ping"}'] * (size // 42)) + b"]",
    )
    yield "frame.batch_of_numbers", b"[" + b"1," * (size // 2 - 2) + b"1]"
    yield (
        "frame.no_utf8",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"' + b"\xff" * (size - 64) + b'"}}',
    )
    twice = b'{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"\\u0061","y":['
    yield "frame.repeats", twice + b",".join([b'{"id":1}'] * ((size - 80) // 9)) + b"]}}"
    yield "frame.method", b'{"jsonrpc":"2.0","id":1,"method":"' + b"a/" * (size // 2 - 40) + b'"}'
    yield "frame.id", b'{"jsonrpc":"2.0","id":' + b"9" * (size - 50) + b',"method":"ping"}'
    yield "frame.spaces", b" " * (size - 50) + b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    yield from _strange_frames(size)
    yield (
        "frame.unknown_members",
        b'{"jsonrpc":"2.0","id":1,"method":"ping","x":[' + b"{}," * (size // 3 - 30) + b"{}]}",
    )


def _strange_frames(size: int) -> Iterator[tuple[str, bytes]]:
    """Frames with members that nobody knows, and batches each of whose messages is as much as is let in."""
    wide = "\uff41" * 240
    names = {f"{wide}{one}": 1 for one in range(min(1900, size // 740))}
    ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
    yield "frame.wide_names", _text({**ping, **dict([*names.items()][:900])})
    yield (
        "frame.wide_names_of_params",
        _text({**ping, "method": "tools/call", "params": {"name": "a", **names}}),
    )
    answers = {str(one): {wide: 1} for one in range(min(9000, size // 740))}
    params = {"name": "calm__echo", "inputResponses": answers}
    yield "frame.wide_names_of_answers", _text({**ping, "method": "tools/call", "params": params})
    for name, unit in (("exponents", b"1e1,"), ("lists", b"[],"), ("names", b'"\\u0061":1,')):
        inner = unit * (size // 50 // len(unit) - 40)
        value = b'{%b"z":1}' % inner if name == "names" else b"[%b1]" % inner
        one = b'{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"calm__echo","arguments":{"x":%b}}}'
        yield (
            f"frame.batch_of_{name}",
            b"[" + b",".join(one % (at, value) for at in range(50)) + b"]",
        )
    mark = b'"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}'
    said = b'{"name":"calm__echo",%b,"arguments":{"x":[%b1]}}' % (mark, b"1e1," * 24_000)
    yield (
        "frame.modern_exponents",
        b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":%b}' % said,
    )


def _text(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
