"""One open call: numbers, slow readers, what is kept, progress, and what is said at the end."""

from __future__ import annotations

import asyncio
import json
import time
from typing import Any

import pytest
from msgspec import Raw
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Client, Event, Failure, Mgp, Outcome, Question
from gatewright.mcp.protocol.outcomes import spell
from gatewright.mcp.protocol.read_members import known, with_members
from gatewright.mcp.server import open_call
from gatewright.mcp.server.open_call import MGP_BYTES, OpenCall, Shared
from gatewright.mcp.server.plain_progress import PROGRESS
from gatewright.mcp.server.streams import Streams
from gatewright.secret_scanning.chunks import CHUNK, GAP
from gatewright.transport.slices import whole
from tests.kernel_parts import a_call


class Reader:
    """A client that is as slow as a test says."""

    def __init__(self) -> None:
        self.behind = 0
        self.events: list[Event] = []

    def emit(self, event: Event) -> None:
        """Keep it."""
        self.events.append(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Answer at once."""
        return {"asked": question.method}

    def of(self, method: str) -> list[dict[str, Any]]:
        return [one.params for one in self.events if one.method == method]

    @property
    def text(self) -> str:
        return "".join(one["content"]["text"] for one in self.of(CHUNK))


def asking(stream: bool = True, **params: Any) -> Call:
    client = Client("2025-11-25", mgp=Mgp("0.2.0", ("streaming",)))
    more = {"_mgp": {"stream": True}} if stream else {}
    return replace(a_call(), client=client, params={"name": "x", **more, **params})


def chunk(text: str, **more: Any) -> Event:
    return Event(CHUNK, {"content": {"type": "text", "text": text}, **more})


def over(one: OpenCall, outcome: Outcome) -> Outcome:
    return whole(one.ended(outcome))


async def opened(
    call: Call | None = None, handle: str = ""
) -> tuple[OpenCall, Reader, Shared, list[float]]:
    now = [0.0]
    shared, reader = Shared(lambda: now[0]), Reader()
    one = OpenCall(shared, call or asking(), reader, handle)
    one.task = None  # which is the test's own
    return one, reader, shared, now


async def test_chunks_are_numbered_from_nought_whatever_their_server_says() -> None:
    one, reader, _, _ = await opened()
    for text, more in (
        ("a", {"index": 7, "done": "yes"}),
        ("b", {"index": None}),
        ("c", {"done": True}),
    ):
        one.emit(chunk(text, **more))
    found = reader.of(CHUNK)
    assert [each["index"] for each in found] == [0, 1, 2]
    assert [each["done"] for each in found] == [False, False, True]
    assert {each["request_id"] for each in found} == {"c1"}


async def test_who_did_not_ask_for_a_stream_gets_none_and_all_else() -> None:
    one, reader, _, _ = await opened(asking(stream=False))
    one.emit(chunk("a"))
    one.emit(Event("notifications/message", {"level": "info"}))
    assert [each.method for each in reader.events] == ["notifications/message"]
    assert await one.ask(Question("roots/list")) == {"asked": "roots/list"}
    answer = Answer(b'{"content":[]}')
    assert over(one, answer) is answer


async def test_a_slow_reader_gets_fewer_chunks_and_all_of_the_text() -> None:
    one, reader, shared, _ = await opened()
    one.emit(chunk("a "))
    reader.behind = open_call.SLOW_BYTES + 1
    for text in ("b ", "c ", "d "):
        one.emit(chunk(text))
    assert reader.text == "a "
    reader.behind = 0
    one.emit(chunk("e ", done=True))
    assert reader.text == "a b c d e "
    assert [each["index"] for each in reader.of(CHUNK)] == [0, 1]
    assert reader.of(CHUNK)[-1]["done"]
    assert shared.merged == 4


async def test_what_was_held_goes_on_by_itself_and_before_the_answer() -> None:
    one, reader, _, _ = await opened()
    reader.behind = open_call.SLOW_BYTES + 1
    one.emit(chunk("a"))
    await asyncio.sleep(0.12)
    assert reader.events == []
    reader.behind = 0
    await asyncio.sleep(0.12)
    assert reader.text == "a"
    reader.behind = open_call.SLOW_BYTES + 1
    one.emit(chunk("b"))
    one.close()
    assert reader.text == "ab"
    one.emit(chunk("c"))
    assert reader.text == "ab"


async def test_what_is_too_much_for_a_slow_reader_is_left_out_and_it_hears_that() -> None:
    one, reader, shared, _ = await opened()
    one.emit(chunk("a"))
    reader.behind = open_call.SLOW_BYTES + 1
    for _ in range(3):
        one.emit(chunk("x" * (open_call.HELD_CHARS // 2)))
    one.emit(chunk("z"))
    reader.behind = 0
    one.close()
    assert [each.method for each in reader.events] == [CHUNK, GAP, CHUNK]
    left_out = 3 * (open_call.HELD_CHARS // 2)
    assert reader.of(GAP) == [{"request_id": "c1", "index": 1, "chars": left_out}]
    assert reader.of(CHUNK)[-1]["index"] == 1
    assert reader.text == "az"
    assert shared.gaps == 1
    assert one.cancel()["truncated"] is True


async def test_a_refused_caller_gets_nothing_of_what_is_held_and_hears_how_much_that_was() -> None:
    one, reader, _, _ = await opened()
    one.emit(chunk("a "))
    reader.behind = open_call.SLOW_BYTES + 1
    one.emit(chunk("secret", done=True))
    one.close(refused=True)
    assert reader.text == "a "
    assert [each["chars"] for each in reader.of(GAP)] == [len("secret")]
    assert reader.of(CHUNK)[-1]["done"] is False


async def test_text_that_never_came_this_far_is_told_at_once_and_counted() -> None:
    one, reader, shared, _ = await opened()
    one.emit(chunk("a"))
    for chars in (3, 4, 5):
        one.emit(Event(GAP, {"request_id": "elsewhere", "chars": chars}))
    assert reader.of(GAP) == [{"request_id": "c1", "index": 1, "chars": 3}]
    one.emit(chunk("b"))
    one.emit(Event(GAP, {"chars": 2**60}))
    one.close()
    assert [each.method for each in reader.events] == [CHUNK, GAP, GAP, CHUNK, GAP]
    assert [each["chars"] for each in reader.of(GAP)] == [3, 9, 2**48]
    assert [each["index"] for each in reader.of(GAP)] == [1, 1, 2]
    assert (reader.text, shared.gaps) == ("ab", 3)


async def test_what_a_slow_reader_has_not_taken_goes_with_what_is_missing_behind_it() -> None:
    one, reader, _, _ = await opened()
    reader.behind = open_call.SLOW_BYTES + 1
    one.emit(chunk("four"))
    one.emit(Event(GAP, {"chars": 3}))
    reader.behind = 0
    one.close()
    assert [(each.method, each.params["chars"]) for each in reader.events] == [(GAP, 7)]


async def test_what_is_kept_is_bounded_and_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_call, "KEPT_BYTES", 4)
    one, reader, shared, _ = await opened()
    shared.left = 100
    for _ in range(4):
        one.emit(chunk("äb"))
    assert shared.left == 96
    assert one.cancel() == {"content": [{"type": "text", "text": "äb"}], "truncated": True}
    assert reader.text == "äb" * 4
    one.close()
    assert shared.left == 100


async def test_what_all_calls_keep_is_bounded_together() -> None:
    one, _, shared, _ = await opened()
    shared.left = 2
    one.emit(chunk("abc"))
    assert one.cancel() == {"content": [{"type": "text", "text": "ab"}], "truncated": True}


async def test_a_cancelled_call_sends_nothing_more() -> None:
    one, reader, _, _ = await opened()
    one.emit(chunk("a"))
    assert one.cancel() == {"content": [{"type": "text", "text": "a"}]}
    one.emit(chunk("b"))
    one.emit(Event(PROGRESS, {"progress": 1}))
    one.close()
    assert reader.text == "a"
    assert len(reader.events) == 1


async def test_progress_lies_between_nought_and_one_and_never_falls() -> None:
    one, reader, _, _ = await opened()
    strange: tuple[Any, ...] = (0.5, 0.25, -1, 7, "x", None, True, float("nan"), 10**400)
    for said in strange:
        one.emit(Event(PROGRESS, {"progress": said, "message": 5, "estimated_remaining_ms": said}))
    assert [each["progress"] for each in reader.of(PROGRESS)] == [0.5, 0.5, 0.5, *[1.0] * 6]
    assert all("message" not in each for each in reader.of(PROGRESS))
    left = [each.get("estimated_remaining_ms") for each in reader.of(PROGRESS)]
    assert left == [0.5, 0.25, None, 7, None, None, None, None, None]


async def test_progress_in_mcps_words_is_asked_for_and_translated() -> None:
    one, reader, _, now = await opened()
    call = asking(_meta={"k": 1})
    sent = one.begin(call)
    assert sent.params["_meta"]["k"] == 1
    assert sent.params["_meta"]["progressToken"]
    assert call.params["_meta"] == {"k": 1}
    now[0] = 2.0
    said = {"progressToken": "t", "progress": 1, "total": 4, "message": "one of four"}
    one.emit(Event("notifications/progress", said))
    one.emit(Event("notifications/progress", {"progress": 30, "message": "more"}))
    first, second = reader.of(PROGRESS)
    assert first["progress"] == 0.25
    assert first["message"] == "one of four"
    assert first["estimated_remaining_ms"] == 6000
    assert second["progress"] == 0.25
    assert reader.of("notifications/progress") == []


async def test_a_caller_with_a_token_of_its_own_hears_what_it_asked_for() -> None:
    for stream, both in ((False, 0), (True, 1)):
        call = asking(stream, _meta={"progressToken": "mine"})
        one, reader, _, _ = await opened(call)
        assert one.begin(call) is call
        one.emit(Event("notifications/progress", {"progress": 1, "total": 2}))
        assert len(reader.of("notifications/progress")) == 1
        assert len(reader.of(PROGRESS)) == both


async def test_a_slow_reader_misses_progress_and_nothing_waits_for_that() -> None:
    one, reader, _, _ = await opened()
    reader.behind = open_call.SLOW_BYTES + 1
    one.emit(Event(PROGRESS, {"progress": 0.5}))
    assert reader.events == []


async def test_the_first_thing_that_is_said_tells_the_handle() -> None:
    call = asking()
    one, reader, _, _ = await opened(call, "h")
    one.begin(call)
    one.emit(chunk("a"))
    first, second = reader.events
    assert first.params == {"request_id": "c1", "progress": 0.0, "_meta": {open_call.HANDLE: "h"}}
    assert "_meta" not in second.params
    # Without the wish for a stream it comes with the first thing that its server says.
    quiet, reader, _, _ = await opened(asking(stream=False), "h")
    quiet.begin(asking(stream=False))
    assert reader.events == []
    quiet.emit(Event(PROGRESS, {"progress": 0.5}))
    assert reader.events[0].params["_meta"] == {open_call.HANDLE: "h"}


@pytest.mark.parametrize(
    ("raw", "kept"),
    [
        (b'{"content":[]}', {"content": []}),
        (b"{}", {}),
        (b'{"content":[]} ', {"content": []}),
        (b'{"_mgp":{"streamed":false,"k":1}}', {"_mgp": {"k": 1}}),
        (b'{"_mgp":7}', {}),
        (b'{"_mgp":{"k":"%b"}}' % (b"v" * (MGP_BYTES - 8)), {"_mgp": {"k": "v" * (MGP_BYTES - 8)}}),
        (b'{"_mgp":{"k":"%b"},"content":[]}' % (b"v" * MGP_BYTES), {"content": []}),
        (b'{"_mgp":[%b{}]}' % (b"{}," * 200_000), {}),
        (b'{"_mgp":{"k":"%b"}}' % (b'\\"' * 2_000_000), {}),
        (b" { }", {}),
        (b"{%b}" % (b" " * 1000), {}),
        (b'{%b"content":[]}' % (b" " * 1000), {"content": []}),
        (b'{"content":"\\"_mgp\\""}', {"content": '"_mgp"'}),
        (b'{"content":[],"\\u005fmgp":{"k":1}}', {"content": [], "_mgp": {"k": 1}}),
        (b'{"_\\u006dgp":{"k":1},"content":[]}', {"content": [], "_mgp": {"k": 1}}),
    ],
)
async def test_the_answer_says_what_was_streamed(raw: bytes, kept: dict[str, Any]) -> None:
    one, _, _, now = await opened()
    one.emit(chunk("a"))
    now[0] = 1.5
    ended = over(one, Answer(raw, own=True))
    assert isinstance(ended, Answer)
    assert not ended.own
    said = {"streamed": True, "chunks_sent": 1, "duration_ms": 1500}
    assert json.loads(ended.raw) == {**kept, "_mgp": {**kept.get("_mgp", {}), **said}}


async def test_what_is_no_end_is_left_alone() -> None:
    one, _, _, _ = await opened()
    failed = Failure("upstream_error")
    assert over(one, failed) is failed
    interim = Answer(b'{"resultType":"input_required"}', modern=True)
    assert over(one, interim) is interim
    odd = Answer(b"[]")
    assert over(one, odd).raw == b"[]"  # type: ignore[union-attr]


async def test_what_has_no_text_is_numbered_and_goes_on() -> None:
    one, reader, _, _ = await opened()
    one.emit(Event(CHUNK, {"content": {"type": "image", "data": "x"}}))
    one.emit(Event(CHUNK, {}))
    assert [each["index"] for each in reader.of(CHUNK)] == [0, 1]


@pytest.mark.parametrize(
    "raw",
    [
        b'{"_mgp":{"a":"\\ud800"}}',
        b'{"_mgp":%b%b}' % (b'{"a":' * 8000 + b"1", b"}" * 8000),
        b'{"_mgp":%b%b}' % (b'{"a":' * 1200 + b"1", b"}" * 1200),
        b'{"_mgp":1,}',
    ],
)
async def test_what_cannot_be_read_or_written_again_goes_on_as_it_is(raw: bytes) -> None:
    one, _, _, _ = await opened()
    ended = over(one, Answer(raw))
    assert isinstance(ended, Answer)
    assert ended.raw == raw or json.loads(ended.raw)["_mgp"]["streamed"] is False


async def test_what_is_left_out_of_a_result_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    one, _, _, _ = await opened()
    over(one, Answer(b'{"_mgp":{"k":"%b"}}' % (b"v" * MGP_BYTES)))
    assert "the result of call c1 has an _mgp of 16392 bytes" in caplog.text


async def test_a_large_result_is_gone_through_once_a_step_and_read_no_more_than_once() -> None:
    """What was read of it before holds, and what follows need not read it again."""
    raw, read = with_members({"content": Raw(b"[%b1]" % (b"[]," * 50_000)), "_mgp": Raw(b"{}")})
    one, _, _, _ = await opened()
    for answer in (Answer(raw, read=read), Answer(raw), Answer(raw.replace(b'"_mgp"', b'"other"'))):
        going = one.ended(answer)
        assert [next(going) for _ in range(3)] == [None] * 3
        with pytest.raises(StopIteration) as done:
            next(going)
        ended = done.value.value
        assert json.loads(ended.raw)["_mgp"]["streamed"] is False
        assert known(ended) is not None


async def test_the_large_result_of_a_stream_leaves_the_loop_its_turns() -> None:
    raw = b'{"content":[%b1],"_mgp":{"k":1}}' % (b"[]," * 2_000_000)
    on, turns = Streams(time.monotonic, lambda many: b"x" * many), [0]

    async def further(_: Call, __: Back) -> Outcome:
        asyncio.get_running_loop().call_soon(turn)
        return Answer(raw)

    def turn() -> None:
        turns[0] += 1
        asyncio.get_running_loop().call_soon(turn)

    outcome = await on.around(asking(), Reader(), further)
    assert isinstance(outcome, Answer)
    assert turns[0] >= 2
    mirrored = spell(outcome, "tools/call", asking().client, "t", {}).result
    assert outcome.raw.endswith(b"}")
    assert b'"_meta":{"dev.cloto/mgp":{"k":1,"streamed":false' in mirrored
