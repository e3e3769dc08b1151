"""Batches of an MCPx topic's outgoing messages: groups members who get the same ones, and encodes each batch once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Literal, Protocol, TypeVar

__all__ = ["Batch", "Hearer", "Message", "shared"]


class Hearer(Protocol):
    """A member of a topic, as the delivery of messages needs it."""

    id: str
    who: str
    heard: int
    mode: Literal["all", "directed"]


T = TypeVar("T", bound=Hearer)


class Message:
    """One outgoing message. `only` is the one member it is for, `skip` a member who does not get it, `by` its sender (None
    where that is the gateway)."""

    __slots__ = ("_frame", "by", "number", "only", "skip", "text", "to")

    def __init__(
        self,
        number: int,
        text: bytes,
        to: tuple[str, ...] = (),
        only: Hearer | None = None,
        skip: Hearer | None = None,
        by: Hearer | None = None,
    ) -> None:
        self.by = by
        self.number = number
        self.text = text
        self.to = to
        self.only = only
        self.skip = skip
        self._frame: bytes | None = None

    def frame(self, encode: Callable[[bytes], bytes]) -> bytes:
        """The message as a transport writes it; `encode` is asked once, however many readers there are."""
        if self._frame is None:
            self._frame = encode(self.text)
        return self._frame

    def is_for(self, member: Hearer) -> bool:
        """Whether a member gets it."""
        if self.only is not None:
            return self.only is member and self.number > member.heard
        if self.skip is member or self.number <= member.heard:
            return False
        return member.mode == "all" or not self.to or member.id in self.to


class Batch:
    """Messages that some members all get, in their order."""

    __slots__ = ("_frames", "messages")

    def __init__(self, messages: Sequence[Message]) -> None:
        self.messages = messages
        self._frames: bytes | None = None

    def frames(self, encode: Callable[[bytes], bytes]) -> bytes:
        """All of them as one piece for a transport; made once."""
        if self._frames is None:
            self._frames = b"".join([one.frame(encode) for one in self.messages])
        return self._frames


def shared(
    out: Sequence[Message], members: Sequence[T], named: Collection[Hearer]
) -> Iterator[tuple[Batch, list[T]]]:
    """Members who do not get everything, those together who get the same. `named` are those whom a message is for alone, or not for.
    All others get what is for everybody, and what names them: of ten thousand members nearly all get the same, and to ask each message
    about each of them would take seconds."""
    to_all = [message for message in out if message.only is None and not message.to]
    by_name: dict[str, list[Message]] = {}
    for message in out:
        for name in message.to:
            by_name.setdefault(name, []).append(message)
    same: list[T] = []
    found: dict[tuple[int, ...], tuple[Batch, list[T]]] = {}
    for member in members:
        plain = member not in named and member.heard < out[0].number
        if plain and member.id not in by_name:
            same.append(member)
            continue
        heard = [message for message in out if message.is_for(member)]
        if heard:
            # Equal numbers are the same messages: these members share a batch, which is encoded once.
            key = tuple(message.number for message in heard)
            found.setdefault(key, (Batch(heard), []))[1].append(member)
    if same and to_all:
        yield Batch(to_all), same
    yield from found.values()
