"""MCP client handshake as a state machine: `server/discover`, `initialize`, MGP offer; builds the client capabilities. No I/O.

Theory: a modern server is found by asking it (`server/discover`), a legacy one by its failing to
understand the question. The owner sends the `Ask` it is given, feeds what came of it back in, and
gets the next `Ask`, a `Hello`, or the reason why there is none. What can come of an `Ask` depends on
the transport: an answer everywhere, silence on pipes (`silent`: old servers may ignore what they do
not know), an HTTP status on HTTP (`refused`).

Source: MCP 2026-07-28, basic/versioning and basic/transports; MCP 2025-11-25, basic/lifecycle; MGP §2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from gatewright.call import Client, Mgp
from gatewright.mcp.protocol.eras import modern_params
from gatewright.mcp.protocol.negotiate import EXTENSION, Face, agree, flaw_of, read_offer
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import META_SERVER_INFO
from gatewright.mcp.wire.versions import LATEST_LEGACY, LATEST_MODERN, LEGACY, MODERN, is_modern
from gatewright.secret_scanning.escape_invisible import spelled

__all__ = [
    "ASKABLE",
    "INITIALIZED",
    "Ask",
    "Failed",
    "Fallback",
    "Handshake",
    "Hello",
    "Step",
    "code_of",
    "offered",
    "relayed",
    "without_mgp",
]

ASKABLE: Mapping[str, Any] = {
    "elicitation": {"form": {}, "url": {}},
    "sampling": {"tools": {}},
    "roots": {"listChanged": True},
}
"""What we let a shared server ask: everything, because each question is passed on to the caller it
belongs to, and refused there when that caller cannot answer it."""

INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
"""What a legacy server waits for after its answer to `initialize`."""

_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION = -32020, -32021, -32022
_MODERN_ERRORS = (_HEADER_MISMATCH, _MISSING_CAPABILITY, _UNSUPPORTED_VERSION)
_NOT_THERE = (400, 404, 405)
"""What an HTTP server of 2024-11-05 answers to a POST on its event-stream URL."""
_BEGINS = b'{"jsonrpc"'
_BROKEN = "the server's answer to {} is broken"
_MESSAGE_CHARS, _TOLD_CHARS = 300, 100
_CODES = 10**9
"""Every code is nearer to zero. A longer number may have more digits than are written at all."""


class Hello(msgspec.Struct, frozen=True):
    """What a server said of itself, and what was agreed with it."""

    revision: str
    capabilities: Mapping[str, Any] = {}
    info: Mapping[str, Any] = {}
    instructions: str | None = None
    mgp: Mgp | None = None
    permissions: tuple[str, ...] = ()
    """What it says that it needs (MGP §2.3), in its own words."""
    mgp_problem: str = ""
    """Why an MGP offer of the server does not count; plain MCP goes on without it."""

    @property
    def modern(self) -> bool:
        """Whether the server speaks the era without a handshake."""
        return is_modern(self.revision)

    @property
    def writes(self) -> bool:
        """Whether clients may get lines of a log from it: its own, or what it tells them in callbacks where they know none."""
        told = self.mgp is not None and "bidirectional" in self.mgp.extensions
        return told or "logging" in self.capabilities


class Ask(msgspec.Struct, frozen=True):
    """One request to put to the server. `ident` is its JSON-RPC id, unique within the handshake."""

    ident: int
    method: str
    params: dict[str, Any]
    revision: str
    """The revision it is written in; the `MCP-Protocol-Version` header where that is modern."""


class Failed(msgspec.Struct, frozen=True):
    """No hello will come. `reason` is for a person, and says what the server did instead."""

    reason: str


class Fallback(msgspec.Struct, frozen=True):
    """The URL does not speak Streamable HTTP; try the HTTP+SSE transport of 2024-11-05."""


Step = Ask | Hello | Failed | Fallback


def offered(capabilities: Mapping[str, Any], face: Face | None) -> dict[str, Any]:
    """Our client capabilities with the MGP offer in all three places where a server may look for it.

    Without `face` nothing is offered: a plain MCP server must not see a word of MGP.
    """
    found = dict(capabilities)
    if face is None:
        return found
    offer = {"version": face.version, "extensions": list(face.extensions)}
    found["mgp"] = offer
    found["experimental"] = {**(found.get("experimental") or {}), "mgp": offer}
    found["extensions"] = {**(found.get("extensions") or {}), EXTENSION: offer}
    return found


def without_mgp(capabilities: Mapping[str, Any]) -> dict[str, Any]:
    """Capabilities without an MGP offer, which is made to one peer and never passed on."""
    found = {key: value for key, value in capabilities.items() if key != "mgp"}
    for place, name in (("experimental", "mgp"), ("extensions", EXTENSION)):
        inner = found.get(place)
        if isinstance(inner, dict) and name in inner:
            found[place] = {key: value for key, value in inner.items() if key != name}
            if not found[place]:
                del found[place]
    return found


def relayed(capabilities: Mapping[str, Any], face: Face | None) -> dict[str, Any]:
    """A caller's capabilities as a modern server may see them: its MGP offer was made to us, and is
    replaced by ours where there is one."""
    return offered(without_mgp(capabilities), face)


class Handshake:
    """The machine. `era` is `auto`, `legacy` or `modern`; the latter two never try the other one.

    `face` is what we offer of MGP, or None for a server that is plain MCP by configuration.
    """

    def __init__(
        self,
        *,
        info: Mapping[str, Any],
        capabilities: Mapping[str, Any] = ASKABLE,
        era: str = "auto",
        face: Face | None = None,
    ) -> None:
        self._info = dict(info)
        self._capabilities = offered(capabilities, face)
        self._face = face
        self._era = era
        self._count = 0
        self._asked: dict[int, Ask] = {}
        self._current: Ask | None = None
        self._early: Hello | None = None
        self._discovered_in: list[str] = []

    @property
    def probing(self) -> bool:
        """Whether nothing came yet of asking in the modern way."""
        return self._current is not None and self._current.method == "server/discover"

    def start(self) -> Ask:
        """The first request."""
        return self._initialize(LATEST_LEGACY) if self._era == "legacy" else self._discover()

    def answered(self, response: jsonrpc.Response) -> Step | None:
        """Take a JSON-RPC answer. None where it settles nothing: a stranger's id, or a late answer."""
        try:
            ask = self._asked.pop(int(response.id), None)
        except ValueError:
            ask = None
        if ask is None:
            return None
        flaw = jsonrpc.heavy(response.result) or jsonrpc.heavy(response.error)
        if flaw:
            return Failed(f"the server's answer to {ask.method} {flaw}")
        late = ask is not self._current  # the old way is being tried already
        if ask.method == "initialize":
            return self._initialized(response, ask)
        found = self._discovered(response, ask)
        if not late:
            return found
        # The probe was slow and `initialize` is already on its way: a modern server will refuse
        # that, and then this answer counts.
        self._early = found if isinstance(found, Hello) else None
        return None

    def unnamed(self, response: jsonrpc.Response) -> Step | None:
        """Take an answer whose id is no number of ours. Before the handshake is over only one request is open: an error without an id is
        about that (JSON-RPC 2.0 §5), and an id that became a text is that one's. None where it is neither."""
        current = self._current
        if current is None or not self._asked:
            return None
        if response.error and response.id == b"null":
            return self._broken(f"the server refused {current.method}: {_message(response.error)}")
        if response.id == b'"%d"' % current.ident:
            return self._broken(f"the server answered {current.method} under a text as id")
        return None

    def broken(self, flaw: jsonrpc.Malformed, data: bytes) -> Step | None:
        """Take what is no message but can only be the answer: nothing else would come. None where it can be anything else, such as a
        line of a log."""
        current = self._current
        if current is None or not self._asked:
            return None
        try:
            members = jsonrpc.members_named(data, "method", "error", "jsonrpc")
        except ValueError:
            members = None
        if members is None:
            cut = data.lstrip().startswith(_BEGINS) and b'"method"' not in data
            return (
                self._broken(f"{_BROKEN.format(current.method)}: {flaw.message}") if cut else None
            )
        if "method" in members or flaw.id != b"%d" % current.ident:
            return None
        error = bytes(members.get("error", b""))
        if not error and bytes(members.get("jsonrpc", b'"2.0"')) != b'"2.0"':
            return None  # of another protocol; ours may follow
        said = f"; it says: {_message(error)}" if error else ""
        return self._broken(f"{_BROKEN.format(current.method)}: {flaw.message}{said}")

    def _broken(self, reason: str) -> Step:
        self._asked.clear()
        return self._legacy_or(reason) if self.probing else Failed(reason)

    def silent(self) -> Step | None:
        """The server did not answer in time. After a probe: an old server that ignores what it does
        not know; ask it the old way. None while something else is still expected."""
        if not self.probing:
            return Failed("the server did not answer initialize in time")
        if self._era == "modern":
            return Failed("the server did not answer server/discover in time")
        return self._initialize(LATEST_LEGACY)

    def refused(self, status: int, response: jsonrpc.Response | None) -> Step:
        """Take an HTTP answer that is not a success, with the JSON-RPC error in its body, if any."""
        if status in (401, 403):
            return Failed(f"the server refused access (HTTP {status}); check its headers or token")
        # 501 is no trouble of the server's but a method that it does not have.
        if status >= 500 and status != 501:
            return Failed(f"the server answered HTTP {status}")
        if self.probing:
            if response is not None and code_of(response.error) in _MODERN_ERRORS:
                return self._modern_error(response.error)
            if self._era == "modern":
                return Failed(f"the server does not speak {LATEST_MODERN} (HTTP {status})")
            return self._initialize(LATEST_LEGACY)
        if status in _NOT_THERE and self._era != "modern":
            return Fallback()
        return Failed(f"the server refused initialize with HTTP {status}")

    # -- the two ways ------------------------------------------------------------------------------

    def _ask(self, method: str, params: dict[str, Any], revision: str) -> Ask:
        self._count += 1
        ask = Ask(self._count, method, params, revision)
        self._asked[ask.ident] = self._current = ask
        return ask

    def _discover(self, revision: str = LATEST_MODERN) -> Ask:
        self._discovered_in.append(revision)
        client = Client(revision, self._capabilities)
        params = modern_params({}, client, revision=revision, info=self._info)
        return self._ask("server/discover", params, revision)

    def _initialize(self, revision: str) -> Ask:
        params = {
            "protocolVersion": revision,
            "capabilities": self._capabilities,
            "clientInfo": self._info,
        }
        return self._ask("initialize", params, revision)

    def _discovered(self, response: jsonrpc.Response, ask: Ask) -> Step:
        if response.error:
            return self._modern_error(response.error)
        result = _object(response.result)
        versions = result.get("supportedVersions")
        if not isinstance(versions, list):
            return self._legacy_or("the answer to server/discover names no supportedVersions")
        if ask.revision not in versions:
            return self._choose(versions)
        meta = result.get("_meta")
        info = meta.get(META_SERVER_INFO) if isinstance(meta, dict) else None
        return self._hello(ask.revision, result, info)

    def _modern_error(self, error: bytes) -> Step:
        code = code_of(error)
        if code == _UNSUPPORTED_VERSION:
            return self._choose(_supported(error))
        if code in _MODERN_ERRORS:
            return Failed(f"the server refused server/discover: {_message(error)}")
        return self._legacy_or(f"the server refused server/discover: {_message(error)}")

    def _choose(self, supported: list[Any]) -> Step:
        """Go on in the newest revision that the server names and we know."""
        modern = self._untried(supported)
        if modern:
            return self._discover(modern[-1])
        legacy = [one for one in LEGACY if one in supported]
        if legacy and self._era != "modern":
            return self._initialize(legacy[-1])
        named = ", ".join(map(_told, supported[:8])) or "none"
        return Failed(f"no protocol version in common; the server supports: {named}")

    def _untried(self, supported: list[Any]) -> list[str]:
        """The modern revisions that a probe may still name. A server may refuse at first the very one that it then names; but not twice."""
        return [one for one in MODERN if one in supported and self._discovered_in.count(one) < 2]

    def _legacy_or(self, reason: str) -> Step:
        return Failed(reason) if self._era == "modern" else self._initialize(LATEST_LEGACY)

    def _initialized(self, response: jsonrpc.Response, ask: Ask) -> Step:
        if response.error:
            if self._early is not None:
                return self._early
            # A slow modern server may refuse `initialize` before it has answered the probe that came first: it is probed once more.
            if self._era == "auto" and code_of(response.error) == _UNSUPPORTED_VERSION:
                modern = self._untried(_supported(response.error))
                if modern:
                    return self._discover(modern[-1])
            return Failed(f"the server refused initialize: {_message(response.error)}")
        result = _object(response.result)
        revision = result.get("protocolVersion")
        if revision not in LEGACY:
            return Failed(f"the server answered initialize with revision {_told(revision)}")
        return self._hello(str(revision), result, result.get("serverInfo"))

    def _hello(self, revision: str, result: dict[str, Any], info: Any) -> Hello:
        capabilities = result.get("capabilities")
        if not isinstance(capabilities, dict):
            capabilities = {}
        instructions = result.get("instructions")
        offer = read_offer(capabilities) if self._face is not None else None
        return Hello(
            revision,
            capabilities,
            info if isinstance(info, dict) else {},
            instructions if isinstance(instructions, str) else None,
            agree(offer, self._face) if self._face is not None else None,
            offer.permissions_required if offer is not None else (),
            "" if self._face is None else flaw_of(offer, self._face),
        )


