"""`HELD`: bounded in-process store of live secrets, evicted per holder and found in text through a `Scanner`; passwords in URLs.

Held secrets come and go while the gateway runs, so they are no part of a policy (`own` of a `Redactor` is).

An access token that was refreshed stays known until `EACH` newer values of its holder came. Holders are told apart, so that
an authorization server that gives a new token each second displaces its own tokens alone. What a holder was given by somebody else (`foreign`) counts only where it is made as tokens are
(`looks_issued`): a server that gives a word of the protocol as a token would have that word taken out of everything.

Theory: each spelling of a value (`exact.spellings`) has an eight-byte piece, and one automaton looks for all pieces. Only where
a piece stands, the whole spelling is compared. A piece does not begin again inside itself where that can be avoided, so that
a text full of pieces costs no more than one comparison for every few bytes.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable
from threading import Lock
from urllib.parse import unquote, urlsplit

from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.exact import OWN, is_telling, spellings
from gatewright.secret_scanning.findings import apart
from gatewright.secret_scanning.names import is_secret_name, looks_issued
from gatewright.secret_scanning.patterns import Next, Pattern, Span, is_plain, mixes
from gatewright.secret_scanning.scanner import Scanner, bytes_of

__all__ = ["EACH", "HELD", "MOST", "PROCESS", "Held", "WithHeld", "passwords_in"]

EACH = 16
"""How many values one holder may have unless it says otherwise."""
MOST = 256
"""How many values there may be; beyond that the oldest goes of whoever has the most (`Held._displaced`)."""
MOST_FOREIGN = MOST // 4
"""Foreign values beyond so many go before all others."""
PROCESS = "process"
"""The holder of the gateway's own tokens, which are displaced by nobody else's."""
LONGEST = 32 * 1024
"""Characters of a value that are looked for; of a longer one the last of them."""
LONGEST_FOREIGN = 2048
"""The same for a foreign one. Who chose it may send texts that are compared with nearly all of it again and again."""

_Spelled = tuple[tuple[bytes, int], ...]

_ESCAPES = r"\\u|\\/|\\\\"
"""Where a value has characters that JSON may escape, its pieces look different in JSON text within JSON text."""
_PIECE = 8
_LOOKED = 256


class Held:
    """See the module's text. Any thread may add to it."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._values: OrderedDict[tuple[str, str], _Spelled] = OrderedDict()
        self._foreign: set[str] = set()
        """Whose values somebody else chose."""
        self._lock = Lock()
        self.made: _Looking | None = None
        """What `looking` gives, where it was asked for since the last change."""
        self.version = 0
        """Another number whenever another value is known."""

    def hold(
        self,
        holder: str,
        values: Iterable[str | None],
        most: int = EACH,
        *,
        foreign: bool = False,
    ) -> None:
        """Know these values of a holder, who has at most so many. Too short ones are left out (`is_telling`), and of `foreign`
        ones, which neither the operator nor the gateway chose, those that may be words."""
        longest = LONGEST_FOREIGN if foreign else LONGEST
        told = [one[-longest:] for one in values if one and is_telling(one)]
        fresh = [one for one in told if not foreign or looks_issued(one.strip())]
        with self._lock:
            # A token that is known already must not have the automaton made anew.
            if all((holder, one) in self._values for one in fresh):
                return
            for one in fresh:
                # Popped and put back, so that it counts as the newest.
                self._values[holder, one] = self._values.pop((holder, one), ()) or _spelled(one)
            mine = [key for key in self._values if key[0] == holder]
            for key in mine[: max(0, len(mine) - most)]:
                del self._values[key]
            if foreign:
                self._foreign.add(holder)
            while len(self._values) > self._most:
                del self._values[self._displaced()]
            self.made = None
            self.version += 1

    def _displaced(self) -> tuple[str, str]:
        """The oldest value of the holder who has the most: of those of foreign values, who are as many as the authorization
        servers, as long as these are too many, else of the others."""
        counts = Counter(holder for holder, _ in self._values)
        # An authorization server that gives token after token must not displace what the operator configured.
        foreign = sum(counts[one] for one in self._foreign) > MOST_FOREIGN
        some = [one for one in counts if (one in self._foreign) == foreign and one != PROCESS]
        holder = max(some, key=counts.__getitem__, default=PROCESS)
        return next(key for key in self._values if key[0] == holder)

    @property
    def values(self) -> tuple[str, ...]:
        """All that are known, each once."""
        with self._lock:
            return tuple(dict.fromkeys(value for _, value in self._values))

    def clear(self) -> None:
        """Know nothing any more."""
        with self._lock:
            self._values.clear()
            self.made = None
            self.version += 1

    def looking(self) -> _Looking | None:
        """What finds them; None where there are none."""
        made = self.made
        if made is None and self._values:
            with self._lock:
                if self.made is None and self._values:
                    self.made = _Looking(self._values.values())
                made = self.made
        return made


