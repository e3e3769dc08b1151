"""Documents of APIs are read by a process, and the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from typing import Any

import pytest

from benchmarks.hostile.documents import DOCUMENTS, document
from gatewright.servers.openapi import reader
from gatewright.servers.openapi.document import definition_of, read_api
from gatewright.servers.openapi.reader import read
from gatewright.servers.openapi.text import BadDocument
from gatewright.transport.workers import Workers


def text(**more: Any) -> bytes:
    get = {
        "operationId": "one",
        "responses": {"200": {"description": "a"}},
        "description": "says a",
    }
    about = {
        "openapi": "3.1.0",
        "info": {"title": "t", "version": "1"},
        "paths": {"/a": {"get": get}},
    }
    return json.dumps({**about, **more}).encode()


async def test_what_is_known_is_what_the_document_says() -> None:
    known = await read(text(), {"x-tenant"})
    here = read_api(text(), {"x-tenant"})
    assert json.loads(bytes(known.listed)) == {
        "tools": [definition_of(one) for one in here.operations]
    }
    assert [one.name for one in known.api.operations] == ["one"]
    assert known.api.title == "t"


@pytest.mark.parametrize("said", [b"", b"[]", b"\xff", text(openapi="2.0"), text(paths=[])])
async def test_what_is_no_document_is_refused_in_words(said: bytes) -> None:
    with pytest.raises(BadDocument, match=r"document|JSON|read"):
        await read(said, ())


LONG = "x" * 100_000


def many(each: Any, **more: Any) -> bytes:
    """A document of a thousand operations that all have the same, written once."""
    paths = {f"/p{n}": {"post": {"operationId": f"o{n}", **each}} for n in range(1000)}
    return text(paths=paths, **more)


def in_components(kind: str, held: Any) -> dict[str, Any]:
    return {"components": {kind: {"c": held}}}


BODY = {"requestBody": {"$ref": "#/components/requestBodies/c"}}
JSON_BODY = {"application/json": {"schema": {"$ref": "#/components/schemas/c"}}}
REPEATED = {
    "schema": many(
        {"requestBody": {"content": JSON_BODY}}, **in_components("schemas", {"title": LONG})
    ),
    "enum": many(
        {"requestBody": {"content": JSON_BODY}}, **in_components("schemas", {"enum": [LONG]})
    ),
    "parameter": many(
        {"parameters": [{"$ref": "#/components/parameters/c"}]},
        **in_components("parameters", {"name": LONG, "in": "query", "schema": {}}),
    ),
    "body": many(
        BODY, **in_components("requestBodies", {"description": LONG, "content": {"text/plain": {}}})
    ),
    "security": many({}, security=[{LONG: []}]),
    "yaml": b"openapi: 3.1.0\nx: &x "
    + LONG.encode()
    + b"\npaths:\n"
    + b"".join(b"  /p%d: {get: {description: *x}}\n" % n for n in range(1000)),
}


@pytest.mark.parametrize("kind", REPEATED)
async def test_what_a_thousand_operations_refer_to_is_not_written_a_thousand_times(
    kind: str,
) -> None:
    """A hundred megabytes of a hundred kilobytes."""
    with pytest.raises(BadDocument, match="tools would have more than 32 MiB"):
        await read(REPEATED[kind], ())


SMALL = (
    "from gatewright.servers.openapi import reader; reader._MEMORY_BYTES = 300 << 20; reader.main()"
)


async def test_a_document_that_takes_too_much_memory_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Small(Workers):
        def __init__(self, *args: Any, **more: Any) -> None:
            super().__init__(*args, **more)
            self._command[:] = [sys.executable, "-c", SMALL]

    monkeypatch.setattr(reader, "Workers", Small)
    with pytest.raises(BadDocument, match="too much memory"):
        await read(b"[" + b"[]," * 6_000_000 + b"[]]", ())


async def test_who_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reader, "READ_S", 1)
    with pytest.raises(BadDocument, match="more than 1 s"):
        await read(document("yaml", 300_000), ())


@pytest.mark.parametrize("kind", [one for one in DOCUMENTS if one != "yaml"])
async def test_the_loop_goes_on_while_a_document_is_read(kind: str) -> None:
    longest = 0.0

    async def beat() -> None:
        nonlocal longest
        while True:
            before = time.thread_time()
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - before)

    beating = asyncio.create_task(beat())
    try:
        known = await read(document(kind, 200_000), ())
        assert len(known.listed) < 8_000_000
    except BadDocument:
        assert kind == "aliases"
    finally:
        beating.cancel()
    assert longest < 0.1
