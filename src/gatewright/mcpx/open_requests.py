"""`OpenRequests`: tracks a topic's requests, bounded per sender; rejects reused ids, repeated responses, responses of those not addressed.

A response names the envelope that it is to (MCPx §3.1.2). Where the gateway has seen that request, only whom it was put to may answer, each
of them once; one that was put to nobody in particular may be answered once by everybody but its sender. Whoever believes a response
by its correlation alone would otherwise believe anybody in the topic: ids are there for all to read.

A request that names a proposal, and asks for what is proposed, goes to those whom the proposal names: whoever may call tools would
otherwise put it to itself, and its answer would be the outcome. Nor does anybody answer a request of its own, but who was named in
a proposal and does itself what was put to it. Who comes under a name later was not asked what was put to that name before.

An id belongs to whoever used it first: a second request under it could make its sender the one who was asked. A response names
it letter by letter: who reads ids as UUIDs takes `{AB…}` for `ab…`, and would believe whoever spells it so.
"""

from __future__ import annotations

from collections import Counter

from gatewright.mcpx.envelope import Envelope

__all__ = ["OpenRequests"]

REQUEST = "mcp/request"
PROPOSAL = "mcp/proposal"
RESPONSE = "mcp/response"
_TOLD = f"{REQUEST}:notifications/"
KEPT_EACH = 1024
"""How many requests of one participant are remembered. One that asks more loses its own oldest, and nobody else's."""
KEPT_CHARS = 1024 * 1024
"""And how many characters of their ids and of the names in their `to`, of which each counts for `_NAME` more."""
_NAME = 64
ASKERS = 20_000
_MARKS = str.maketrans("", "", "{}- ")
"""What readers of UUIDs overlook."""


class _Request:
    __slots__ = ("answered", "asker", "at", "gone", "itself", "method", "proposed", "size", "to")

    def __init__(self, asked: Envelope, at: int, *, proposed: bool, itself: bool = False) -> None:
        self.at = at
        """Its number among those of its topic."""
        self.asker = asked.sender
        self.method = _method(asked.kind)
        self.proposed = proposed
        self.itself = itself
        """Whether its asker may answer it."""
        self.to = frozenset(asked.to)
        self.size = 2 * len(asked.id) + sum(map(len, self.to)) + _NAME * len(self.to)
        """What it counts among those of its asker."""
        self.answered: set[str] = set()
        self.gone = False
        """Whether its asker has left: whoever is called so next is another."""


