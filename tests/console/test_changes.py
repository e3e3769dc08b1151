"""The stream of one page: what changed while it looked, and while it was away."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator

from gatewright.console.changes import STREAMS, STREAMS_EACH, Changes


def told(event: bytes) -> tuple[int, list[str]]:
    lines = dict(line.split(": ", 1) for line in event.decode().splitlines() if ": " in line)
    return int(lines["id"]), json.loads(lines["data"])["changed"]


async def following(stream: AsyncIterator[bytes]) -> tuple[int, list[str]]:
    return told(await asyncio.wait_for(anext(stream), 5))


async def test_a_page_hears_of_its_topics_and_of_no_others() -> None:
    changes = Changes(lambda: 1.0)
    stream = changes.events("ann", ["inbox"], None, lambda: "")
    await anext(stream)
    changes.tell("live")
    changes.tell("inbox", "audit")
    assert (await following(stream))[1] == ["inbox"]


async def test_many_changes_are_one_event() -> None:
    changes = Changes(lambda: 1.0)
    stream = changes.events("ann", ["inbox", "live"], None, lambda: "")
    await anext(stream)
    for _ in range(100):
        changes.tell("inbox")
        changes.tell("live")
    assert sorted((await following(stream))[1]) == ["inbox", "live"]
    changes.tell("live")
    assert (await following(stream))[1] == ["live"]


async def test_whoever_was_away_hears_of_what_changed_meanwhile() -> None:
    changes = Changes(lambda: 1.0)
    stream = changes.events("ann", ["inbox", "live"], None, lambda: "")
    await anext(stream)
    changes.tell("inbox")
    number, _ = await following(stream)
    await stream.aclose()  # type: ignore[attr-defined]
    changes.tell("live")
    again = changes.events("ann", ["inbox", "live"], number, lambda: "")
    await anext(again)
    assert (await following(again))[1] == ["live"]


async def test_whoever_comes_from_a_process_before_hears_of_everything() -> None:
    before, after = Changes(lambda: 1.0), Changes(lambda: 2.0)
    before.tell("inbox")
    stream = after.events("ann", ["inbox", "live"], max(before._last.values()), lambda: "")
    await anext(stream)
    assert sorted((await following(stream))[1]) == ["inbox", "live"]


async def test_a_stream_ends_with_its_session_says_why_and_is_counted_until_then() -> None:
    changes, over = Changes(lambda: 1.0), [""]
    stream = changes.events("ann", ["inbox"], None, lambda: over[0])
    await anext(stream)
    assert changes.listening == 1
    over[0] = "ended"
    changes.look()  # nothing has changed that the page shows
    async with asyncio.timeout(5):
        assert [event async for event in stream] == [b'event: over\ndata: {"why":"ended"}\n\n']
    assert changes.listening == 0


async def test_one_person_leaves_streams_to_others_also_where_all_begin_at_once() -> None:
    changes = Changes(lambda: 1.0)

    def opened(person: str) -> AsyncIterator[bytes]:
        return changes.events(person, ["inbox"], None, lambda: "")

    asked = [opened("ann") for _ in range(STREAMS_EACH + 5)]
    begun = [await anext(one, None) for one in asked]
    assert [one is not None for one in begun] == [True] * STREAMS_EACH + [False] * 5
    assert (changes.crowded("ann"), changes.crowded("bob")) == (True, False)
    others = [opened(f"p{number}") for number in range(STREAMS)]
    assert sum([await anext(one, None) is not None for one in others]) == STREAMS - STREAMS_EACH
    assert changes.crowded("bob")
    await asked[0].aclose()  # type: ignore[attr-defined]
    assert not changes.crowded("ann")
