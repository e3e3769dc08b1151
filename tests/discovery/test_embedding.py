from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.config import Discovery, Settings, Storage
from gatewright.config.embedder import Embedder as Written
from gatewright.discovery.embedders.embedder import EmbeddingFailed
from gatewright.discovery.embedders.embedder_settings import key_in_clear_text
from gatewright.discovery.embedders.local_model import LocalModel
from gatewright.discovery.embedding import Embedding, made
from gatewright.discovery.index import Entry, ToolIndex
from gatewright.discovery.kept_vectors import FILE, store_vectors
from gatewright.transport.slices import whole
from tests.discovery.embedders.endpoints import Endpoint, endpoint

TOOLS = [
    Entry("a/forecast", "a", "forecast", "Says the weather"),
    Entry("a/send", "a", "send", "Sends a mail"),
    Entry("a/read", "a", "read", "Reads a file"),
]


def index_of(entries: Sequence[Entry] = TOOLS) -> ToolIndex:
    index = ToolIndex()
    whole(index.put("a", entries))
    return index


class Wired:
    """An embedding by a served endpoint."""

    def __init__(self, served: Endpoint, folder: Path | None = None, **more: Any) -> None:
        more = {"batch": 2, "query_timeout_ms": 60000, **more}
        written = Written(type="endpoint", url=served.url, model="m", **more)
        self.settings = Settings(
            storage=Storage(path=folder or Path("/nowhere")), discovery=Discovery(embedder=written)
        )
        self.now = 0.0
        self.embedding = Embedding(lambda: self.settings, folder, clock=lambda: self.now)

    def says(self, **more: Any) -> None:
        embedder = replace(self.settings.discovery.embedder, **more)
        discovery = replace(self.settings.discovery, embedder=embedder)
        self.settings = replace(self.settings, discovery=discovery)

    async def until(self, index: ToolIndex, done: Callable[[], bool]) -> None:
        async with asyncio.timeout(20):
            while not done():
                self.embedding.look(index)
                await asyncio.sleep(0.01)

    async def settled(self) -> None:
        """Wait until nothing is embedded in the background."""
        working = self.embedding._working
        if working is not None:
            await asyncio.wait([working], timeout=20)


def covered(index: ToolIndex) -> int:
    meanings = index.meanings
    return 0 if meanings is None else sum(meanings.has(slot) for slot, _ in index.found())


async def test_every_tool_is_embedded_in_batches_and_what_comes_later_too() -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        assert [len(one["input"]) for one in served.asked] == [2, 1]
        vector = await wired.embedding.asked("umbrella")
        assert vector is not None
        hits = whole(index.search("umbrella", vector=vector)).hits
        assert hits[0].tool_id == "a/forecast"
        whole(index.put("a", [*TOOLS, Entry("a/write", "a", "write", "Writes a file")]))
        await wired.until(index, lambda: covered(index) == 4)
        await wired.embedding.close()


async def test_a_restart_embeds_nothing_again(tmp_path: Path) -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served, tmp_path)
        await wired.until(index, lambda: covered(index) == 3)
        await wired.embedding.close()
        assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
        before = len(served.asked)
        again, other = index_of(), Wired(served, tmp_path)
        await other.until(again, lambda: covered(again) == 3)
        assert len(served.asked) == before
        whole(again.put("a", [*TOOLS[1:], Entry("a/write", "a", "write", "Writes a file")]))
        await other.until(again, lambda: covered(again) == 3)
        await other.embedding.close()
        assert served.texts[-1] == "a write: Writes a file"
        assert len(served.asked) == before + 1


async def test_what_is_being_written_when_the_gateway_stops_is_there_afterwards(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(*given: Any) -> None:
        time.sleep(0.3)
        store_vectors(*given)

    monkeypatch.setattr("gatewright.discovery.embedding.store_vectors", slow)
    async with endpoint() as served:
        index, wired = index_of(), Wired(served, tmp_path)
        await wired.until(index, lambda: covered(index) == 3)
        await wired.embedding.close()
        assert (tmp_path / FILE).exists()


async def test_what_is_in_reserve_keeps_its_vector(tmp_path: Path) -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served, tmp_path)
        await wired.until(index, lambda: covered(index) == 3)
        whole(index.put("a", []))
        whole(index.put("b", [Entry("b/x", "b", "x", "Of a file")]))
        await wired.until(index, lambda: covered(index) == 1)
        await wired.embedding.close()
        again, other = index_of(), Wired(served, tmp_path)
        before = len(served.asked)
        await other.until(again, lambda: covered(again) == 3)
        await other.embedding.close()
        assert len(served.asked) == before