def _object(text: bytes) -> dict[str, Any]:
    """A JSON object, or an empty one for anything else: the checks that follow then name the flaw."""
    try:
        found = jsonrpc.decode(text)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _supported(error: bytes) -> list[Any]:
    """The revisions that a refusal of a revision names."""
    data = _object(error).get("data")
    supported = data.get("supported") if isinstance(data, dict) else None
    return supported if isinstance(supported, list) else []


def code_of(error: bytes) -> int | None:
    """The code of a server's error, however long that is; None where it has none."""
    try:
        found = jsonrpc.decode(jsonrpc.members_named(error, "code")["code"])
    except (ValueError, KeyError):
        return None
    return found if isinstance(found, int) else None


def _message(error: bytes) -> str:
    found = {} if jsonrpc.heavy(error) else _object(error)
    message = found.get("message")
    said = spelled(message[:_MESSAGE_CHARS]) if isinstance(message, str) else "no message"
    return f"{said} ({_told(found['code']) if 'code' in found else 'no code'})"


def _told(said: Any) -> str:
    """What a server wrote where a revision or a code belongs, for a text that is the gateway's own and that callers read."""
    if isinstance(said, str):
        return ascii(said[:_TOLD_CHARS])
    short = said is None or (isinstance(said, int) and abs(said) < _CODES)
    return str(said) if short else "what is none"
