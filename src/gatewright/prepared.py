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
from collections.abc import Callable, Sequence
from typing import Any, Literal
from weakref import WeakValueDictionary, ref

from msgspec.structs import replace

from gatewright.call import Call, Client, Outcome
from gatewright.standing import Standing, holding

__all__ = ["KEPT", "PLAIN", "Mode", "OfClient", "Prepared", "PreparedCalls"]

log = logging.getLogger("gatewright.kernel")

KEPT = 2048
"""So many are kept, of all clients together, some 10 KB each; beyond that the oldest goes, and is made anew where it is needed."""
PLAIN = frozenset(("name", "arguments"))
"""What the params of a prepared call may have."""
_ODD = 8
"""So many calls of one more than others became ordinary ones: it does not pay."""
_RESTS = 16
"""After so many walked calls it is tried once more, then after twice as many."""
_NAME_CHARS = 256
_NAMES = 128
"""Of so many names it is remembered for one client how many calls were walked; beyond that the one goes that was called least lately."""

Mode = Literal["off", "on", "shadowed"]
"""`shadowed`, in tests: what would be done is compared with what the walk does (`PreparedCalls.watch`)."""
Going = Any
"""A prepared call on its way (`mcp.server.straight.StraightCall`, which stands above: it says what it is to whom)."""


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

    def __init__(
        self,
        kept: PreparedCalls,
        of: OfClient,
        call: Call,
        words: list[Standing],
        line: Any,
        recorder: Any,
    ) -> None:
        """`call` is one of those that it is for, `words` are those of hooks, gates and filters, in order. `line` (`servers.straight_line`) is
        the way to the server, as it is now, `recorder` (`audit.prepared_trail`) writes the records."""
        self._of, self._name = ref(of), call.name
        self.kept, self.kernel, self.policy = kept, kept.kernel, kept.kernel.policy
        self.caller, self.facts = call.caller, call.facts.copy()
        self.line, self.recorder = line, recorder
        said = line.word, *words, recorder.word
        # Of a call only what all of them have: that of one may hold a secret.
        none: dict[str, Any] = {"credential": None, "params": {}, "facts": {}}
        self.like = replace(call, id="", trace_id="", request=b"", size=0, **none)
        self.number = self.odd = 0
        self.rests = tuple(rest for one in said for rest in one.rests)
        self.fits = tuple(one.fits for one in said if one.fits is not None)
        self.clear = tuple(one.clear for one in said if one.clear is not None)
        self.notes = tuple(one.notes for one in said if one.notes is not None)
        self._most = min(one.most for one in said)
        self._counts = tuple(one.counts for one in said if one.counts is not None)
        self._counting = bool(self._counts) or kept.compare is not None
        self._sent = tuple(one.sent for one in said if one.sent is not None)
        short = dict(kept.answered)
        self._hear = tuple(short[one](call) for one in kept.ended if one in short)
        self._ended = tuple(one for one in kept.ended if one not in short)
        self.compose()

    def compose(self) -> None:
        """Make one question each of all `rests`, of them with what is asked of a call (`fits`), and of its result (`clear`)."""
        self.holds, self._passes = holding(self.rests), holding(self.rests, self.fits)
        self.is_plain = holding((), self.clear, self._most)

    def begin(self, going: Going) -> bool:
        """Send a call; False where it has to take the walk, and then nothing was done."""
        kept, call = self.kept, going.call
        try:
            if not self._passes(call):
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
            if noted:
                self.recorder.undo(going)
            return self._not_counted(call, len(self._counts))
        kept.forwarded.add(going)
        kept.served += 1
        self.kernel.in_flight += 1
        if self._sent:
            self._tell_sent(call)
        return True

    def _counted(self, call: Call) -> bool:
        """Whether there is room for a call, which is counted then; none where it is only compared."""
        if (compare := self.kept.compare) is not None:
            compare(self, call)
            return False
        for counted, (takes, _) in enumerate(self._counts):
            if not takes(call):
                return self._not_counted(call, counted)
        return True

    def _not_counted(self, call: Call, counted: int) -> bool:
        """The first so many of those who count have counted it."""
        for _, gives_back in self._counts[:counted]:
            gives_back(call)
        return False

    def _tell_sent(self, call: Call) -> None:
        try:
            for tell in self._sent:
                tell(call)
        except Exception:  # it was sent, and nobody is to send it again
            log.exception("that call %s was sent could not be told to all", call.id)

    def ended(self, going: Going, answer: Outcome, recorded: bool) -> None:
        """A call leaves whose end is in the trail, or could not be `recorded`: tell all who hear of that. Whoever breaks changes nothing."""
        self.kernel.in_flight -= 1
        try:
            if recorded:
                self.recorder.leave(going.slot)
                for hear in self._hear:
                    hear(going.spent_s)
            for ended in self._ended if recorded else self.kept.ended:
                ended(going.call, answer, going.spent_s if recorded else None)
        except Exception:
            log.exception("the end of call %s could not be told to all", going.call.id)

    def forget(self, tried: int = 0) -> None:
        """It is for nobody any more; `tried` as many calls are taken to have been walked since."""
        of, kept = self._of(), self.kept
        kept.known.pop(self.number, None)
        # A call of the one before may be promoted after a reload: what was prepared since stays.
        if of is not None and of.by_name.get(self._name) is self:
            del of.by_name[self._name]
            kept.walked(of, self._name, tried)

    def promoted(self, going: Going) -> None:
        """The walk goes on with a call."""
        going.trail, going.rest = self.recorder.trail(going), self.policy.rest(going.came)
        self.kept.going_on[going.call.id] = going
        self.odd += 1
        if self.odd == _ODD:
            self.forget(_RESTS)


