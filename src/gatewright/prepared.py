"""`Prepared`: decisions of gates and filters reused for a client's equal calls, rechecking what they rest on; cache `PreparedCalls`.

Theory (decision 0090). A call that every gate has let pass without a wait is asked about once more: what would each gate, filter and hook, the
dispatch and the record say of all calls like it (`standing`)? Where each has an answer, the calls that follow need no walk: what the answers
rest on is compared, what each call is still asked is asked, in the order of the list, and it is sent. Whoever has no answer
leaves the call to the walk, and so does whatever is out of the ordinary before a call is sent. What is refused is refused by the walk alone.
They belong to whoever serves the client (`OfClient`: a session, or a head of modern requests), and go with it.

What happens to a call after that, other than a small plain answer, makes an ordinary call of it (`StraightCall.promote`): the walk goes on with
it where it stands, in a task.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol
from weakref import WeakValueDictionary, ref

from msgspec.structs import replace

from gatewright.call import Answer, Call, Client
from gatewright.call_policy import Policy
from gatewright.standing import Going, Line, Recorder, Standing, all_of, each_of, holding

__all__ = ["KEPT", "Mode", "OfClient", "Prepared", "PreparedCalls"]

log = logging.getLogger("gatewright.kernel")

KEPT = 2048
"""So many are kept, of all clients together, some 10 KB each; beyond that the oldest goes, and is made anew where it is needed."""
_ODD = 8
"""So many calls of one more than others became ordinary ones: it does not pay."""
_RESTS = 16
"""After so many walked calls it is tried once more, then after twice as many."""
_NAME_CHARS = 256
_NAMES = 128
"""Of so many names it is remembered for one client how many calls were walked; beyond that the one goes that was called least lately."""
_PLAIN = frozenset(("name", "arguments"))

Mode = Literal["off", "on", "shadowed"]
"""`shadowed`, in tests: what would be done is compared with what the walk does (`PreparedCalls.watch`)."""


class _Word(NamedTuple):
    """What all who were asked say together."""

    policy: Policy
    standing: Sequence[Standing]
    """Of hooks, gates and filters, in order."""
    facts: Mapping[str, Any]
    line: Line
    recorder: Recorder


class OfClient:
    """The prepared calls of one client, by the names under which it calls tools. Whoever serves the client has it, and nobody else."""

    __slots__ = ("__weakref__", "by_name", "client", "tried")

    def __init__(self, client: Client) -> None:
        self.client = client
        self.by_name: dict[str, Prepared] = {}
        self.tried: dict[str, int] = {}
        """How many calls of a name were walked, since something was different the last time."""


class Prepared:
    """See the module's text."""

    __slots__ = (
        *(
            "__weakref__",
            "_counting",
            "_ended",
            "_fit",
            "_gives_back",
            "_hear",
            "_holds",
            "_is_clear",
        ),
        *("_kept", "_most", "_name", "_note", "_odd", "_of", "_takes", "_tell_sent"),
        *("caller", "clear", "client", "facts", "fits", "kernel", "like", "line", "number"),
        *("policy", "recorder", "rests"),
    )

    def __init__(self, kept: PreparedCalls, of: OfClient, call: Call, word: _Word) -> None:
        """`call` is one of those that it is for."""
        self._kept, self._of, self._name = kept, ref(of), call.name
        self.kernel = kept.kernel
        self.policy, self.line, self.recorder = word.policy, word.line, word.recorder
        self.caller, self.client = call.caller, call.client
        self.facts = dict(word.facts)
        # Of a call only what all of them have: that of one may hold a secret.
        none: dict[str, Any] = {"credential": None, "params": {}, "facts": {}}
        self.like = replace(call, id="", trace_id="", request=b"", size=0, **none)
        self.number = self._odd = 0
        said, line = word.standing, word.line
        self.rests = (
            *(rest for one in said for rest in one.rests),
            *line.rests,
            *word.recorder.rests,
        )
        self.fits = tuple(one.fits for one in said if one.fits is not None)
        counting = [one for one in said if one.takes is not None]
        self._takes = tuple(one.takes for one in counting if one.takes is not None)
        self._gives_back = tuple(one.gives_back or _stays for one in counting)
        self._counting = bool(self._takes) or kept.compare is not None
        told = [one.sent for one in said if one.sent is not None]
        self._tell_sent = each_of(told) if told else None
        self.clear = (line.is_plain, *(one.clear for one in said if one.clear is not None))
        self._most = min((line.most, *(one.most for one in said)))
        notes = [one.notes for one in said if one.notes is not None]
        self._note = each_of(notes) if notes else None
        short = dict(kept.answered)
        self._hear = each_of([short[one](call) for one in kept.ended if one in short])
        self._ended = tuple(one for one in kept.ended if one not in short)

        self.compose()

    def compose(self) -> None:
        """Make one question each of all `rests`, of what is asked of a call (`fits`), and of its result (`clear`)."""
        self._holds, self._fit = holding(self.rests), all_of(self.fits)
        self._is_clear = all_of(self.clear)

    def holds(self) -> bool:
        """Whether everything is what it was."""
        return self._holds()

    def is_plain(self, raw: bytes) -> bool:
        """Whether this result travels back as it is."""
        return len(raw) <= self._most and self._is_clear(raw)

    def begin(self, going: Going) -> bool:
        """Send a call; False where it has to take the walk, and then nothing was done."""
        kept, call = self._kept, going.call
        if not self._holds():
            self.forget()
            return False
        try:
            if not self._fit(call):
                return False
        except Exception:  # noqa: BLE001 - the walk finds it, and says it
            return False
        if self._counting and not self._counted(call):
            return False
        noted = sent = False
        try:
            noted = self.recorder.begin(going, call)
            sent = noted and self.line.send(going, call)
        except Exception:  # it was sent where its server knows it; else the walk finds it once more
            log.exception("call %s could not be noted and sent at once", call.id)
            sent = going.ident > 0
        if not sent:
            return self._taken_back(going, noted)
        kept.forwarded.add(going)
        kept.served += 1
        self.kernel.in_flight += 1
        if self._tell_sent is not None:
            self._told(self._tell_sent, call)
        return True

    def _counted(self, call: Call) -> bool:
        """Whether there is room for a call, which is counted then; none where it is only compared."""
        compare = self._kept.compare
        if compare is not None:
            compare(self, call)
            return False
        for counted, takes in enumerate(self._takes):
            if not takes(call):
                return self._not_counted(call, counted)
        return True

    def _taken_back(self, going: Going, noted: bool) -> bool:
        if noted:
            self.recorder.undo(going)
        return self._not_counted(going.call, len(self._gives_back))

    def _told(self, tell: Callable[[Call], object], call: Call) -> None:
        try:
            tell(call)
        except Exception:  # it was sent, and nobody is to send it again
            log.exception("that call %s was sent could not be told to all", call.id)

    def _not_counted(self, call: Call, counted: int) -> bool:
        """The first so many of those who count have counted it."""
        for gives_back in self._gives_back[:counted]:
            gives_back(call)
        return False

    def answered(self, going: Going, raw: bytes) -> bool:
        """The end of a call, handed over to be recorded; `going` is told once that is done, perhaps at once. False where the walk has to go on
        with the call, and then nothing was done."""
        call = going.call
        try:
            if len(raw) > self._most or not self._is_clear(raw):
                return False
            if self._note is not None:
                self._note(call)
        except Exception:  # whatever it is, the filter breaks once more, and then its call ends
            log.exception("whether the answer to call %s is plain cannot be told", call.id)
            return False
        if self._odd:
            self._odd -= 1
        self.line.over(going)
        self._kept.forwarded.discard(going)
        going.answer = Answer(raw)
        self.recorder.answered(going, call, len(raw))
        if self._ended or going.spent_s is None:
            self.tell(call, going.answer, going.spent_s)
            return True
        try:
            self._hear(going.spent_s)
        except Exception:
            log.exception("the end of call %s could not be told to all", call.id)
        return True

    def tell(self, call: Call, answer: Any, spent_s: float | None) -> None:
        """Tell all who hear of the ends of calls; None for one that could not be recorded. Whoever breaks at that changes nothing."""
        try:
            if spent_s is not None:
                self._hear(spent_s)
            for ended in self._kept.ended if spent_s is None else self._ended:
                ended(call, answer, spent_s)
        except Exception:
            log.exception("the end of call %s could not be told to all", call.id)

    def forget(self, tried: int = 0) -> None:
        """It is for nobody any more; `tried` as many calls are taken to have been walked since."""
        of, kept = self._of(), self._kept
        kept.known.pop(self.number, None)
        if of is not None:
            of.by_name.pop(self._name, None)
            kept.walked(of, self._name, tried)

    def promoted(self, going: Going) -> None:
        """The walk goes on with a call."""
        going.trail, going.rest = self.recorder.trail(going), self.policy.rest(going.came)
        self._kept.going_on[going.call.id] = going
        self._odd += 1
        if self._odd == _ODD:
            self.forget(_RESTS)


