"""`ApprovalPage`: loopback HTTP page `/approvals/TOKEN`: mints each request's HMAC URL, shows the request, takes an operator's decision.

Theory. The address is given to the caller whose call waits, who shows it to its user. It is therefore worth nothing by itself: it
shows the one request that its token was made for, until that is decided, and to decide takes an operator's key. So a host
that opens the page by itself learns what it knows already. A token is the request's id with an HMAC by a key that this process
alone has: nothing is kept for an address, so nobody who asks for many takes away those of others.

The page has no script and loads nothing; all text in it is spelled out. It is served to this machine alone.
"""

from __future__ import annotations

import hmac
import ipaddress
from base64 import b64encode
from collections.abc import Callable, Generator, Mapping
from hashlib import sha256
from html import escape
from typing import Any, Protocol
from urllib.parse import unquote_to_bytes

from gatewright.approvals.request import Approval, CannotDecideError, Voter
from gatewright.call import Caller, Refusal
from gatewright.command_text import to_type
from gatewright.mcp.server.http_headers import HttpHeaders
from gatewright.mcp.server.http_request import Connection
from gatewright.mcp.server.http_responses import send_plain
from gatewright.mcp.server.routes import Handler, Profiles, Routes
from gatewright.secret_scanning.escape_invisible import spelled
from gatewright.transport.http_server import BodyTimeout, BodyTooLarge, ClientGone, read_body
from gatewright.transport.slices import in_slices

__all__ = ["PATH", "ApprovalPage", "Decides"]

