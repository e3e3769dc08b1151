"""`OpenCall`: numbered chunks and progress of one streaming call (MGP §12), merged for slow readers; partial result on cancel.

It stands behind all filters: so what is counted, kept for a cancellation and sent is the same, and clean. A client that reads slowly
gets fewer, longer chunks; where that is not enough, text is left out and `notifications/mgp.stream.gap` says so: between chunk
`index` - 1 and chunk `index` so many `chars` are missing. The final answer has all of it in any case (§12.5).
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Generator
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, Event, Outcome, Question
from gatewright.chunk_way import ChunkWay, chunk_end
from gatewright.mcp.protocol.read_members import members_of, with_members
from gatewright.mcp.server.plain_progress import (
    MCP_PROGRESS,
    PROGRESS,
    fraction_of,
    number_of,
    token_of,
)
from gatewright.mcp.server.shown_rights import shown_in
from gatewright.mcp.wire import jsonrpc
from gatewright.secret_scanning.chunks import CHUNK, GAP, text_of

__all__ = [
    "HANDLE",
    "HELD_CHARS",
    "KEPT_BYTES",
    "KEPT_IN_ALL",
    "LARGE",
    "MGP_BYTES",
    "SLOW_BYTES",
    "OpenCall",
    "Shared",
]

log = logging.getLogger("gatewright.mcp")

HANDLE = "dev.gatewright/stream"
"""The member of `_meta` that holds the handle of a call without a session."""
KEPT_BYTES = 1024 * 1024
"""So much text of one call is kept for who cancels it; of more, the beginning."""
KEPT_IN_ALL = 64 * 1024 * 1024
"""So much of all calls together."""
SLOW_BYTES = 128 * 1024
"""A client that leaves more than this waiting gets its chunks merged: half of what makes it a slow reader (`transport.base`)."""
HELD_CHARS = 64 * 1024
"""So much text of one call waits for such a client; what is more is left out."""
LARGE = 64 * 1024
"""Bytes of a result that it takes time to go through."""
MGP_BYTES = 16 * 1024
"""A result's own `_mgp` has no more; a longer one is left out. MGP §12.5 has three members, and extensions of it a few more."""
_LOOK_S = 0.05
_BLANKS, _NO_MEMBER = 64, (b"", b"}")
"""Behind so many blanks it is read what a result has; and how one goes on that perhaps has nothing."""
_CHARS_MOST = 2**48
"""Of what a server says that is missing."""
_TOKEN = "gatewright-stream"  # noqa: S105 - a progress token, which no client sees


class Shared(msgspec.Struct, eq=False):
    """What all open calls have together: a clock (monotonic seconds), the bytes that may still be kept, and what is counted."""

    clock: Callable[[], float]
    left: int = KEPT_IN_ALL
    merged: int = 0
    """Chunks that went on together with others."""
    gaps: int = 0
    """How often text was left out."""