async def test_another_model_begins_anew_in_the_background() -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        assert await wired.embedding.asked("umbrella") is not None
        served.dimensions = 9
        wired.says(model="other")
        wired.embedding.look(index)
        assert index.meanings is None
        assert await wired.embedding.asked("umbrella") is None
        await wired.until(index, lambda: covered(index) == 3)
        assert {one["model"] for one in served.asked[-2:]} == {"other"}
        vector = await wired.embedding.asked("umbrella")
        assert vector is not None
        assert len(vector) == 9
        wired.says(type="built-in")
        wired.embedding.look(index)
        assert index.meanings is None
        assert await wired.embedding.asked("umbrella") is None
        await wired.embedding.close()


async def test_a_query_that_takes_too_long_is_let_go_and_not_asked_again_at_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served, query_timeout_ms=100)
        await wired.until(index, lambda: covered(index) == 3)
        served.wait_s = 1.0
        many = len(served.asked)
        with caplog.at_level(logging.WARNING):
            assert await wired.embedding.asked("umbrella") is None
            assert await wired.embedding.asked("weather") is None
        assert len(served.asked) == many + 1
        assert caplog.text.count("built-in vectors for now") == 1
        served.wait_s, wired.now = 0.0, 6.0
        wired.says(query_timeout_ms=5000)
        await wired.until(index, lambda: covered(index) == 3)
        assert await wired.embedding.asked("weather") is not None
        many = len(served.asked)
        assert await wired.embedding.asked("weather") is not None
        assert len(served.asked) == many
        await wired.embedding.close()


async def test_queries_that_fail_together_are_one_failure() -> None:
    """Three of them were three failures, after which nobody was found by the embedder for five minutes."""
    async with endpoint() as served:
        index, wired = index_of(), Wired(served, query_timeout_ms=100)
        await wired.until(index, lambda: covered(index) == 3)
        served.wait_s = 1.0
        many = len(served.asked)
        found = await asyncio.gather(*(wired.embedding.asked(f"mail {n}") for n in range(30)))
        assert found == [None] * 30
        assert len(served.asked) <= many + 8
        served.wait_s, wired.now = 0.0, 5.0
        wired.says(query_timeout_ms=5000)
        await wired.until(index, lambda: covered(index) == 3)
        assert await wired.embedding.asked("weather") is not None
        await wired.embedding.close()


async def test_queries_beyond_those_that_are_asked_at_once_are_no_failure() -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        served.wait_s = 0.1
        found = await asyncio.gather(*(wired.embedding.asked(f"mail {n}") for n in range(30)))
        assert [one is not None for one in found] == [True] * 8 + [False] * 22
        assert await wired.embedding.asked("weather") is not None
        await wired.embedding.close()


@pytest.mark.parametrize(
    ("status", "asked"), [(400, True), (413, True), (422, True), (401, False), (429, False)]
)
async def test_a_query_that_is_refused_for_its_text_turns_nothing_off(
    status: int, asked: bool
) -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        served.status = status
        assert await wired.embedding.asked("odd") is None
        served.status = 200
        assert (await wired.embedding.asked("weather") is not None) == asked
        await wired.embedding.close()


async def test_an_endpoint_that_fails_is_asked_again_later() -> None:
    async with endpoint() as served:
        served.status = 500
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: len(served.asked) == 1)
        await asyncio.sleep(0.05)
        for _ in range(5):
            wired.embedding.look(index)
            await asyncio.sleep(0.01)
        assert len(served.asked) == 1
        assert covered(index) == 0
        served.status, wired.now = 200, 5.0
        await wired.until(index, lambda: covered(index) == 3)
        await wired.embedding.close()