def _stays(call: Call) -> None:
    """What was counted stays counted."""


_Ended = Callable[[Call, Any, float | None], object]
_Answered = Callable[[Call], Callable[[float], object]]


class _Counting(Protocol):
    in_flight: int

    @property
    def policy(self) -> Policy: ...


class PreparedCalls:
    """Those of one kernel."""

    mode: Mode = "on"
    watch: Callable[[PreparedCalls], Any] | None = None
    """Of tests: makes what looks on at a kernel's calls, if anything, and compares (`compare`)."""
    after = 2
    """After how many calls of a kind the next is taken for one of many."""

    def __init__(
        self,
        kernel: _Counting,
        forwarded: set[Any],
        recorder: Callable[[Call], Recorder | None],
        hooks: Any,
    ) -> None:
        """`forwarded` are the kernel's calls that are with their owners, `hooks` its own."""
        self.forwarded = forwarded
        self.ended: Sequence[_Ended] = hooks.ended
        self.answered: Sequence[tuple[_Ended, _Answered]] = hooks.answered
        self.going_on: dict[str, Going] = {}
        """Calls that the walk is to go on with, and has not taken over yet, by their ids."""
        self.known: WeakValueDictionary[int, Prepared] = WeakValueDictionary()
        """In the order in which they were made."""
        self.made = self.served = 0
        """How many were put together, and how many calls were sent by them."""
        self.compare: Callable[[Prepared, Call], object] | None = None
        """Where calls are only compared: takes each that would be sent."""
        self.kernel = kernel
        self._clients: WeakValueDictionary[int, OfClient] = WeakValueDictionary()
        """By their clients' identities."""
        self._recorder = recorder
        self._hooks: Sequence[Callable[[Call], Standing | None]] = hooks.stands

    def of(self, client: Client) -> OfClient:
        """What is prepared for this client from now on, as long as somebody has that."""
        self._clients[id(client)] = made = OfClient(client)
        return made

    def taken(self, call: Call) -> tuple[Policy, Any] | None:
        """The walk takes over a call that it is to go on with: what is left to do with it, and its trail."""
        going = self.going_on.pop(call.id, None)
        if going is None:
            return None
        self.forwarded.discard(going)
        rest, going.rest = going.rest, None  # which has it: no collector is to be needed
        return rest, going.trail

    def clear(self) -> None:
        """Forget all: another configuration holds."""
        for one in list(self.known.values()):
            one.forget()
        for of in list(self._clients.values()):
            of.tried.clear()

    @staticmethod
    def walked(of: OfClient, name: str, tried: int) -> int:
        """Count a call that was walked; with none, begin anew. How many those are."""
        before = of.tried.pop(name, 0)
        if not tried:
            return 0
        if len(of.tried) >= _NAMES:
            del of.tried[next(iter(of.tried))]
        of.tried[name] = found = max(before + 1, tried)
        return found

    def offer(self, policy: Policy, call: Call) -> None:
        """A call has passed every gate without a wait."""
        of, name = self._clients.get(id(call.client)), call.name
        if of is None or policy.way is None or call.door != "http" or self.mode == "off":
            return
        if policy is not self.kernel.policy:  # there was a reload since
            return
        if name in of.by_name or len(name) > _NAME_CHARS:
            return
        # Of what cannot be prepared this is asked more and more seldom.
        tried = self.walked(of, name, 1)
        if tried < self.after or tried & (tried - 1):
            return
        try:
            made = self._composed(policy, of, call)
        except Exception:  # the calls take the walk
            log.exception("calls of %s could not be prepared", name)
            return
        if made is not None and made.holds():
            if len(self.known) >= KEPT:
                next(iter(self.known.values())).forget()
            self.made = made.number = self.made + 1
            of.by_name[name] = self.known[made.number] = made

    def _composed(self, policy: Policy, of: OfClient, call: Call) -> Prepared | None:
        """What is decided about all calls like this one; None where somebody has to be asked about each."""
        tool, way = call.tool, policy.way
        if call.kind != "tool" or tool is None or way is None or not call.params.keys() <= _PLAIN:
            return None
        # Of calls that stand alone the head says, too, what these name.
        if call.session is None and tool.headers:
            return None
        if any(
            one is not None for one in (call.deadline, call.requested, call.touches, call.listen)
        ):
            return None
        said: list[Standing] = []
        facts: dict[str, Any] = {}
        every = [getattr(one, "stands", None) for one in (*policy.gates, *policy.filters)]
        for stands in (*self._hooks, *every):
            word = None if stands is None else stands(call)
            if word is None:
                return None
            said.append(word)
            facts.update(word.facts)
        line, recorder = way(call), self._recorder(call)
        # In their order, as they are recorded.
        if line is None or recorder is None or [*facts.items()] != [*call.facts.items()]:
            return None
        return Prepared(self, of, call, _Word(policy, said, facts, line, recorder))