class OpenCall:
    """The way back of one open call (`call.Back`)."""

    __slots__ = (
        *(
            "_asked",
            "_back",
            "_began",
            "_call",
            "_cut",
            "_done",
            "_dropped",
            "_fraction",
            "_handle",
        ),
        *("_held", "_held_chars", "_kept", "_mcp", "_over", "_pieces", "_shared", "_timer"),
        *("cancelled", "shown", "task"),
    )

    def __init__(self, shared: Shared, call: Call, back: Back, handle: str) -> None:
        said = call.params.get("_mgp")
        self._shared = shared
        self._call = call
        self.shown = shown_in(call)
        self._back = back
        self._handle = handle
        self._asked = type(said) is dict and said.get("stream") is True and call.kind == "tool"
        self._mcp = False
        """Whether progress in MCP's words was asked for on the caller's behalf."""
        self._began = shared.clock()
        self._pieces = 0
        self._kept = bytearray()
        self._cut = False
        self._fraction = 0.0
        self._held: list[str] = []
        self._held_chars = self._dropped = 0
        self._done = self._over = False
        self._timer: asyncio.TimerHandle | None = None
        self.task = asyncio.current_task()
        self.cancelled = False

    # -- the call

    def begin(self, call: Call) -> Call:
        """The call as it is sent: its server is asked for progress, where the caller did not do that itself."""
        if self._asked and self._handle:
            self._tell(Event(PROGRESS, {"request_id": call.id, "progress": 0.0}))
        if call.kind != "tool" or token_of(call) is not None:
            return call
        self._mcp = True
        meta = call.params.get("_meta")
        known = meta if type(meta) is dict else {}
        return replace(call, params={**call.params, "_meta": {**known, "progressToken": _TOKEN}})

    def cancel(self) -> dict[str, Any]:
        """End it; the result as far as it was sent."""
        self.cancelled = self._over = True
        if self.task is not None:
            self.task.cancel()
        text = self._kept.decode(errors="ignore")  # cut at a byte, perhaps
        content = [{"type": "text", "text": text}] if self._pieces else []
        partial: dict[str, Any] = {"content": content}
        return {**partial, "truncated": True} if self._cut else partial

    def close(self, *, refused: bool = False) -> None:
        """Nothing more comes: what is held goes on, ahead of the answer. Of a call that was `refused` while it ran nothing does, and
        its client is told how much is missing."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if refused:
            self._dropped += self._held_chars
            self._held, self._held_chars, self._done = [], 0, False
        if not self._over:
            self._flush()
        self._over = True
        self._shared.left += len(self._kept)

    def ended(self, outcome: Outcome) -> Generator[None, None, Outcome]:
        """The outcome with what there is to say of its stream (MGP §12.5), where one was asked for; a step each time that all of it is
        gone through."""
        if not self._asked or type(outcome) is not Answer or _is_interim(outcome):
            return outcome
        spent_ms = round((self._shared.clock() - self._began) * 1000)
        said = {
            "streamed": self._pieces > 0,
            "chunks_sent": self._pieces,
            "duration_ms": spent_ms,
        }
        raw, read = outcome.raw.strip(), None
        if raw[:1] != b"{":
            return replace(outcome, raw=raw, own=False)
        # Of a large one whoever spells it wants the members as well (`outcomes`): they are read once, here.
        if len(raw) > LARGE or _may_say(raw):
            yield
            try:
                members = members_of(outcome)
                yield
                known = self._known(members.get("_mgp", b""))
                raw, read = with_members({**members, "_mgp": {**known, **said}})
            except ValueError:  # half of a character, too many levels
                return outcome
        else:
            raw = raw[:-1] + b',"_mgp":' + jsonrpc.encode(said) + b"}"
        yield
        return replace(outcome, raw=raw, own=False, read=read)

    def _known(self, theirs: bytes | msgspec.Raw) -> dict[str, Any]:
        """What a result says itself in `_mgp`."""
        if len(theirs) > MGP_BYTES:
            log.warning(
                "the result of call %s has an _mgp of %d bytes; of more than %d nothing is passed on",
                self._call.id,
                len(theirs),
                MGP_BYTES,
            )
            return {}
        try:
            found = jsonrpc.decode(theirs) if theirs else None
        except ValueError:  # more than is read at once
            return {}
        return found if isinstance(found, dict) else {}

    # -- events

    def emit(self, event: Event) -> None:
        """Send one event on, in the form that the client asked for."""
        if self._over:
            return
        method = event.method
        if method == CHUNK:
            if self._asked:
                self._chunk(event)
        elif method == GAP:
            self._missing(event)
        elif method == PROGRESS:
            self._told(event.params, fraction_of(event.params.get("progress")))
        elif method == MCP_PROGRESS:
            self._counted(event)
        else:
            self._back.emit(event)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question to the caller. Raises `CannotAsk`."""
        return await self._back.ask(question)

    def _tell(self, event: Event) -> None:
        if self._handle:
            meta = event.params.get("_meta")
            known = meta if type(meta) is dict else {}
            event.params["_meta"] = {**known, HANDLE: self._handle}
            self._handle = ""
        self._back.emit(event)

    @property
    def waits_as(self) -> bytes:
        """The id (JSON text) of the request that waits for the answer now; empty while none does."""
        found: bytes = getattr(self._back, "waits_as", self._call.request)
        return found

    def _behind(self) -> int:
        """Bytes that the client has not taken yet; 0 where nobody knows."""
        found: int = getattr(self._back, "behind", 0)
        return found

    # -- chunks

    def chunks(self) -> ChunkWay | None:
        """The way of plain ones, as long as the client is not behind."""
        end = chunk_end(self._back)
        if end is None or not self._asked or self._handle:
            return None
        is_free, send = end

        def free() -> bool:
            return not (self._over or self._held or self._dropped) and is_free(SLOW_BYTES)

        def say(text: str) -> None:
            self._keep(text)
            send(self._pieces, text)
            self._pieces += 1

        return ChunkWay(free, say)

    def _chunk(self, event: Event) -> None:
        params = event.params
        text = text_of(params)
        if text is None:
            self._flush()
            self._numbered(event)
            return
        if self._held or self._dropped or self._behind() > SLOW_BYTES:
            self._hold(text, done=params.get("done") is True)
            return
        self._keep(text)
        self._numbered(event)

    def _numbered(self, event: Event) -> None:
        params = event.params
        params["request_id"] = self._call.id
        params["index"] = self._pieces
        params["done"] = params.get("done") is True
        self._pieces += 1
        self._tell(event)

    def _keep(self, text: str) -> None:
        if self._cut:
            return
        data = text.encode(errors="replace")
        room = min(KEPT_BYTES - len(self._kept), self._shared.left)
        if len(data) > room:
            self._cut = True
            data = data[:room]
        self._kept += data
        self._shared.left -= len(data)

    def _hold(self, text: str, *, done: bool) -> None:
        """Keep a text until the client has taken more of what was sent before."""
        self._shared.merged += 1
        self._done = self._done or done
        if self._held_chars + len(text) > HELD_CHARS:
            self._dropped += self._held_chars + len(text)
            self._held, self._held_chars = [], 0
        else:
            self._held.append(text)
            self._held_chars += len(text)
        self._look()

    def _missing(self, event: Event) -> None:
        """Text that never came this far: whoever left it out says how much. Told at once, and all that follows of it with the next
        chunk, or at the end."""
        chars = event.params.get("chars")
        if type(chars) is not int or chars <= 0:
            self._back.emit(event)
        elif self._asked:
            self._dropped += min(chars, _CHARS_MOST) + self._held_chars
            self._held, self._held_chars = [], 0
            if not self._cut:
                self._look()

    def _look(self) -> None:
        if self._behind() <= SLOW_BYTES:
            self._flush()
        elif self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_LOOK_S, self._again)

    def _again(self) -> None:
        self._timer = None
        if not self._over:
            self._look()

    def _flush(self) -> None:
        """Send what is held as one chunk, behind the word that something before it was left out."""
        if self._dropped:
            self._shared.gaps += 1
            gap = {"request_id": self._call.id, "index": self._pieces, "chars": self._dropped}
            self._cut, self._dropped = True, 0
            self._tell(Event(GAP, gap))
        if self._held or self._done:
            text, done = "".join(self._held), self._done
            self._held, self._held_chars, self._done = [], 0, False
            self._keep(text)
            content = {"type": "text", "text": text}
            self._numbered(
                Event(CHUNK, {"request_id": "", "index": 0, "content": content, "done": done})
            )

    # -- progress

    def _counted(self, event: Event) -> None:
        """Progress in MCP's words, which count up to a total, if one is known."""
        params = event.params
        if not self._mcp:
            self._back.emit(event)
            if not self._asked:
                return  # it hears what it asked for, and that alone
        done, total = number_of(params.get("progress")), number_of(params.get("total"))
        self._told(params, done / total if total > 0 else 0.0, estimated=True)

    def _told(self, params: dict[str, Any], fraction: float, *, estimated: bool = False) -> None:
        """Tell the client how far its call is: between 0 and 1, and never less than before (MGP §12.6)."""
        if self._behind() > SLOW_BYTES:
            return  # the next one says more
        self._fraction = now = max(self._fraction, min(1.0, fraction))
        said: dict[str, Any] = {"request_id": self._call.id, "progress": now}
        if isinstance(params.get("message"), str):
            said["message"] = params["message"]
        if estimated:
            spent_ms = (self._shared.clock() - self._began) * 1000
            left = round(spent_ms * (1 - now) / now) if now > 0 else None
        else:
            left = params.get("estimated_remaining_ms")
        if number_of(left) > 0 or left == 0:
            said["estimated_remaining_ms"] = left
        self._tell(Event(PROGRESS, said))


def _may_say(raw: bytes) -> bool:
    """Whether a result perhaps has an `_mgp`, in escapes as well, or no member."""
    if raw.find(b'"_mgp"') >= 0 or raw.find(b"\\u00") >= 0:
        return True
    return raw[1:_BLANKS].lstrip()[:1] in _NO_MEMBER


def _is_interim(answer: Answer) -> bool:
    """Whether its server wants to know something first: the call goes on."""
    return answer.modern and answer.raw.find(b'"input_required"') >= 0