async def test_tools_that_fail_while_queries_succeed_are_asked_for_less_and_less_often(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Each query that succeeded made the next failure a first one: a warning and a batch every five seconds, for ever."""
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        served.dimensions = 8  # of which the others have none
        whole(index.put("b", [Entry("b/write", "b", "write", "Writes a file")]))
        batches, found = [], 0
        with caplog.at_level(logging.WARNING):
            for second in range(0, 1000, 6):
                wired.now = float(second)
                many = len(served.asked)
                wired.embedding.look(index)
                await wired.settled()
                if len(served.asked) > many:
                    batches.append(second)
                    continue
                served.dimensions = 6
                found += await wired.embedding.asked(f"mail {second}") is not None
                served.dimensions = 8
        assert batches == [0, 6, 36, 336, 636, 936]
        assert found > 100
        assert caplog.text.count("for now") == 1
        await wired.embedding.close()


async def test_what_the_former_embedder_leaves_undone_is_no_failure_of_the_next() -> None:
    """Its queries go by the built-in vectors, and the next one is asked at once."""
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        ended = asyncio.Event()

        async def ends(texts: Sequence[str], *, asked: bool) -> Any:
            await ended.wait()
            raise EmbeddingFailed("it was ended")

        wired.embedding._embedder.embed = ends  # type: ignore[union-attr, method-assign]
        former = asyncio.ensure_future(wired.embedding.asked("umbrella"))
        await asyncio.sleep(0)
        wired.says(model="other")
        wired.embedding.look(index)
        ended.set()
        assert await former is None
        await wired.until(index, lambda: covered(index) == 3)
        assert await wired.embedding.asked("weather") is not None
        await wired.embedding.close()


async def test_vectors_of_two_lengths_are_not_mixed() -> None:
    async with endpoint() as served:
        index, wired = index_of(), Wired(served)
        await wired.until(index, lambda: covered(index) == 3)
        served.dimensions = 8
        whole(index.put("a", [*TOOLS, Entry("a/write", "a", "write", "Writes a file")]))
        many = len(served.asked)
        await wired.until(index, lambda: len(served.asked) > many)
        await asyncio.sleep(0.05)
        assert index.meanings is not None
        assert index.meanings.dimensions == 6
        await wired.embedding.close()


async def test_an_embedder_is_made_of_what_is_configured(tmp_path: Path) -> None:
    settings = Settings(storage=Storage(path=tmp_path))
    assert made(settings) is None
    model = Discovery(embedder=Written(type="model", path="m"))
    assert isinstance(made(replace(settings, discovery=model)), LocalModel)
    lost = Written(type="endpoint", url="http://x", model="m", key="${NOT_SET_ANYWHERE}")
    embedder = made(replace(settings, discovery=Discovery(embedder=lost)))
    assert embedder is not None
    with pytest.raises(EmbeddingFailed, match="NOT_SET_ANYWHERE"):
        await embedder.embed(["x"], asked=True)


@pytest.mark.parametrize(
    ("url", "key", "warned"),
    [
        ("http://embed.example/v1", "k", True),
        ("HTTP://192.0.2.7:8080/v1", "${secret:EMBED}", True),
        ("http://embed.example/v1", "", False),
        ("https://embed.example/v1", "k", False),
        ("http://localhost:11434/v1", "k", False),
        ("http://127.0.0.1:1/v1", "k", False),
        ("http://[::1]:1/v1", "k", False),
    ],
)
async def test_a_key_that_goes_over_the_network_in_clear_text_is_warned_of(
    url: str, key: str, warned: bool, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    written = Written(type="endpoint", url=url, model="m", key=key)
    settings = Settings(discovery=Discovery(embedder=written), storage=Storage(path=tmp_path))
    embedding = Embedding(lambda: settings, None, lambda _: None)
    with caplog.at_level(logging.WARNING, "gatewright.discovery"):
        embedding.look(index_of())
    assert ("without TLS" in caplog.text) == warned
    assert bool(key_in_clear_text(written)) == warned
    assert key_in_clear_text(replace(written, type="model")) == ""
    await embedding.close()