class _Looking:
    """Finds some values."""

    def __init__(self, values: Iterable[_Spelled]) -> None:
        self._spelled: dict[bytes, list[tuple[bytes, int]]] = {}
        """Piece → each spelling that has it, and where in it; the longest first."""
        every = {one for value in values for one in value}
        for spelled, at in sorted(every, key=lambda one: -len(one[0])):
            self._spelled.setdefault(spelled[at : at + _PIECE], []).append((spelled, at))
        pieces = "|".join(map(bytes_of, self._spelled))
        self._pieces = Pattern(pieces, bounded=True)
        escaped = any(b"\\" in one for one in self._spelled)
        self.hints = Pattern(f"{_ESCAPES}|{pieces}", bounded=True) if escaped else self._pieces
        self.mixed = not escaped and all(map(mixes, self._spelled))
        """Whether `hints` have a letter beside a digit, each of them: then they are in no plain text (`is_plain`)."""

    def find(self, text: bytes) -> list[Finding]:
        """(start, end, rule) of every value, in order."""
        found: list[Finding] = []
        at = done = 0
        while (spans := self._pieces.after(text, at)) is not None:
            start = spans[0][0]
            begun, done = self._whole(text, start, done)
            if begun >= 0:
                found.append((begun, done, OWN))
            at = max(done, start + 1)
        return found

    def _whole(self, text: bytes, start: int, done: int) -> tuple[int, int]:
        """The place of the longest spelling whose piece stands at `start` and that begins at `done` or later; -1 and `done`
        where there is none."""
        for spelled, at in self._spelled[text[start : start + _PIECE]]:
            # Not into what was found before: places may not overlap.
            if done <= start - at and text.startswith(spelled, start - at):
                return start - at, start - at + len(spelled)
        return -1, done


def _spelled(value: str) -> _Spelled:
    """Each spelling of a value, and where in it its piece begins."""
    return tuple((one, _piece_of(one)) for one in spellings([value]))


def _piece_of(spelled: bytes) -> int:
    """Where the piece of a spelling begins: the last of those that repeat themselves least, one with a letter beside a digit
    where there is one (`_Looking.mixed`)."""
    last = len(spelled) - _PIECE
    best, most = last, 0
    for at in range(last, max(-1, last - _LOOKED), -1):
        piece = spelled[at : at + _PIECE]
        # Something without repetition is there; only a piece that is better in the other respect takes its place.
        if most == _PIECE and not mixes(piece):
            continue
        period = next(n for n in range(1, _PIECE + 1) if piece[n:] == piece[: _PIECE - n])
        if period > most or most == _PIECE == period:
            best, most = at, period
        if period == _PIECE and mixes(piece):
            break
    return best


class WithHeld(Scanner):
    """What another scanner finds, and what is held."""

    def __init__(self, scanner: Scanner, held: Held) -> None:
        self._of = scanner
        self._held = held
        self.worded = scanner.worded
        self._seen, self._seen_plain = scanner.worth_a_look, scanner.plain_worth_a_look
        self._seen_short = scanner.short_worth_a_look
        self.worth_a_look = self._worth
        self.plain_worth_a_look = self.short_worth_a_look = self._plain_worth

    def _worth(self, raw: bytes) -> bool:
        held = self._held
        looking = held.made or held.looking()
        if looking is None:
            return self._seen(raw)
        if looking.mixed and is_plain(raw):
            return self._seen_short(raw)
        return self._seen(raw) or looking.hints.hits(raw)

    def _plain_worth(self, raw: bytes) -> bool:
        looking = self._held.looking()
        if looking is None or looking.mixed:
            return self._seen_plain(raw)
        return self._seen_plain(raw) or looking.hints.hits(raw)

    def hinting(self, raw: bytes) -> Callable[[int], Span]:
        """See `Scanner`. Each of the two is asked again only behind what it found last."""
        found, looking = self._of.hinting(raw), self._held.looking()
        if looking is None:
            return found
        more = Next(looking.hints, raw).after
        return lambda at: min(found(at), more(at))

    def find(self, text: bytes) -> list[Finding]:
        """(start, end, rule) of everything in a text without escapes, in order, none in another."""
        found, looking = self._of.find(text), self._held.looking()
        more = [] if looking is None else looking.find(text)
        return apart(text, [*found, *more]) if more else found

    def of_member(self, name: str, value: str) -> list[Finding]:
        """See `Scanner`."""
        return self._of.of_member(name, value)

    def ready(self) -> None:
        """See `Scanner`."""
        self._of.ready()

    @property
    def has_own(self) -> bool:
        """See `Scanner`."""
        return self._of.has_own

    def asks_own(self, raw: bytes) -> bool:
        """See `Scanner`."""
        return self._of.asks_own(raw)

    def holds(self, text: bytes) -> bool:
        """See `Scanner`."""
        looking = self._held.looking()
        return self._of.holds(text) or (looking is not None and bool(looking.find(text)))


def passwords_in(url: str) -> tuple[str, ...]:
    """The passwords in a URL or DSN, before its host and in its query: as they are written, and as they are meant."""
    try:
        parts = urlsplit(url)
        written = [parts.password or ""]
    except ValueError:
        return ()
    pairs = (one.partition("=") for one in parts.query.split("&"))
    written += [value for name, _, value in pairs if is_secret_name(unquote(name))]
    return tuple(form for one in written if one for form in dict.fromkeys((one, unquote(one))))


HELD = Held()
"""Those of this process. What a person reads of it, or a record says, is cleaned of them."""
