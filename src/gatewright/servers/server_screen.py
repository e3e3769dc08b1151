"""`Screen`: strips gateway-only members from a server's results, errors, events; applies `elicitation`; binds `elicitationId`, `requestState`.

A server's words reach callers as the result of a call, as an error, as an event or a question while the call runs, and outside
any call. In each it could write what only the gateway writes: that an operator has to approve, that a secret was taken out, whom
a log line comes from, which state a client is to show again. So all of it passes here, before filters and endpoints add theirs.
What a server may ask is decided in `elicitation`.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Generator
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.call import Answer, Back, Call, CannotAsk, Event, Failure, Outcome, Question
from gatewright.chunk_way import ChunkWay, chunk_way
from gatewright.mcp.client.link import Link
from gatewright.mcp.client.related_tasks import OF_ITS_CALL, named, without
from gatewright.mcp.protocol.input_required import TooMuchAsked, is_interim, wanted_in
from gatewright.mcp.protocol.read_members import members_of, with_members
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import OF_THE_SERVER
from gatewright.mcp.wire.json_bounds import DECODED_BYTES
from gatewright.mcp.wire.methods import CALLBACK
from gatewright.mcp.wire.spellings import RESULT, flaw_of_members, to_drop
from gatewright.mcp.wire.versions import INTERRUPTIBLE, is_modern
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.servers.cache_scope import (
    is_read,
    raw_members,
    without_members,
    without_promises,
)
from gatewright.servers.elicitation import COMPLETE, ELICIT, informed, screened
from gatewright.servers.gateway_url_check import cannot
from gatewright.servers.request_state import STATE, bound, returned
from gatewright.servers.reserved_meta import MARKS, is_ours, is_suspect
from gatewright.servers.server_callbacks import Told
from gatewright.servers.task_owners import Owner, owner_of
from gatewright.servers.task_screening import METHODS as OF_TASKS
from gatewright.servers.task_screening import Said, judged, too_many, unrelated
from gatewright.transport.large_text import LARGE, holds_any
from gatewright.transport.slices import in_slices

__all__ = ["LOG", "Screen"]

LOG = "notifications/message"

_URL_NEEDED = -32042
"""MCP 2025-11-25, URL mode elicitation: the error by which a server says which pages have to be opened first."""

_STATES = ("resultType", "requestState", "inputRequests", "inputResponses")
_ERROR_MEMBERS = frozenset(
    one.casefold() for one in (*_STATES, "ttlMs", "cacheScope", "approval_id", "trace_id", "_mgp")
)
_OF_APPROVALS = frozenset({("status", "pending_approval"), ("missing", "approval")})
_OF_ERRORS = ("code", "message", "data")
_OF_DATA = frozenset(("_meta", "_mgp", "elicitations", "status", "details"))
"""What of an error's data is read."""
_OF_QUESTION = frozenset(("method", "params", "id", "jsonrpc"))
_REMEMBERED = 1000
_ID_CHARS = 256  # of an elicitation, since each is remembered
_LOGGER_MOST = 128


