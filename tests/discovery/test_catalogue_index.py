from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.config import Discovery
from gatewright.config.embedder import Embedder
from gatewright.discovery import catalogue_index, kept_index
from gatewright.discovery.catalogue_index import CatalogueIndex, entry_of
from gatewright.discovery.index import ToolIndex
from gatewright.discovery.kept import Kept
from gatewright.discovery.kept_index import FILE, load
from tests.discovery.embedders.endpoints import endpoint
from tests.discovery.houses import House, defined
from tests.discovery.offers import made


async def found(house: House, query: str) -> list[str]:
    return [one.tool_id for one in (await house.index.search(query, lambda _: True)).hits]


async def test_it_follows_what_servers_list_one_by_one() -> None:
    """MGP-16.4-1."""
    house = House(
        {"a": [defined("read_file", "Read a file")], "b": [defined("send_mail", "Send a mail")]}
    )
    assert await found(house, "read file") == ["a/read_file"]
    taken: list[str] = []
    assert house.index.index is not None
    put = house.index.index.put

    def noted(server: str, entries: Any) -> Any:
        taken.append(server)
        return put(server, entries)

    house.index.index.put = noted  # type: ignore[method-assign]
    house.lists("b", [defined("write_file", "Write a file")])
    assert (await found(house, "write file"))[0] == "b/write_file"
    assert "b/send_mail" not in await found(house, "send mail")
    assert taken == ["b"]
    assert house.index.look() is None
    await house.index.close()


async def test_what_a_server_that_is_gone_listed_is_not_there_any_more() -> None:
    """MGP-16.4-1."""
    tools = {"a": [defined("read_file", "Read a file")], "b": [defined("send_mail", "Send it")]}
    house, without = House(tools), House({"a": tools["a"]})
    assert await found(house, "send mail") == ["b/send_mail"]
    house.now.take(house.now.settings, house.now.gates, without.now.servers, without.now.known)
    assert await found(house, "send mail") == []
    assert house.index.index is not None
    assert house.index.index.servers == {"a"}
    await house.index.close()


async def test_the_engine_is_loaded_when_somebody_searches_and_once() -> None:
    house = House({"a": [defined("read_file", "Read a file")]})
    assert not house.index.wanted
    both = await asyncio.gather(found(house, "read"), found(house, "file"))
    assert list(both) == [["a/read_file"]] * 2
    assert isinstance(house.index.index, ToolIndex)
    await house.index.close()


async def test_a_search_waits_for_what_was_listed_and_not_for_ever() -> None:
    house = House({"a": [defined(f"tool_{n}", "Do it") for n in range(50)]})
    task = house.index.look()
    assert task is not None
    assert house.index.look() is task
    await asyncio.wait_for(asyncio.shield(task), 10)
    assert len((await house.index.search("tool", lambda _: True, limit=50)).hits) == 50


async def test_what_may_not_be_used_is_not_found() -> None:
    house = House({"a": [defined("read_file"), defined("read_mail")]})
    hits = (await house.index.search("read", lambda one: one.endswith("mail"))).hits
    assert [one.tool_id for one in hits] == ["a/read_mail"]


async def test_a_flaw_in_the_index_does_not_end_searches() -> None:
    class Broken(ToolIndex):
        def put(self, server: str, entries: Any) -> Any:
            raise RuntimeError("no room")

    house = House({"a": [defined("read_file")]})
    house.index.index = Broken()
    assert await found(house, "read") == []


def test_an_entry_has_words_of_all_kinds() -> None:
    """MGP-16.4-2."""
    tool = made(
        "a",
        "read_file",
        needs=["filesystem.read"],
        description="Read it",
        keywords=["open", 5, ""],
        categories=["data"],
    )
    entry = entry_of(tool, ("files",))
    assert (entry.tool_id, entry.server, entry.name) == ("a/read_file", "a", "read_file")
    assert entry.categories == ("files", "data", "filesystem/read")
    assert entry.keywords == ("open",)
    assert entry.description == "Read it"


def test_members_of_another_kind_count_as_none() -> None:
    tool = made("a", "x", description=5, keywords="all", categories={"a": 1})
    entry = entry_of(tool)
    assert (entry.description, entry.keywords, entry.categories) == ("", (), ())