PATH = "/approvals/"
_KEEP = "\n"
_FORM_BYTES = 256 * 1024
_FIELDS_MOST = 16
_PIECE = 2048
_STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:44rem;margin:3rem auto;padding:0 1rem}"
    "pre,textarea,input{font:14px/1.4 ui-monospace,monospace;width:100%;box-sizing:border-box}"
    "pre{background:#8881;padding:.6rem;white-space:pre-wrap;overflow-wrap:anywhere}"
    "textarea{min-height:8rem}button{font:inherit;padding:.3rem 1.2rem;margin:.8rem .6rem 0 0}"
)
_DIGEST = b64encode(sha256(_STYLE.encode()).digest()).decode()
_HEADERS = (
    (
        b"content-security-policy",
        f"default-src 'none'; style-src 'sha256-{_DIGEST}'; form-action 'self'; frame-ancestors 'none'; "
        "base-uri 'none'".encode(),
    ),
    (b"cache-control", b"no-store"),
    (b"referrer-policy", b"same-origin"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)


class Decides(Protocol):
    """The queue (`approvals.queue`)."""

    def get(self, id: str) -> Approval | None:
        """One request, whatever became of it."""

    def decide(
        self,
        id: str,
        yes: bool,
        *,
        by: Voter,
        seen: str,
        comment: str = "",
        edited: str = "",
    ) -> Approval:
        """An operator decides on one call, of which they have `seen` the arguments. Raises `CannotDecideError`, `ValueError`."""


class ApprovalPage:
    """Mints the addresses, and serves what is there."""

    def __init__(
        self,
        queue: Decides,
        identify: Callable[[str, str | None], Caller | Refusal],
        random: Callable[[int], bytes],
    ) -> None:
        """`identify(door, key)` says whose key it is."""
        self._base = ""
        self._queue = queue
        self._identify = identify
        self._key = random(32)
        self.routes = Routes(find=self._find)

    def _find(self, path: str, profiles: Profiles) -> Handler | None:
        return self._served if path.startswith(PATH) else None

    async def _served(self, connection: Connection, headers: HttpHeaders) -> None:
        await self(connection)

    def reached_at(self, base: str) -> None:
        """Where this gateway is reached on this machine; without that there are no pages."""
        self._base = base

    def url(self, one: Approval) -> str:
        """The address of a request; empty where no page can be served."""
        return f"{self._base}{PATH}{self._token(one.id)}" if self._base else ""

    def _token(self, id: str) -> str:
        return f"{id}.{hmac.digest(self._key, _bytes(id), 'sha256').hex()}"

    async def __call__(self, connection: Connection) -> None:
        """Answer one request below `PATH`."""
        scope = connection.scope
        one = self._meant(scope["path"])
        # The same answer for both: from elsewhere nobody can find out whether an address is one.
        if one is None or not _is_here(scope.get("client")):
            await _send(
                connection, 404, "Nothing is here", "<p>This request is over, or never was.</p>"
            )
        elif scope["method"] == "POST":
            await self._decide(connection, one)
        elif scope["method"] == "GET":
            await _send(connection, 200, "An approval is asked for", _form(one))
        else:
            await send_plain(connection.send, 405, b"GET or POST\n", ((b"allow", b"GET, POST"),))

    def _meant(self, path: str) -> Approval | None:
        token = path.removeprefix(PATH)
        id = token.partition(".")[0]
        # Before the store is asked: who guesses has no part in its work.
        if not hmac.compare_digest(_bytes(token), _bytes(self._token(id))):
            return None
        one = self._queue.get(id)
        # What is decided is decided once.
        return one if one is not None and one.state == "pending" else None

    async def _decide(self, connection: Connection, one: Approval) -> None:
        given = await _read(connection)
        if given is None:
            return
        caller = self._identify("http", given.get("key", "").strip() or None)
        if isinstance(caller, Refusal) or caller.kind != "operator":
            flaw = f"This takes the key of an operator: {to_type('key create NAME --operator')}"
            await _send(connection, 403, "Not decided", _form(one, flaw))
            return
        yes, edited = given.get("decision") == "approve", given.get("edited", "").strip()
        if edited in (one.arguments, spelled(one.arguments, keep=_KEEP)):
            edited = ""  # as the page showed them
        if yes and given.get("seen") != _shown_digest(one):
            flaw = "The arguments were changed since this page was shown. Look at them again."
            await _send(connection, 409, "Not decided", _form(one, flaw))
            return
        if yes and one.unseen and not edited:
            flaw = "Not all of the arguments can be shown, so nobody can approve them here."
            await _send(connection, 409, "Not decided", _form(one, flaw))
            return
        try:
            comment = given.get("comment", "")
            found = self._queue.decide(
                one.id,
                yes,
                by=Voter(caller.id, caller.key_id or ""),
                seen=one.arguments,
                comment=comment,
                edited=edited,
            )
        except (CannotDecideError, ValueError) as problem:
            await _send(connection, 409, "Not decided", _form(one, str(problem)))
            return
        told = f"<p>{_text(one.who)} may {'' if found.state != 'denied' else 'not '}{_text(one.wish)}.</p>"
        if found.state == "pending":
            told = f"<p>You said yes; {found.quorum} operators have to.</p>"
        await _send(connection, 200, found.state.capitalize(), told)


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _shown_digest(one: Approval) -> str:
    """What the page shows of the arguments, as its form says it back: a yes is to that and to nothing else."""
    return sha256(one.arguments.encode("utf-8", "replace")).hexdigest()


def _is_here(client: Any) -> bool:
    """Whether a request comes from this machine."""
    try:
        return ipaddress.ip_address(client[0]).is_loopback
    except (TypeError, ValueError, IndexError):
        return False


async def _read(connection: Connection) -> Mapping[str, str] | None:
    """The fields of a form; None where the client left or was refused."""
    whole = connection.whole.take_whole() if connection.whole is not None else None
    try:
        body = whole if whole is not None else await read_body(connection.receive, _FORM_BYTES)
    except ClientGone:
        return None
    except BodyTooLarge:
        await send_plain(connection.send, 413, b"a form has at most %d bytes\n" % _FORM_BYTES)
        return None
    except BodyTimeout:
        await send_plain(connection.send, 408, b"the form did not arrive in time\n")
        return None
    # `parse_qs` would decode the whole body in one step; anybody on this machine who was given an address may post one.
    parts = body.split(b"&", _FIELDS_MOST)
    if len(parts) > _FIELDS_MOST:
        await send_plain(connection.send, 400, b"this is no form of this page\n")
        return None
    return await in_slices(_fields(parts))


def _fields(parts: list[bytes]) -> Generator[None, None, dict[str, str]]:
    """What a form says, by name; of a name that stands twice the first. What is not encoded well is read as it is."""
    found: dict[str, str] = {}
    for part in parts:
        name, _, value = part.partition(b"=")
        said = yield from _decoded(value)
        found.setdefault((yield from _decoded(name)), said)
    return found


def _decoded(text: bytes) -> Generator[None, None, str]:
    """One text of a form, a piece at a time."""
    pieces, at = [], 0
    while at < len(text):
        end = at + _PIECE
        cut = text.rfind(b"%", end - 2, end)  # an escape has three bytes, which stay together
        end = cut if cut > at and end < len(text) else end
        pieces.append(unquote_to_bytes(text[at:end].replace(b"+", b" ")))
        at = end
        yield
    return b"".join(pieces).decode("utf-8", "replace")


def _form(one: Approval, flaw: str = "") -> str:
    said = f"<p><strong>{_text(flaw)}</strong></p>" if flaw else ""
    arguments = _text(one.arguments)
    # Only what is neither cut nor redacted may be edited: else marks would be sent to the tool as arguments.
    whole = sha256(one.arguments.encode(errors="replace")).hexdigest() == one.arguments_digest
    edit = (
        "<details><summary>Other arguments</summary><textarea name=edited spellcheck=false>"
        f"{arguments}</textarea></details>"
        if whole and one.kind != "server"
        else ""
    )
    unseen, approve = "", "<button name=decision value=approve>Approve once</button>"
    if one.unseen:
        approve = ""
        unseen = f"<p><strong>Not shown: {_text(one.unseen)}. So nobody can approve it here.</strong></p>"
    return (
        f"{said}<p><strong>{_text(one.who)}</strong> wants to <strong>{_text(one.wish)}</strong>: "
        f"{_text(one.reason)}. Risk: {_text(one.risk)}.</p><p>Arguments, SHA-256 "
        f"{one.runs[:16]}:</p><pre>{arguments}</pre>{unseen}"
        f"<form method=post autocomplete=off><input name=seen type=hidden value={_shown_digest(one)}>"
        "<label>Key of an operator<input name=key type=password required></label>"
        f"<label>Comment<input name=comment maxlength=500></label>{edit}"
        f"<button name=decision value=deny>Deny</button>{approve}</form>"
    )


def _text(text: str) -> str:
    """HTML in which nothing is hidden: control, invisible and direction characters are spelled."""
    return escape(spelled(text, keep=_KEEP))


async def _send(connection: Connection, status: int, title: str, body: str) -> None:
    page = (
        f"<!doctype html><html lang=en><meta charset=utf-8><title>{title}</title><style>{_STYLE}</style>"
        f"<h1>{title}</h1>{body}</html>"
    )
    await send_plain(connection.send, status, page.encode(), _HEADERS, b"text/html; charset=utf-8")
