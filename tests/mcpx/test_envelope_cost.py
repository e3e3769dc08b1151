"""What an envelope costs to be read: what is looked at in steps of Python is counted, whatever somebody writes."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.mcp.wire import jsonrpc
from gatewright.mcpx import envelope as mcpx
from gatewright.mcpx.envelope import Envelope, Flaw, read

MIB = 1024 * 1024
HEAD = '"protocol":"mcpx/v0.1","id":"a","from":"x","kind":"chat"'
FILLERS = {
    "lists": "[],",
    "objects": "{},",
    "texts": '"",',
    "numbers": "1e1,",
    "quotes": '"\\"",',
    "escapes": '"\\u0041",',
}


def envelope(payload: str, beside: str = "") -> bytes:
    return f'{{{HEAD},"payload":{payload}{beside}}}'.encode()


def filled(filler: str, size: int = MIB) -> str:
    return "[" + FILLERS[filler] * (size // len(FILLERS[filler])) + "1]"


PLACES: dict[str, Callable[[str], bytes]] = {
    "beside": lambda said: envelope("{}", f',"\\u0041":{said}'),
    "inside": lambda said: envelope(f'{{"a":{said}}}', ',"\\u0041":1'),
    "twice": lambda said: envelope(f'{{"a":{said}}}', f',"payload":{{"b":{said}}}'),
    "before": lambda said: b'{"x":' + said.encode() + b"," + envelope("{}")[1:],
}
HOSTILE: dict[str, bytes] = {
    **{
        f"{place} {name}": build(filled(name))
        for name in FILLERS
        for place, build in PLACES.items()
    },
    "half": envelope('{"a":"\\ud800' + "\\n" * (MIB // 2) + '"}'),
    "halves": envelope('{"a":"' + "\\ud800" * (MIB // 6) + '"}'),
    "pairs and a half": envelope('{"a":"' + "\\ud83d\\ude00" * (MIB // 12) + '\\ud800"}'),
    "backslashes and a half": envelope('{"a":"' + "\\\\" * (MIB // 2) + '\\ud800"}'),
    "members": b"{%b}" % b",".join(b'"%x":1' % at for at in range(100_000)),
    "an id of numbers": envelope("{}").replace(b'"a"', filled("numbers").encode()),
    "a protocol of lists": envelope("{}").replace(b'"mcpx/v0.1"', filled("lists").encode()),
}


class Counted:
    """A pattern whose every place is counted."""

    def __init__(self, pattern: Any, seen: list[int]) -> None:
        self._pattern = pattern
        self._seen = seen

    def search(self, *given: Any) -> Any:
        self._seen.append(1)
        return self._pattern.search(*given)

    def match(self, *given: Any) -> Any:
        self._seen.append(1)
        return self._pattern.match(*given)

    def finditer(self, text: bytes) -> Any:
        for one in self._pattern.finditer(text):
            self._seen.append(1)
            yield one


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_done_in_steps_is_bounded(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[int] = []
    decoded: list[int] = []
    for pattern in ("_TOKEN", "_COLON", "_HALF"):
        monkeypatch.setattr(mcpx, pattern, Counted(getattr(mcpx, pattern), steps))
    real = jsonrpc.decode

    def counted(one: bytes) -> Any:
        decoded.append(len(bytes(one)))
        return real(one)

    monkeypatch.setattr(jsonrpc, "decode", counted)
    text = HOSTILE[name]
    assert len(text) > MIB / 2
    assert isinstance(read(text), Envelope | Flaw)
    assert len(steps) <= 20_010
    assert sum(decoded) <= 100_000


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("filler", FILLERS)
def test_the_payload_may_hold_anything_however_names_beside_it_are_spelled(
    filler: str, size: int
) -> None:
    payload = f'{{"id":1,"a":{filled(filler, size)},"id":2}}'
    found = read(envelope(payload, ',"\\u0041":1'))
    assert isinstance(found, Envelope)
    assert found.payload == payload.encode()
    twice = read(envelope(payload, ',"\\u0069d":"b"'))
    assert isinstance(twice, Flaw)
    assert twice.message == "id stands twice"


_ESCAPES = st.lists(
    st.sampled_from(
        (
            "\\ud83d",
            "\\uDE00",
            "\\uD800",
            "\\udfff",
            "\\n",
            "\\\\",
            '\\"',
            "\\u0041",
            "\\ud7ff",
            "x",
            "ud800",
        )
    ),
    max_size=12,
).map("".join)


@given(_ESCAPES)
def test_half_a_pair_is_replaced_and_nothing_else(said: str) -> None:
    found = read(envelope(f'{{"a":"{said}"}}'))
    assert isinstance(found, Envelope)
    assert jsonrpc.decode(found.payload)["a"] == "".join(
        "\ufffd" if "\ud800" <= one <= "\udfff" else one for one in json.loads(f'"{said}"')
    )


_NAMES = st.sampled_from(
    ("id", "\\u0069d", "payload", "p\\u0061yload", "x", "\\\\u0069d", "to\\u0000")
)
_VALUES = st.sampled_from(('{"id":1}', "{}", '{"payload":{}}', '["id"]', '"\\"id\\":1"', "1"))


def _letters(name: str) -> str:
    """What a loose reader has of a name."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", name).casefold()))


@given(st.lists(st.tuples(_NAMES, _VALUES), max_size=4), st.sampled_from(("", " ", "\n\t")))
def test_a_member_that_stands_twice_is_found_wherever_it_stands(
    more: list[tuple[str, str]], space: str
) -> None:
    members = [f'"{name}"{space}:{space}{value}' for name, value in more]
    own = [
        '"protocol":"mcpx/v0.1"',
        '"id":"a"',
        '"from":"x"',
        '"kind":"chat"',
        '"payload":{"p":"id"}',
    ]
    text = "{" + f"{space},{space}".join([*members, *own]) + "}"
    names = [name for name, _ in json.loads(text, object_pairs_hook=list)]
    judged = ("protocol", "id", "from", "kind", "payload", "ts", "to", "correlation_id")
    twice = any(names.count(name) > 1 for name in judged)
    twice |= any(_letters(one) in map(_letters, judged) for one in {*names} - {*judged})
    found = read(text.encode())
    assert isinstance(found, Flaw) == twice