async def test_what_one_server_lists_keeps_nobody_from_the_tools_of_others() -> None:
    house = House({"a": [defined("read_file")], "b": [defined("read_mail")]})
    house.index.index = made = ToolIndex()
    put = made.put

    def choosy(server: str, entries: Any) -> Any:
        if server == "a":
            raise ValueError("unreadable")
        return put(server, entries)

    made.put = choosy  # type: ignore[method-assign]
    assert await found(house, "read") == ["b/read_mail"]
    assert house.index.look() is None  # it is not tried again and again


async def test_an_accent_that_stands_alone_is_no_word() -> None:
    house = House({"a": [defined("read_file", "\u0301 read")], "b": [defined("read_mail")]})
    assert (await found(house, "read \u0301 mail"))[0] == "b/read_mail"
    assert (await found(house, "read file"))[0] == "a/read_file"


async def test_a_start_reads_what_was_kept(tmp_path: Path) -> None:
    tools = {"a": [defined("read_file", "Read a file")], "b": [defined("send_mail")]}
    first = House(tools)
    first.index = CatalogueIndex(first.now, folder=tmp_path)
    assert await found(first, "read file") == ["a/read_file"]
    await first.index.close()
    again = House(tools)
    again.index = CatalogueIndex(again.now, folder=tmp_path)
    assert await found(again, "read file") == ["a/read_file"]
    assert again.index.index is not None
    assert again.index.index.changes == 0
    without = House({"a": tools["a"]})
    without.index = CatalogueIndex(without.now, folder=tmp_path)
    assert await found(without, "send mail") == []
    assert without.index.index is not None
    assert without.index.index.servers == {"a"}


