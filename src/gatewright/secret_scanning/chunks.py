"""`Chunks`: redacts results streamed in chunks (MGP §12.4), holding back per call what the next chunk may complete to a secret.

What may still become part of a secret is held back for the next chunk, so texts move a little between chunks, and their number and
indexes stay. Only where a call ends without a chunk that says `done` is there one more, with what was held. Of a call that there is no
room for no text goes, which its client is told (`GAP`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gatewright.secret_scanning.stream import Stream

__all__ = ["CHUNK", "GAP", "KEPT", "Chunks", "text_of", "with_text"]

KEPT = 4096
"""So many calls at once; of more the chunks have no text, up to the end of the call: what was held back of others is theirs."""

CHUNK = "notifications/mgp.stream.chunk"
GAP = "notifications/mgp.stream.gap"
"""Says that text is missing from a stream: `chars`, between chunk `index` - 1 and chunk `index`."""


class _Running:
    __slots__ = ("done", "last", "stream")

    def __init__(self, stream: Stream) -> None:
        self.done = False
        self.stream = stream
        self.last: dict[str, Any] = {}


class Chunks:
    """One `Stream` for each call whose result comes in chunks, as long as it runs."""

    def __init__(self) -> None:
        self._running: dict[str, _Running] = {}
        self._left_out: set[str] = set()
        """Calls that had no room: what comes of one later may be the rest of a secret."""

    def __bool__(self) -> bool:
        return bool(self._running or self._left_out)

    def admits(self, call: str) -> bool:
        """Whether there is room for the text of a call; once there was none, there is none up to its end."""
        if call in self._running:
            return True
        if call in self._left_out or len(self._running) >= KEPT:
            self._left_out.add(call)
            return False
        return True

    def clean(
        self, call: str, params: dict[str, Any], stream: Callable[[], Stream]
    ) -> tuple[dict[str, Any], Sequence[str]]:
        """The params of a call's next chunk without what is not to travel, and the rules that found something in its text.
        `stream` makes what a call without a chunk yet needs."""
        text = text_of(params)
        if text is None:
            return params, ()
        one = self._running.get(call)
        if one is None:
            if not self.admits(call):
                return with_text(params, ""), ()
            one = self._running[call] = _Running(stream())
        before = len(one.stream.rules)
        said = one.stream.feed(text)
        one.last = params
        # Believed once: a server that says it of each piece would have a secret go in pieces.
        if params.get("done") is True and not one.done:
            one.done = True
            said += one.stream.end()
        if said != text:
            params = {**params, "content": {**params["content"], "text": said}}
        rules = one.stream.rules
        return params, rules[before:] if len(rules) > before else ()

    def rest(self, call: str) -> tuple[dict[str, Any] | None, Sequence[str]]:
        """The params of the chunk that is still to be sent when a call has ended, where there is one, and the rules."""
        one = self._running.pop(call, None)
        if one is None:
            self._left_out.discard(call)
            return None, ()
        before = len(one.stream.rules)
        said = one.stream.end()
        if not said:
            return None, ()
        # MGP §12.4 numbers chunks; the one that is added comes behind the last.
        index = one.last.get("index")
        last = {**one.last, "index": index + 1} if isinstance(index, int) else one.last
        return with_text(last, said), one.stream.rules[before:]


def text_of(params: dict[str, Any]) -> str | None:
    """The text of a chunk; None where it has none."""
    content = params.get("content")
    text = content.get("text") if type(content) is dict else None
    return text if type(text) is str else None


def with_text(params: dict[str, Any], text: str) -> dict[str, Any]:
    """The params of a chunk that has a text, with another one."""
    if text == text_of(params):
        return params
    return {**params, "content": {**params["content"], "text": text}}
