"""Compiled schemas: each once, bounded, and known by the object that they came from."""

from __future__ import annotations

import msgspec
import pytest

from gatewright.mcp.wire import jsonrpc
from gatewright.schemas import compiled
from gatewright.schemas.compiled import Compiled
from gatewright.schemas.schema import CompiledSchema


def test_a_schema_is_compiled_once_for_the_object_that_it_came_from() -> None:
    kept, schema = Compiled(), {"type": "object"}
    assert kept.of(schema) is kept.of(schema)
    assert kept.of(dict(schema)) is not kept.of(schema)


def test_what_has_to_be_decoded_is_decoded_once() -> None:
    kept, raw, times = Compiled(), msgspec.Raw(b'{"type":"object"}'), []

    def decode(text: msgspec.Raw) -> object:
        times.append(text)
        return jsonrpc.decode(text)

    assert isinstance(kept.of(raw, decode), CompiledSchema)
    assert kept.of(raw, decode) is kept.of(raw, decode)
    assert len(times) == 1


@pytest.mark.parametrize("raw", [b'{"$ref":"https://schemas.example/x"}', b"7", b'{"type":'])
def test_what_cannot_be_used_is_a_sentence_about_the_schema(raw: bytes) -> None:
    found = Compiled().of(msgspec.Raw(raw), jsonrpc.decode)
    assert isinstance(found, str)
    assert found


def test_schemas_that_come_and_go_do_not_fill_the_memory() -> None:
    kept = Compiled()
    for number in range(20_000):
        assert isinstance(kept.of({"title": str(number)}), CompiledSchema)
    assert len(kept._known) <= 16_384


def test_schemas_that_are_heavy_are_not_kept_long() -> None:
    kept = Compiled()
    for number in range(40):
        kept.of({"propertyNames": {"pattern": r"^.{1,4000}$"}, "title": str(number)})
    held = [one for _, one in kept._known.values() if isinstance(one, CompiledSchema)]
    assert sum(one.heavy for one in held) == 32


def test_the_bounds_are_those_that_were_given() -> None:
    wide: object = {"properties": {f"p{number}": {} for number in range(20)}}
    assert isinstance(Compiled(subschemas=10).of(wide), str)
    assert isinstance(Compiled(depth=1).of({"items": {"items": {}}}), str)


def test_large_schemas_are_kept_within_so_many_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "_KEPT_BYTES", 1_000_000)
    kept = Compiled()
    large = [{"enum": [f"{number}-{one}" for one in range(1000)]} for number in range(20)]
    for one in large:
        kept.of(one)
    assert len(kept._known) < 6
    assert kept._weight == sum(kept._weights.values()) <= 1_000_000
    assert kept.of(large[-1]) is kept.of(large[-1])
    for number in range(100):
        kept.of({"maximum": number})
    assert len(kept._known) > 90