async def test_the_index_is_kept_once_nothing_has_changed_for_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_index, "_QUIET_S", 0.0)
    house = House({"a": [defined("read_file", "Read a file")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path)
    await found(house, "read")
    house.index.look()
    while not (tmp_path / FILE).exists():
        await asyncio.sleep(0.01)
    written = (tmp_path / FILE).stat()
    await house.index.close()
    assert (tmp_path / FILE).stat().st_ino == written.st_ino  # nothing has changed since


async def test_a_folder_that_cannot_be_written_keeps_nobody_from_searching(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    house = House({"a": [defined("read_file", "Read a file")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path / "none")
    assert await found(house, "read") == ["a/read_file"]
    await house.index.close()
    assert "not kept" in caplog.text


async def test_a_server_that_goes_while_the_index_is_kept_moves_no_others_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_index, "_QUIET_S", 0.0)
    words = {"a": "Read a file", "b": "Send a mail", "c": "Paint a picture"}
    tools = {one: [defined(f"tool_{one}", said)] for one, said in words.items()}
    house, without = House(tools), House({one: tools[one] for one in "ac"})
    house.index = CatalogueIndex(house.now, folder=tmp_path)
    await found(house, "picture")
    index = house.index.index
    assert index is not None
    read = index.kept

    def slowly() -> Generator[None, None, Kept]:
        steps = read()
        while True:
            try:
                next(steps)
            except StopIteration as done:
                kept: Kept = done.value
                return kept
            time.sleep(0.005)
            yield

    index.kept = slowly  # type: ignore[method-assign]
    house.index.look()
    await asyncio.sleep(0)
    house.now.take(house.now.settings, house.now.gates, without.now.servers, without.now.known)
    assert await found(house, "picture") == ["c/tool_c"]
    await house.index.close()
    assert load(tmp_path / FILE).servers == {"a", "c"}
    without.index = CatalogueIndex(without.now, folder=tmp_path)
    assert await found(without, "picture") == ["c/tool_c"]


async def test_the_index_is_written_by_one_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalogue_index, "_QUIET_S", 0.0)
    store, go, at_once, most = kept_index.store, threading.Event(), [0], [0]

    def slow(file: Path, kept: Kept) -> None:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        go.wait(10)
        store(file, kept)
        at_once[0] -= 1

    monkeypatch.setattr(kept_index, "store", slow)
    house = House({"a": [defined("read_file", "Read a file")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path)
    await found(house, "read")
    house.index.look()
    while not at_once[0]:
        await asyncio.sleep(0.01)
    house.lists("a", [defined("read_mail", "Read a mail")])
    await found(house, "read")
    for _ in range(10):
        house.index.look()
        await asyncio.sleep(0.01)
    go.set()
    await house.index.close()
    assert most == [1]
    again = House({"a": [defined("read_mail", "Read a mail")]})
    again.index = CatalogueIndex(again.now, folder=tmp_path)
    assert await found(again, "read") == ["a/read_mail"]
    assert again.index.index is not None
    assert again.index.index.changes == 0


async def test_the_words_of_a_server_that_is_gone_do_not_stay_in_the_file(tmp_path: Path) -> None:
    house = House({"a": [defined("read_file")], "b": [defined("send_mail")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path)
    await found(house, "read")
    await house.index.close()
    without = House({"a": [defined("read_file")]})
    without.index = CatalogueIndex(without.now, folder=tmp_path)
    await found(without, "read")
    await without.index.close()
    assert b"send_mail" not in (tmp_path / FILE).read_bytes()


async def test_an_answer_says_by_which_vectors_it_was_found(tmp_path: Path) -> None:
    """MGP-16.4-1."""
    async with endpoint() as served:
        said = Embedder(type="endpoint", url=served.url, model="m", query_timeout_ms=5000)
        house = House(
            {"a": [defined("forecast", "Says the weather"), defined("send", "Sends a mail")]},
            budget=Discovery(embedder=said),
        )
        house.index = CatalogueIndex(house.now, folder=tmp_path)

        async def asked(query: str, strategy: str = "auto") -> tuple[str, list[str]]:
            got = await house.index.search(query, lambda _: True, strategy=strategy)
            return got.strategy, [one.tool_id for one in got.hits]

        served.wait_s = 0.1
        assert (await asked("umbrella"))[0] == "auto+built-in"
        async with asyncio.timeout(20):
            while (await asked("umbrella"))[0] != "auto+endpoint":
                await asyncio.sleep(0.02)
        assert (await asked("umbrella"))[1][0] == "a/forecast"
        assert (await asked("umbrella", "semantic"))[0] == "semantic+endpoint"
        assert (await asked("send", "keyword"))[0] == "keyword"
        assert (await asked("", "category"))[0] == "category"
        served.status = 500
        assert (await asked("parasol"))[0] == "auto+built-in"
        house.now.settings = replace(house.now.settings, discovery=Discovery())
        assert (await asked("umbrella"))[0] == "auto"
        await house.index.close()


class Clock:
    """What the time is, as a test has it."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


async def _passes(house: House, clock: Clock, seconds: float) -> None:
    """Time passes, and the index is looked at, once a second."""
    for _ in range(round(seconds)):
        clock.now += 1.0
        house.index.look()
        await house.index._followed()
        if house.index._keeping is not None:
            await asyncio.wait([house.index._keeping])


async def test_a_server_that_lists_something_else_all_the_time_has_no_file_written_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However often that is: the first time is not put off for ever, and the end of the gateway writes the last of it."""
    clock, written = Clock(), list[float]()
    store = kept_index.store

    def noted(file: Path, kept: Kept) -> None:
        written.append(clock.now)
        store(file, kept)

    monkeypatch.setattr(kept_index, "store", noted)
    house = House({"a": [defined("tool_0", "Do it")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path, clock=clock)
    await found(house, "tool")
    for each in (11.0, 3.0):
        begun, before = clock.now, len(written)
        for number in range(round(1800 / each)):
            house.lists("a", [defined(f"tool_{number % 7}", "Do it")])
            await _passes(house, clock, each)
        times = len(written) - before
        assert 1 <= times <= 1800 / catalogue_index._EACH_S + 1, (each, begun, written)
    house.lists("a", [defined("tool_last", "Do it")])
    await found(house, "tool")
    await house.index.close()
    again = House({"a": [defined("tool_last", "Do it")]})
    again.index = CatalogueIndex(again.now, folder=tmp_path)
    assert await found(again, "tool") == ["a/tool_last"]
    assert again.index.index is not None
    assert again.index.index.changes == 0


@pytest.mark.parametrize("problem", [OSError("No space left on device"), ValueError("broken")])
async def test_a_write_that_failed_is_tried_again_and_said_once(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    problem: Exception,
) -> None:
    clock, tried = Clock(), list[float]()
    store = kept_index.store

    def failing(file: Path, kept: Kept) -> None:
        tried.append(clock.now)
        if len(tried) <= 3:
            raise problem
        store(file, kept)

    monkeypatch.setattr(kept_index, "store", failing)
    house = House({"a": [defined("read_file", "Read a file")]})
    house.index = CatalogueIndex(house.now, folder=tmp_path, clock=clock)
    await found(house, "read")
    await _passes(house, clock, 300)
    assert len(tried) == 4
    assert (tmp_path / FILE).exists()
    assert caplog.text.count("not kept") == 1
    await house.index.close()
    assert len(tried) == 4
