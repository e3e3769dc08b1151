"""Documents of APIs are read by a process, and the loop goes on meanwhile."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest

from benchmarks.hostile.documents import DOCUMENTS, document
from gatewright.servers.openapi import reader
from gatewright.servers.openapi.document import definition_of, read_api
from gatewright.servers.openapi.reader import read
from gatewright.servers.openapi.text import BadDocument


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
