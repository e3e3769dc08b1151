"""Batches of an MCPx topic's outgoing messages: groups members that receive the same ones, and encodes each batch once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import Literal, Protocol, TypeVar

__all__ = ["Batch", "Message", "Recipient", "shared"]


class Recipient(Protocol):
    """A member of a topic, as the delivery of messages needs it."""

    id: str
    who: str
    heard: int
    mode: Literal["all", "directed"]


T = TypeVar("T", bound=Recipient)


class Message:
    """One outgoing message. `only` is the one member it is for, `skip` a member who does not get it, `by` its sender (None
    where that is the gateway)."""

    __slots__ = ("_frame", "by", "number", "only", "skip", "text", "to")

    def __init__(
        self,
        number: int,
        text: bytes,
        to: Iterable[str] = (),
        only: Recipient | None = None,
        skip: Recipient | None = None,
        by: Recipient | None = None,
    ) -> None:
        self.by = by
        self.number = number
        self.text = text
        self.to = frozenset(to)
        self.only = only
        self.skip = skip
        self._frame: bytes | None = None

    def frame(self, encode: Callable[[bytes], bytes]) -> bytes:
        """The message as a transport writes it; `encode` is asked once, however many readers there are."""
        if self._frame is None:
            self._frame = encode(self.text)
        return self._frame

    def is_for(self, member: Recipient) -> bool:
        """Whether a member gets it."""
        if self.only is not None:
            return self.only is member and self.number > member.heard
        if self.skip is member or self.number <= member.heard:
            return False
        return member.mode == "all" or not self.to or member.id in self.to


class Batch:
    """Messages that some members all get, in their order: those of `run` from `start` on, and `more` among them, without those whose
    numbers are `less`. They are put together once somebody asks for them: for many batches of many messages that takes long."""

    __slots__ = ("_frames", "_less", "_messages", "_more", "_run", "_start")

    def __init__(
        self,
        run: Sequence[Message],
        start: int = 0,
        more: Sequence[Message] = (),
        less: Collection[int] = (),
    ) -> None:
        self._run = run
        self._start = start
        self._more = more
        self._less = less
        self._messages: Sequence[Message] | None = None
        self._frames: bytes | None = None

    def __len__(self) -> int:
        return len(self._run) - self._start + len(self._more) - len(self._less)

    @property
    def messages(self) -> Sequence[Message]:
        """All of them."""
        if self._messages is None:
            found = self._run[self._start :]
            if self._more or self._less:
                every = sorted((*found, *self._more), key=attrgetter("number"))
                found = [one for one in every if one.number not in self._less]
            self._messages = found
        return self._messages

    def frames(self, encode: Callable[[bytes], bytes]) -> bytes:
        """All of them as one piece for a transport; made once."""
        if self._frames is None:
            self._frames = b"".join([one.frame(encode) for one in self.messages])
        return self._frames


def shared(out: Sequence[Message], members: Iterable[T]) -> Iterator[tuple[Batch, list[T]]]:
    """Members who do not get everything, those together who get the same. What this costs is the messages, the members and the
    names in `to` together: to ask each message about each of ten thousand members would take seconds."""
    wide = [message for message in out if message.only is None]
    to_all = [message for message in wide if not message.to]
    runs = {"all": wide, "directed": to_all}
    first = out[0].number
    numbers = {mode: [one.number for one in run] for mode, run in runs.items()}
    alone: dict[Recipient, list[Message]] = {}
    skipped: dict[Recipient, list[Message]] = {}
    by_name: dict[str, list[Message]] = {}
    for message in out:
        if message.only is not None:
            alone.setdefault(message.only, []).append(message)
            continue
        if message.skip is not None:
            skipped.setdefault(message.skip, []).append(message)
        for name in message.to:
            by_name.setdefault(name, []).append(message)
    found: dict[object, tuple[Batch, list[T]]] = {}
    for member in members:
        mode = member.mode
        start = bisect_right(numbers[mode], member.heard)
        named = by_name.get(member.id, ()) if mode == "directed" else ()
        more: Sequence[Message] = (*named, *alone.get(member, ()))
        if member.heard >= first or member in skipped:
            more = [one for one in more if one.is_for(member)]
        less = [
            one.number
            for one in skipped.get(member, ())
            if one.number > member.heard and (mode == "all" or not one.to)
        ]
        # Equal numbers are the same messages: these members share a batch, which is encoded once.
        key = mode, start, tuple(one.number for one in more), tuple(less)
        if key not in found:
            found[key] = Batch(runs[mode], start, more, frozenset(less)), []
        found[key][1].append(member)
    yield from (one for one in found.values() if len(one[0]))