class OpenRequests:
    """The requests and proposals of one topic, by the ids of their envelopes."""

    def __init__(
        self, kept_each: int = KEPT_EACH, askers: int = ASKERS, kept_chars: int = KEPT_CHARS
    ) -> None:
        self._kept_each = kept_each
        self._kept_chars = kept_chars
        self._askers = askers
        self._requests: dict[str, _Request] = {}
        self._by: dict[str, dict[str, None]] = {}
        """Asker → ids of its requests, oldest first."""
        self._sizes: Counter[str] = Counter()
        """Asker → what its requests count together."""
        self._folded: Counter[str] = Counter()
        """How many of them read alike."""
        self._count = 0
        self._since: dict[str, int] = {}
        """Who is here → how many requests there were before."""

    def objection(self, envelope: Envelope) -> str:
        """Why a message must not pass; empty where it may."""
        if _is(envelope.kind, REQUEST) or _is(envelope.kind, PROPOSAL):
            known = self._requests.get(envelope.id)
            if known is not None and known.asker != envelope.sender:
                return "this id belongs to a message of somebody else; give each one of its own"
            return self._put_elsewhere(envelope)
        elif _is(envelope.kind, RESPONSE):
            return self._not_asked(envelope)
        return ""

    def _misspelled(self, named: str) -> str:
        """Why a request must not be named so: its id reads alike and is another."""
        alike = bool(named) and named not in self._requests and self._folded[_fold(named)] > 0
        return "correlation_id has to be spelled as the id of what it names is" if alike else ""

    def _put_elsewhere(self, envelope: Envelope) -> str:
        if _is(envelope.kind, REQUEST):
            flaw = self._misspelled(envelope.correlation_id or "")
            if flaw:
                return flaw
        proposal = self._fulfils(envelope)
        if (
            proposal is None
            or not proposal.to
            or (envelope.to and proposal.to.issuperset(envelope.to))
        ):
            return ""
        return "the proposal that this names was not put to whom you ask; only a request to those named in its `to` fulfils it"

    def _fulfils(self, envelope: Envelope) -> _Request | None:
        """The proposal that a request would fulfil, as far as its kind tells."""
        found = self._requests.get(envelope.correlation_id or "")
        if found is None or not found.proposed or not _is(envelope.kind, REQUEST):
            return None
        method = _method(envelope.kind)
        return found if not method or not found.method or method == found.method else None

    def _not_asked(self, envelope: Envelope) -> str:
        named = envelope.correlation_id or ""
        request = self._requests.get(named)
        if request is None:
            return self._misspelled(named)
        if request.proposed:
            return ""
        sender = envelope.sender
        # Put to nobody by name: everybody but the asker may answer.
        own = sender == request.asker and not request.itself
        if own or (request.to and not self._is_put_to(request, sender)):
            return "this request was not put to you; only who is named in its `to` may answer it"
        if sender in request.answered:
            return "you have answered this request already"
        return ""

    def _is_put_to(self, request: _Request, name: str) -> bool:
        """Whether somebody is named in a request; not where it came since, and another was called so then, or nobody."""
        return name in request.to and request.at > self._since.get(name, 0)

    def note(self, envelope: Envelope) -> None:
        """A message passes."""
        if _is(envelope.kind, RESPONSE):
            request = self._requests.get(envelope.correlation_id or "")
            if request is not None:
                request.answered.add(envelope.sender)
        elif _is(envelope.kind, PROPOSAL):
            self._ask(envelope, proposed=True)
        elif _is(envelope.kind, REQUEST) and not envelope.kind.startswith(_TOLD):
            self._ask(envelope, proposed=False)

    def proposer(self, envelope: Envelope) -> str | None:
        """Whose proposal a message is about: it hears of what becomes of that, also where nobody named it."""
        found = self._requests.get(envelope.correlation_id or "")
        if found is None or found.gone:
            return None
        return found.asker if found.proposed else None

    def joined(self, name: str) -> None:
        """Somebody has come, who was asked nothing yet."""
        self._since[name] = self._count

    def left(self, name: str) -> None:
        """Somebody has left: what becomes of its proposals is not for whoever takes its name."""
        self._since.pop(name, None)
        for id in self._by.get(name, ()):
            self._requests[id].gone = True

    def _ask(self, envelope: Envelope, *, proposed: bool) -> None:
        asker = envelope.sender
        fulfilled = self._fulfils(envelope)
        itself = fulfilled is not None and self._is_put_to(fulfilled, asker)
        self._count += 1
        request = _Request(envelope, self._count, proposed=proposed, itself=itself)
        known = self._requests.get(envelope.id)
        if known is None:
            self._by[asker] = mine = self._by.pop(asker, {})  # who asked last is forgotten last
            mine[envelope.id] = None
            self._folded[_fold(envelope.id)] += 1
        else:
            request.answered = known.answered  # said once more, it is answered no second time
            self._sizes[asker] -= known.size
        self._requests[envelope.id] = request
        self._sizes[asker] += request.size
        self._shorten(asker, envelope.id)
        if len(self._by) > self._askers:
            for one in tuple(self._by[next(iter(self._by))]):
                self._forget(one)

    def _shorten(self, asker: str, newest: str) -> None:
        # By asker, so that one who asks much displaces its own requests alone.
        mine = self._by[asker]
        while len(mine) > self._kept_each or self._sizes[asker] > self._kept_chars:
            oldest = next(iter(mine))
            if oldest == newest:
                break
            self._forget(oldest)

    def _forget(self, id: str) -> None:
        request = self._requests.pop(id)
        asker = request.asker
        del self._by[asker][id]
        self._sizes[asker] -= request.size
        if not self._by[asker]:
            del self._by[asker], self._sizes[asker]
        folded = _fold(id)
        self._folded[folded] -= 1
        if not self._folded[folded]:
            del self._folded[folded]


def _fold(id: str) -> str:
    return "".join(id.casefold().removeprefix("urn:uuid:").split()).translate(_MARKS)


def _method(kind: str) -> str:
    return kind.partition(":")[2].partition(":")[0]


def _is(kind: str, family: str) -> bool:
    return kind.startswith(family) and kind[len(family) : len(family) + 1] in ("", ":")
