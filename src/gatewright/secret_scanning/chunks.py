"""`Chunks`: redacts streamed result chunks (MGP §12.4), holding back per call what may be part of a secret; no text above 4096 calls.

What may still become part of a secret is held back for the next chunk, so texts move a little between chunks, and their number and
indexes stay. Only where a call ends without a chunk that says `done` is there one more, with what was held. Of a call that there is no
room for no text goes, which its client is told (`GAP`).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.stream import Stream

__all__ = [
    "CHUNK",
    "GAP",
    "KEPT",
    "Chunks",
    "Cleaned",
    "Elsewhere",
    "chars_of",
    "plain_params",
    "text_of",
    "with_text",
]

KEPT = 4096
"""So many calls at once; of more the chunks have no text, up to the end of the call: what was held back of others is theirs."""

CHUNK = "notifications/mgp.stream.chunk"
GAP = "notifications/mgp.stream.gap"
"""Says that text is missing from a stream: `chars`, between chunk `index` - 1 and chunk `index`."""

Cleaned = tuple[dict[str, Any], Sequence[str]]
"""The params of a chunk without what is not to travel, and the rules that found something in its text."""
Elsewhere = Callable[[bytes], Awaitable[Sequence[Finding] | None] | None]
"""Looks through a text beside the loop, for `Stream.finish`; None for one that is looked through at once."""


def _here(text: bytes) -> None:
    """Nothing is looked through elsewhere."""


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

    def clean(self, call: str, params: dict[str, Any], stream: Callable[[], Stream]) -> Cleaned:
        """A call's next chunk, clean. `stream` makes what a call without a chunk yet needs."""
        found = self.clean_beside(call, params, stream, _here)
        assert isinstance(found, tuple)  # noqa: S101 - nothing is looked through elsewhere
        return found

    def clean_beside(
        self,
        call: str,
        params: dict[str, Any],
        stream: Callable[[], Stream],
        elsewhere: Elsewhere,
    ) -> Cleaned | Awaitable[Cleaned]:
        """The same, with a look elsewhere. Where the result has to be waited for, no other chunk of the call may come before it is
        there."""
        text = text_of(params)
        if text is None:
            return params, ()
        one = self._running.get(call)
        if one is None:
            if not self.admits(call):
                return with_text(params, ""), ()
            one = self._running[call] = _Running(stream())
        one.last = params
        before, said = len(one.stream.rules), ""
        # Believed once: a server that says it of each piece would have a secret go in pieces.
        ends = params.get("done") is True and not one.done
        one.done = one.done or ends
        for last in (False, True) if ends else (False,):
            begun = one.stream.begin("" if last else text, last=last)
            if not isinstance(begun, str):
                found = elsewhere(begun)
                if found is not None:
                    more = elsewhere if ends and not last else None
                    return self._waited(one, params, (before, said), found, more)
                begun = one.stream.look(begun)
            said += begun
        return _cleaned(one, params, before, said)

    def beginning(self, call: str) -> Callable[[str], str | bytes] | None:
        """`Stream.begin` for chunks of a call that have a text and nothing else, and are not its last; `looked` takes what that gives to
        be looked at. None where no chunk of the call has come yet."""
        one = self._running.get(call)
        if one is None:
            return None
        running, begin = one, one.stream.begin
        last = plain_params(call, "")

        def begun(text: str) -> str | bytes:
            running.last = last
            return begin(text)

        return begun

    def looked(
        self, call: str, params: dict[str, Any], begun: bytes, elsewhere: Elsewhere
    ) -> Cleaned | Awaitable[Cleaned]:
        """`clean_beside` of a chunk from where `beginning` has left it."""
        one = self._running[call]
        before = len(one.stream.rules)
        found = elsewhere(begun)
        if found is not None:
            return self._waited(one, params, (before, ""), found, None)
        return _cleaned(one, params, before, one.stream.look(begun))

    @staticmethod
    async def _waited(
        one: _Running,
        params: dict[str, Any],
        so_far: tuple[int, str],
        found: Awaitable[Sequence[Finding] | None],
        elsewhere: Elsewhere | None,
    ) -> Cleaned:
        """The same once it is there; with `elsewhere` the text has an end as well."""
        before, said = so_far
        said += one.stream.finish(await found)
        if elsewhere is not None:
            begun = one.stream.begin("", last=True)
            if not isinstance(begun, str):
                looked = elsewhere(begun)
                begun = (
                    one.stream.look(begun) if looked is None else one.stream.finish(await looked)
                )
            said += begun
        return _cleaned(one, params, before, said)

    def rest(
        self, call: str, takes_long: Callable[[bytes], bool] | None = None
    ) -> tuple[dict[str, Any] | None, Sequence[str]]:
        """The params of the chunk that is still to be sent when a call has ended, where there is one, and the rules. Nobody waits
        here: a text that `takes_long` is taken out as a whole, and stands in the call's result."""
        one = self._running.pop(call, None)
        if one is None:
            self._left_out.discard(call)
            return None, ()
        before = len(one.stream.rules)
        said = one.stream.begin("", last=True)
        if not isinstance(said, str):
            if takes_long is not None and takes_long(said):
                said = one.stream.finish(None)
            else:
                said = one.stream.look(said)
        if not said:
            return None, ()
        # MGP §12.4 numbers chunks; the one that is added comes behind the last.
        index = one.last.get("index")
        last = {**one.last, "index": index + 1} if isinstance(index, int) else one.last
        return with_text(last, said), one.stream.rules[before:]


def _cleaned(one: _Running, params: dict[str, Any], before: int, said: str) -> Cleaned:
    if said != text_of(params):
        params = {**params, "content": {**params["content"], "text": said}}
    rules = one.stream.rules
    return params, rules[before:] if len(rules) > before else ()


def chars_of(method: str, params: dict[str, Any]) -> int:
    """How many characters a chunk has, or are said to be missing; 0 for what is neither."""
    if method == GAP:
        chars = params.get("chars")
        return chars if type(chars) is int and chars > 0 else 0
    return len(text_of(params) or "") if method == CHUNK else 0


def plain_params(call: str, text: str) -> dict[str, Any]:
    """The params of a chunk that has a text and nothing else; who numbers chunks gives it its number."""
    return {
        "request_id": call,
        "index": 0,
        "content": {"type": "text", "text": text},
        "done": False,
    }


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