class Screen:
    """Of one server."""

    def __init__(self, server: str, told: Told, origin: str = "") -> None:
        """`origin` is what stands behind the server's id (`origin_of`): states go back to that alone."""
        self._server = server
        self._whose = f"{server}@{origin}" if origin else server
        self._told = told
        self._mgp = False
        """Whether it negotiated MGP, whose words it may then use."""
        self.turn = asyncio.Lock()
        """Questions are judged one in a turn of the loop: a server may ask hundreds at once, each of which takes milliseconds."""
        self._elicited: OrderedDict[str, tuple[str | None, Owner]] = OrderedDict()
        """Whom it has asked to open a page, by the id that it gave that: their session, and who would have a task."""

    async def request(
        self,
        link: Link,
        method: str,
        params: dict[str, Any],
        call: Call,
        back: Back,
        deadline: float,
    ) -> Outcome:
        """Put one call to the server (`Link.request`), with this between the two."""
        hello = link.hello
        self._mgp = hello is not None and hello.mgp is not None
        between = _Between(self, call, back)
        theirs = params if STATE not in params else returned(self._whose, method, params)
        if not isinstance(theirs, dict):
            return theirs
        found = await link.request(method, theirs, call=call, back=between, deadline=deadline)
        if type(found) is Answer and len(found.raw) > LARGE:
            if call.method == "tasks/list" and len(found.raw) > DECODED_BYTES:
                return Failure("upstream_error", f"the tasks of server {self._server} have more than {DECODED_BYTES} bytes")  # fmt: skip
            suspect = is_read(call, found) or await holds_any(found.raw, MARKS)
            return await in_slices(self._read(call, found)) if suspect else found
        if type(found) is Answer and not is_read(call, found) and not is_suspect(found.raw):
            return found
        return await in_slices(self._seen(call, found))

    # -- how a call ends

    def _seen(self, call: Call, outcome: Outcome) -> Generator[None, None, Outcome]:
        if type(outcome) is Answer:
            suspect = is_read(call, outcome) or is_suspect(outcome.raw)
            return (yield from self._read(call, outcome)) if suspect else outcome
        if type(outcome) is Failure and outcome.error is not None:
            return (yield from self.failure(call, outcome, outcome.error))
        return outcome

    def _read(self, call: Call, answer: Answer) -> Generator[None, None, Answer | Failure]:
        """An answer in which something of the gateway's may stand; a step each time that all of it is gone through."""
        if answer.raw[:1] != b"{":
            return answer
        said = yield from self.members(call, answer)
        if isinstance(said, Failure):
            return said
        if not said.changed | (not said.asks and without_promises(call, answer, said.members)):
            return answer
        yield
        raw, read = with_members(said.members)
        if said.asks:
            return Answer(raw, modern=True)
        return replace(answer, raw=raw, read=read)

    def members(self, call: Call, answer: Answer) -> Generator[None, None, Said | Failure]:
        """The members of such an answer, as they may be seen (`task_screening.Judge`)."""
        try:
            return (yield from self._members(call, answer))
        except CannotAsk as no:
            return self._cannot(no)
        except TooMuchAsked as problem:
            return Failure("upstream_error", f"server {self._server} {problem}")
        except (ValueError, KeyError):
            return Failure("upstream_error", f"the answer of server {self._server} cannot be read")

    def _members(self, call: Call, answer: Answer) -> Generator[None, None, Said | Failure]:
        yield
        members = members_of(answer)
        if len(members.get("_meta", b"")) > DECODED_BYTES:
            said = f"the answer of server {self._server} has a _meta of more than {DECODED_BYTES} bytes"
            return Failure("upstream_error", said)
        if is_interim(members):
            failed = yield from self._interim(call, answer.raw, members)
            return failed or Said(members, changed=True, asks=True)
        found = yield from judged(self, call, answer.raw, members)
        if isinstance(found, Failure):
            return found
        names = () if self._mgp else ("_mgp",)
        changed = (
            found | _plain(members, RESULT) | without_members(members, names) | self._meta(members)
        )
        return Said(members, changed)

    def _interim(
        self, call: Call, raw: bytes, members: dict[str, Any]
    ) -> Generator[None, None, Failure | None]:
        """What has to be known before the call can end: each question is judged like any other, and a state is a text."""
        if call.method not in INTERRUPTIBLE or not is_modern(call.client.revision):
            # A legacy caller is asked by requests: what it made of this, nobody would have judged.
            said = f"server {self._server} asked something where nothing can be asked"
            return Failure("upstream_error", said)
        wanted = wanted_in(raw, members)
        members.pop("inputRequests", None)
        state = jsonrpc.decode(members.get(STATE, b'""'))
        if not isinstance(wanted, dict) or not isinstance(state, str):
            raise CannotAsk("inputRequests is no object, or requestState no string")
        asked = {}
        for key, one in wanted.items():
            yield
            asked[key] = yield from self.asked(call, one)
        if asked:
            members["inputRequests"] = asked
        # Also without a state: the answers have to come back to this server (`request_state`).
        members[STATE] = bound(self._whose, state if STATE in members else None)
        members["resultType"] = "input_required"
        _plain(members, RESULT)
        self._meta(members)
        unrelated(members)
        return None

    def asked(self, call: Call, one: Any) -> Generator[None, None, dict[str, Any]]:
        """One question among others, as the caller may be asked it. Raises `CannotAsk`."""
        if not isinstance(one, dict) or not isinstance(one.get("method"), str):
            raise CannotAsk("a question has to name its method", jsonrpc.INVALID_PARAMS)
        if flaw := flaw_of_members("a question", one, _OF_QUESTION):
            raise CannotAsk(flaw, jsonrpc.INVALID_PARAMS)
        if one["method"] == CALLBACK:
            raise CannotAsk("a callback is a notification", jsonrpc.INVALID_REQUEST)
        if call.method not in OF_TASKS and named(one.get("params")) is not None:
            raise CannotAsk(OF_ITS_CALL, jsonrpc.INVALID_PARAMS)
        found = yield from self.question(call, Question(one["method"], one.get("params")))
        return one if found.params is None else {**one, "params": without(found.params)}

    def _cannot(self, no: CannotAsk) -> Failure:
        said = f"server {self._server} wants to ask what it may not: {no.message}"
        error = {"code": no.code, "message": said}
        return Failure("upstream_error", said, error=jsonrpc.encode(error))

    def failure(self, call: Call, failure: Failure, error: bytes) -> Generator[None, None, Failure]:
        """An error without what is the gateway's: of its own members those that JSON-RPC knows, and its data cleaned."""
        if error[:1] != b"{":
            return failure
        try:
            said = jsonrpc.decode_members(error)
            members: dict[str, Any] = {name: said[name] for name in _OF_ERRORS if name in said}
            data = jsonrpc.decode(members.get("data", b"null"))
            code = jsonrpc.decode(members.get("code", b"0"))
        except ValueError:
            return Failure("upstream_error", f"the error of server {self._server} cannot be read")
        changed = len(members) < len(said)
        try:
            if isinstance(data, dict):
                changed |= self._data(data)
                if code == _URL_NEEDED:
                    yield from self._pages(call, data)
                    changed = True
        except CannotAsk as no:
            return self._cannot(no)
        if not changed:
            return failure
        if "data" in members:
            members["data"] = data
        return replace(failure, error=jsonrpc.encode(members))

    def _pages(self, call: Call, data: dict[str, Any]) -> Generator[None, None, None]:
        """The pages of an error that asks to open some are questions as well."""
        pages = data.get("elicitations", [])
        if not isinstance(pages, list):
            raise CannotAsk("elicitations must be a list", jsonrpc.INVALID_PARAMS)
        if flaw := too_many(pages):
            raise CannotAsk(flaw, jsonrpc.INVALID_PARAMS)
        data["elicitations"] = shown = []
        for one in pages:
            yield
            # The error says that pages are to be opened, whatever mode is written there.
            asked = Question(ELICIT, {**_object(one), "mode": "url"})
            shown.append((yield from self.question(call, asked)).params)

    # -- while a call runs

    def question(self, call: Call, question: Question) -> Generator[None, None, Question]:
        """A question as the caller may be asked it. Raises `CannotAsk`."""
        found = yield from screened(self._server, question, call.client, self._told.ours)
        of_page = question.method == ELICIT and "elicitationId" in (found.params or {})
        ident = (question.params or {}).get("elicitationId") if of_page else None
        if isinstance(ident, str):
            if len(ident) > _ID_CHARS:
                raise cannot(f"an elicitationId has at most {_ID_CHARS} characters")
            # Else one caller could be told of the end of a page that another one was asked to open.
            if not self._is_asked_by(ident, call):
                raise cannot("this elicitationId belongs to what another caller was asked")
            self._elicited[ident] = call.session and call.party, owner_of(call)
            if len(self._elicited) > _REMEMBERED:
                self._elicited.popitem(last=False)
        params = found.params if isinstance(found.params, dict) else {}
        clean = self._params(question.method, params)
        return found if clean is params else replace(found, params=clean)

    def _is_asked_by(self, ident: str, call: Call) -> bool:
        """Whether nobody else was asked to open that page. What a task asks is for whoever has it, through any session."""
        mine = call.session and call.party
        party, owner = self._elicited.get(ident, (mine, owner_of(call)))
        return owner == owner_of(call) and (party == mine or call.method in OF_TASKS)

    def event(self, call: Call, event: Event) -> Event | None:
        """An event of a call as its caller may see it, or None where it is not for that one."""
        if event.method == COMPLETE:
            found = self._completed(event.params)
            return Event(COMPLETE, found[1]) if found and found[0] == call.party else None
        if event.method == CALLBACK:
            return self._informed(event)
        params = self._params(event.method, event.params)
        return event if params is event.params else Event(event.method, params)

    def _informed(self, event: Event) -> Event | None:
        """What a caller is only to know (MGP §13.4), under the server's name; None where it leads to the gateway."""
        try:
            return Event(CALLBACK, informed(self._server, event.params, self._told.ours))
        except CannotAsk:
            return None

    # -- outside any call

    def said_by(
        self, link: Link, method: str, params: dict[str, Any], session: str | None = None
    ) -> None:
        """Pass on what came on a connection that several may share, or on a `session`'s own. What says nothing of the server itself,
        of a task or a call, may be about who alone was served on it: of a session's keys with other limits, too."""
        apart = method in OF_THE_SERVER or named(params) is not None
        self.said(method, params, session if apart else link.sole or session)

    def said(self, method: str, params: dict[str, Any], session: str | None) -> None:
        """Pass a notification on that belongs to no call, to a session or a party of one where that is said."""
        if method == COMPLETE:
            found = self._completed(params)
            if found and found[0] and session in (None, found[0], found[0].partition(" ")[0]):
                self._told.said(self._server, method, found[1], found[0])
            return
        self._told.said(self._server, method, self._params(method, params), session)

    def _completed(self, params: dict[str, Any]) -> tuple[str | None, dict[str, Any]] | None:
        """Who was asked to open the page that is done now, and how it is told."""
        ident = params.get("elicitationId")
        if not isinstance(ident, str) or ident not in self._elicited:
            return None
        return self._elicited[ident][0], {**params, "elicitationId": f"{self._server}/{ident}"}

    def _params(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        if method == LOG:
            params = {**params, "logger": self._logger(params.get("logger"))}
        meta = params.get("_meta")
        if type(meta) is dict and any(is_ours(key, mgp=self._mgp) for key in meta):
            params = {**params}
            self._meta(params)
        return params

    def _meta(self, members: dict[str, Any]) -> bool:
        """Take out of `_meta` (its text, or decoded) what is the gateway's to say. True where there was something."""
        found = members.get("_meta")
        meta = found if isinstance(found, dict) else raw_members(found)
        kept = {key: one for key, one in meta.items() if not is_ours(key, mgp=self._mgp)}
        if len(kept) == len(meta):
            return False
        members["_meta"] = kept
        return True

    def _data(self, data: dict[str, Any]) -> bool:
        """The same for an error's data, and for its details, where the gateway says of an approval which one it is."""
        changed = _plain(data, _OF_DATA) | self._without_ours(data)
        details = data.get("details")
        if isinstance(details, dict):
            changed |= self._without_ours(details) | self._meta(details)
        return unrelated(data) | self._meta(data) or changed

    def _without_ours(self, data: dict[str, Any]) -> bool:
        found = [name for name, one in data.items() if self._is_of_errors(name, one)]
        return without_members(data, found)

    def _is_of_errors(self, name: str, one: Any) -> bool:
        """Whether a member of an error's data is the gateway's to say, in whatever case a client reads names and words."""
        folded = name.strip().casefold()
        if self._mgp and name in ("_mgp", "trace_id"):
            return False
        said = one.strip().casefold() if isinstance(one, str) else ""
        return folded in _ERROR_MEMBERS or (folded, said) in _OF_APPROVALS

    def _logger(self, theirs: Any) -> str:
        """Whom a log line comes from: the server, and behind a slash, which no server's name has, what it says itself."""
        if not isinstance(theirs, str) or not theirs:
            return self._server
        return f"{self._server}/{spelled(theirs[:_LOGGER_MOST])}"


class _Between(msgspec.Struct, eq=False):
    """The way back of one call, with the screen of its server in it."""

    _screen: Screen
    _call: Call
    _back: Back

    def emit(self, event: Event) -> None:
        """Send one event, as it may be heard."""
        found = self._screen.event(self._call, event)
        if found is not None:
            self._back.emit(found)

    def chunks(self) -> ChunkWay | None:
        """The way of plain chunks, in which nothing of the gateway's can stand."""
        return chunk_way(self._back)

    async def ask(self, question: Question) -> dict[str, Any]:
        """Put a question, as it may be asked. Raises `CannotAsk`."""
        turn = self._screen.turn
        await turn.acquire()
        try:
            asked = await in_slices(self._screen.question(self._call, question))
        finally:
            asyncio.get_running_loop().call_soon(turn.release)
        return await self._back.ask(asked)


def _object(found: Any) -> dict[str, Any]:
    return found if isinstance(found, dict) else {}


def _plain(members: dict[str, Any], known: frozenset[str]) -> bool:
    """Take out what reads as a known member and is spelled otherwise. True where there was something."""
    return without_members(members, to_drop(members, known))
