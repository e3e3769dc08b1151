"""Batches of an MCPx topic's outgoing messages: groups members that receive the same ones, and encodes each batch once."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Generator, Iterable, Sequence
from operator import attrgetter
from typing import Literal, Protocol, TypeVar

__all__ = ["Batch", "Message", "Recipient", "parted", "shared"]


class Recipient(Protocol):
    """A member of a topic, as the delivery of messages needs it."""

    id: str
    who: str
    heard: int
    mode: Literal["all", "directed"]


_NAME_BYTES = 32
_AT_ONCE = 32
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

    @property
    def weight(self) -> int:
        """What it costs to make batches of it, in bytes: its text, and something for each name."""
        return len(self.text) + _NAME_BYTES * (1 + len(self.to))

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
    def weight(self) -> int:
        """What all of them weigh."""
        return sum([one.weight for one in self.messages])

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


def parted(
    out: Sequence[Message], every: list[T], told: int
) -> Generator[None, None, list[tuple[Batch, list[T]]]]:
    """In small steps: which of some messages that wait are for whom of a room. Up to the number `told`, somebody heard before the
    others did."""
    # Where everybody hears everything, nobody looks whom a message names.
    named, meant = yield from _concerned(out, directed=_some_directed(every))
    wide = Batch([one for one in out if one.only is None])
    parts: tuple[list[T], list[T], list[T]] = every, [], []
    if named or meant or told >= out[0].number:
        parts = yield from _apart(every, out[0].number, named, meant)
    plain, calm, special = parts
    found: list[tuple[Batch, list[T]]] = []
    if plain and wide.messages:
        found.append((wide, plain))
    # Nearly all of a room whose members hear what is for them alone: looked at one by one, they would make everybody wait.
    to_all = Batch([one for one in wide.messages if not one.to]) if calm else wide
    if calm and to_all.messages:
        found.append((to_all, calm))
    if special:
        found += yield from shared(out, special)
    return found


def _some_directed(members: Iterable[Recipient]) -> bool:
    return "directed" in {one.mode for one in members}


def _concerned(
    out: Sequence[Message], *, directed: bool
) -> Generator[None, None, tuple[set[Recipient], set[str]]]:
    """Who hears something alone or not at all, and which names are in `to`, where some are `directed`."""
    named: set[Recipient] = set()
    meant: set[str] = set()
    for count, message in enumerate(out):
        named.update(one for one in (message.only, message.skip) if one is not None)
        if directed and message.only is None:
            meant |= message.to
        if not count % _AT_ONCE or (directed and message.to):
            yield
    return named, meant


def _apart(
    every: Sequence[T], first: int, named: set[Recipient], meant: set[str]
) -> Generator[None, None, tuple[list[T], list[T], list[T]]]:
    """Who hears all that is for all, who hears what names nobody, and who is to be looked at one by one."""
    plain: list[T] = []
    calm: list[T] = []
    special: list[T] = []
    directed = bool(meant)
    for count, one in enumerate(every):
        quiet = directed and one.mode == "directed"
        # Who joined since the last flush has its welcome (`flush_to`), and what came before it is not for it.
        if one in named or one.heard >= first or (quiet and one.id in meant):
            special.append(one)
        else:
            (calm if quiet else plain).append(one)
        if not count % _AT_ONCE:
            yield
    return plain, calm, special


class _Exceptions:
    """What of some messages is not simply for all: for one alone, not for one, for those whom it names."""

    def __init__(self) -> None:
        self.alone: dict[Recipient, list[Message]] = {}
        self.skipped: dict[Recipient, list[Message]] = {}
        self.by_name: dict[str, list[Message]] = {}

    def add(self, message: Message, *, directed: bool) -> None:
        """Names are looked at where somebody is `directed`, who hears no more than what names it."""
        if message.only is not None:
            self.alone.setdefault(message.only, []).append(message)
            return
        if message.skip is not None:
            self.skipped.setdefault(message.skip, []).append(message)
        for name in message.to if directed else ():
            self.by_name.setdefault(name, []).append(message)

    def of(self, member: Recipient, first: int) -> tuple[Sequence[Message], list[int]]:
        """What one hears more than what is for all like it, and the numbers of what it hears not."""
        skipped = self.skipped.get(member, ())
        named = self.by_name.get(member.id, ()) if member.mode == "directed" else ()
        more: Sequence[Message] = (*named, *self.alone.get(member, ()))
        if member.heard >= first or skipped:
            more = [one for one in more if one.is_for(member)]
        whole = member.mode == "all"
        less = [
            one.number for one in skipped if one.number > member.heard and (whole or not one.to)
        ]
        return more, less


def shared(
    out: Sequence[Message], members: Collection[T]
) -> Generator[None, None, list[tuple[Batch, list[T]]]]:
    """Members who do not get everything, those together who get the same, in small steps. What this costs is the messages, the members
    and the names in `to` together: to ask each message about each of ten thousand members would take seconds."""
    wide = [message for message in out if message.only is None]
    to_all = [message for message in wide if not message.to]
    runs = {"all": wide, "directed": to_all}
    numbers = {mode: [one.number for one in run] for mode, run in runs.items()}
    exceptions, directed = _Exceptions(), _some_directed(members)
    for count, message in enumerate(out):
        exceptions.add(message, directed=directed)
        if not count % _AT_ONCE or (directed and message.to):
            yield
    groups: dict[object, tuple[Batch, list[T]]] = {}
    found: list[tuple[Batch, list[T]]] = []
    for member in members:
        yield
        mode = member.mode
        start = bisect_right(numbers[mode], member.heard)
        more, less = exceptions.of(member, out[0].number)
        # Equal numbers are the same messages: these members share a batch, which is encoded once.
        key = mode, start, tuple(one.number for one in more), tuple(less)
        group = groups.get(key)
        if group is None:
            group = groups[key] = Batch(runs[mode], start, more, frozenset(less)), []
            if len(group[0]):
                found.append(group)
        group[1].append(member)
    return found
