"""Which calls are open, who may cancel which, and how a call that is cancelled ends."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import pytest
from msgspec.structs import replace

from gatewright.call import (
    Answer,
    Back,
    Call,
    Caller,
    Client,
    Event,
    Failure,
    Mgp,
    Outcome,
    Refusal,
    Unrecorded,
    UserContext,
)
from gatewright.mcp.server.open_call import HANDLE, SLOW_BYTES
from gatewright.mcp.server.plain_progress import PROGRESS
from gatewright.mcp.server.streams import CANCEL, Streams
from gatewright.secret_scanning.chunks import CHUNK
from tests.kernel_parts import a_call
from tests.mcp.server.test_open_call import Reader

SPEAKS = Client("2025-11-25", mgp=Mgp("0.2.0", ("streaming",)))
_ids = itertools.count()


def streams() -> Streams:
    return Streams(lambda: 0.0, lambda size: next(_ids).to_bytes(size))


def a_stream(session: str | None = "s", request: bytes = b"7", **more: Any) -> Call:
    params = {"name": "x", "_mgp": {"stream": True}}
    found = replace(a_call(), id=f"c{next(_ids)}", client=SPEAKS, params=params)
    return replace(found, session=session, request=request, **more)


async def tool(call: Call, back: Back) -> Outcome:
    """Says a word, and goes on for ever."""
    back.emit(Event(CHUNK, {"content": {"type": "text", "text": "word "}}))
    await asyncio.Event().wait()
    return Answer(b"{}")


def running(on: Streams, call: Call, reader: Reader | None = None) -> asyncio.Task[Outcome]:
    return asyncio.ensure_future(on.around(call, reader or Reader(), on.sent(tool)))


async def cancel(on: Streams, call: Call, name: Any) -> dict[str, Any]:
    asked = replace(call, kind="method", method=CANCEL, params={"request_id": name})
    outcome = await on.cancel(asked, Reader())
    assert isinstance(outcome, Answer), outcome
    found: dict[str, Any] = json.loads(outcome.raw)
    return found


@pytest.mark.parametrize(("request_id", "name"), [(b"7", 7), (b'"a"', "a"), (b'"\\u0061"', "a")])
async def test_a_session_cancels_its_call_by_the_id_of_the_request(
    request_id: bytes, name: Any
) -> None:
    on, call = streams(), a_stream(request=request_id)
    task = running(on, call)
    await asyncio.sleep(0)
    assert len(on) == 1
    said = await cancel(on, call, name)
    assert said == {
        "cancelled": True,
        "partial_result": {"content": [{"type": "text", "text": "word "}]},
    }
    outcome = await task
    assert isinstance(outcome, Failure)
    assert (outcome.reason, len(on), on.cancelled) == ("cancelled", 0, 1)
    assert task.cancelling() == 0
    assert await cancel(on, call, name) == {"cancelled": False, "reason": "not_active"}


class Seated(Reader):
    """A way back whose request changes, as that of a parked call does."""

    waits_as = b"7"


async def test_a_call_that_goes_on_under_another_id_is_named_by_that() -> None:
    on, call, back = streams(), a_stream(), Seated()
    task = running(on, call, back)
    await asyncio.sleep(0)
    for now in (b"", b"8"):  # parked, and taken up again
        back.waits_as = now
        assert (await cancel(on, call, 7))["cancelled"] is False
    assert (await cancel(on, call, 8))["cancelled"] is True
    await task


@pytest.mark.parametrize("session", ["s", None])
async def test_what_has_ended_is_named_by_nothing_and_forgotten(session: str | None) -> None:
    async def at_once(call: Call, back: Back) -> Outcome:
        back.emit(Event(CHUNK, {"content": {"type": "text", "text": "word "}}))
        return Answer(b"{}")

    on, call, reader = streams(), a_stream(session), Reader()
    assert isinstance(await on.around(call, reader, on.sent(at_once)), Answer)
    handle = next(
        (one.params["_meta"][HANDLE] for one in reader.events if "_meta" in one.params), 7
    )
    assert (await cancel(on, call, handle))["cancelled"] is False
    assert (on._of, on._named) == ({}, {})


async def test_another_session_or_type_of_id_names_nothing() -> None:
    on, call = streams(), a_stream()
    task = running(on, call)
    await asyncio.sleep(0)
    for other, name in (
        (replace(call, session="t"), 7),
        (call, "7"),
        (replace(call, session=None), 7),
    ):
        assert (await cancel(on, other, name))["cancelled"] is False
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert len(on) == 0


@pytest.mark.parametrize("session", ["s", None])
async def test_a_key_of_the_same_caller_with_other_limits_neither_cancels_a_call_nor_hears_of_it(
    session: str | None,
) -> None:
    on, reader, ann = streams(), Reader(), Caller("ann", "agent", "k1")
    call = a_stream(session, caller=ann, credential="a")
    task = running(on, call, reader)
    await asyncio.sleep(0)
    name = 7 if session else reader.of(PROGRESS)[0]["_meta"][HANDLE]
    less = replace(ann, key_id="k2", user=(UserContext(trust="untrusted"),))
    other = replace(call, caller=less, credential="b")
    assert await cancel(on, other, name) == {"cancelled": False, "reason": "not_active"}
    assert not task.done()
    successor = replace(call, caller=replace(ann, key_id="k3"), credential="c")
    assert (await cancel(on, successor, name))["cancelled"] is True
    assert isinstance(await task, Failure)


async def test_without_a_session_the_handle_names_a_call_for_its_caller_at_its_door_alone() -> None:
    on, reader = streams(), Reader()
    call = a_stream(None, caller=Caller("ann"))
    task = running(on, call, reader)
    await asyncio.sleep(0)
    handle = reader.of(PROGRESS)[0]["_meta"][HANDLE]
    others = (
        {"caller": Caller("ben")},
        {"caller": Caller("ann", "owner")},
        {"door": "ws"},
        {"profile": "p"},
    )
    for other in others:
        assert (await cancel(on, replace(call, **other), handle))["cancelled"] is False
    assert (await cancel(on, call, 7))["cancelled"] is False
    assert (await cancel(on, call, handle))["cancelled"] is True
    assert isinstance(await task, Failure)


@pytest.mark.parametrize(
    ("reason", "text"),
    [("", "held"), ("timeout", "held"), ("access_denied", ""), ("audit_unavailable", "")],
)
async def test_of_a_call_that_was_refused_while_it_ran_nothing_is_flushed(
    reason: str, text: str
) -> None:
    async def ended(call: Call, back: Back) -> Outcome:
        back.emit(Event(CHUNK, {"content": {"type": "text", "text": "held"}}))
        return Refusal(reason, "gone") if reason else Answer(b"{}")

    reader = Reader()
    reader.behind = SLOW_BYTES + 1
    on, call = streams(), a_stream()
    await on.around(call, reader, on.sent(ended))
    assert reader.text == text


async def test_a_cancellation_that_cannot_be_recorded_is_answered_so() -> None:
    async def unwritten(call: Call, back: Back) -> Outcome:
        try:
            return await tool(call, back)
        except asyncio.CancelledError as stopped:
            stopped.__cause__ = Unrecorded("the disk is full")
            raise

    on, call = streams(), a_stream()
    task = asyncio.ensure_future(on.around(call, Reader(), on.sent(unwritten)))
    await asyncio.sleep(0)
    await cancel(on, call, 7)
    assert await task == Refusal("audit_unavailable", "the disk is full", once=True)


async def test_what_others_cancelled_as_well_is_cancelled() -> None:
    on, call = streams(), a_stream()
    task = running(on, call)
    await asyncio.sleep(0)
    await cancel(on, call, 7)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_who_did_not_negotiate_it_has_nothing_of_it() -> None:
    on, call = streams(), replace(a_stream(), client=Client("2025-11-25"))
    task = running(on, call)
    await asyncio.sleep(0)
    assert len(on) == 0
    asked = replace(call, kind="method", method=CANCEL, params={"request_id": 7})
    outcome = await on.cancel(asked, Reader())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "method_not_found"
    task.cancel()


@pytest.mark.parametrize("name", [None, True, 1.5, [7], {}])
async def test_what_is_no_id_is_a_flaw_of_the_request(name: Any) -> None:
    asked = replace(a_stream(), kind="method", method=CANCEL, params={"request_id": name})
    outcome = await streams().cancel(asked, Reader())
    assert isinstance(outcome, Failure)
    assert outcome.reason == "invalid_params"


async def test_lists_and_methods_are_not_followed() -> None:
    on = streams()
    for kind in ("list", "method"):
        task = running(on, replace(a_stream(), kind=kind))
        await asyncio.sleep(0)
        assert len(on) == 0
        task.cancel()