_Ended = Callable[[Call, Any, float | None], object]
_Answered = Callable[[Call], Callable[[float], object]]


class PreparedCalls:
    """Those of one kernel."""

    mode: Mode = "on"
    watch: Callable[[PreparedCalls], Any] | None = None
    """Of tests: makes what looks on at a kernel's calls, if anything, and compares (`compare`)."""
    after = 2
    """After how many calls of a kind the next is taken for one of many."""

    def __init__(
        self, kernel: Any, forwarded: set[Any], recorder: Callable[[Call], Any], hooks: Any
    ) -> None:
        """Of a `kernel.Kernel`; `forwarded` are its calls that are with their owners, `hooks` its own."""
        self.kernel, self.forwarded = kernel, forwarded
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
        self._clients: WeakValueDictionary[int, OfClient] = WeakValueDictionary()
        """By their clients' identities."""
        self._recorder = recorder
        self._hooks: Sequence[Callable[[Call], Standing | None]] = hooks.stands

    def of(self, client: Client) -> OfClient:
        """What is prepared for this client from now on, as long as somebody has that."""
        self._clients[id(client)] = made = OfClient(client)
        return made

    def taken(self, call: Call) -> tuple[Any, Any] | None:
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

    def offer(self, policy: Any, call: Call) -> None:
        """A call has passed every gate without a wait."""
        of, name = self._clients.get(id(call.client)), call.name
        if of is None or call.door != "http" or self.mode == "off" or len(name) > _NAME_CHARS:
            return
        if policy is not self.kernel.policy or policy.way is None:  # there was a reload since
            return
        known = of.by_name.get(name)
        try:
            if known is None or not known.holds():
                if known is not None:
                    known.forget()
                self._prepare(of, call)
        except Exception:  # the calls take the walk
            log.exception("calls of %s could not be prepared", name)

    def _prepare(self, of: OfClient, call: Call) -> None:
        # Of what cannot be prepared this is asked more and more seldom.
        tried = self.walked(of, call.name, 1)
        if tried < self.after or tried & (tried - 1):
            return
        made = self._made(of, call)
        if made is not None and made.holds():
            if len(self.known) >= KEPT:
                next(iter(self.known.values())).forget()
            self.made = made.number = self.made + 1
            of.by_name[call.name] = self.known[made.number] = made

    def _made(self, of: OfClient, call: Call) -> Prepared | None:
        """What is decided about all calls like this one; None where somebody has to be asked about each."""
        policy, tool = self.kernel.policy, call.tool
        if call.kind != "tool" or tool is None or not call.params.keys() <= PLAIN:
            return None
        # Of calls that stand alone the head says, too, what these name.
        if call.session is None and tool.headers:
            return None
        if any(one is not None for one in (call.deadline, call.requested, call.touches, call.listen)):  # fmt: skip
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
        line, recorder = policy.way(call), self._recorder(call)
        # In their order, as they are recorded.
        if line is None or recorder is None or [*facts.items()] != [*call.facts.items()]:
            return None
        return Prepared(self, of, call, said, line, recorder)
