"""Parses `[[servers]]` of another `mgp.toml` or `mcp.toml`; keeps rules that tighten policy, drops trust, permissions and opt-outs.

Of a tool's rule only what forbids or asks for more is kept. `opt-out` becomes a suggestion; a tool called safe, `trusted`,
permissions that a server would have without a question, and every other word that could make our policy easier are told and
dropped: whoever writes a server down does not decide what it may do here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from gatewright.hosts.dialects import TRANSPORTS
from gatewright.hosts.entry import Entry, plain_text
from gatewright.hosts.host_entry import check_url
from gatewright.hosts.model import Auth, Refused, Server, Suggestion, Timeouts, Tools
from gatewright.hosts.placeholders import references
from gatewright.hosts.tool_rules import strict_rule
from gatewright.secret_scanning.credentials import mask, mask_reference

__all__ = ["read_native"]

_EASIER = {"share": ("gateway",), "schema": ("off",)}
"""Key of a server → the words that could be easier than ours; one that there is not keeps the server out, as everywhere."""
_MGP_EASIER = {
    "trust_level": ("trusted",),
    "permission_policy": ("auto_approve", "interactive"),
}
_MGP_NAMES = ("extensions",)
_MGP_WORDS = ("server_id", "restart_policy", "max_restarts", "restart_window_secs")
_MGP_MORE = ("backoff_base_ms", "backoff_max_ms")
_BY_HAND = "write it by hand if it is meant"
_EXECUTED = ("cmd:", "command:", "shell:", "exec:")


def read_native(entry: Entry) -> tuple[Server, list[Suggestion]]:
    """The server, and what its file would have given it. Raises `Refused`."""
    url, command = entry.word("url"), entry.word("command")
    kind = entry.word("transport")
    transport = TRANSPORTS.get(kind) if kind else ("stdio" if command else "http")
    if transport is None or not (command if transport == "stdio" else url):
        raise Refused("it has no transport that we know", "say how to reach the server")
    if transport != "stdio":
        check_url(url)
    local = transport == "stdio"
    auth = _auth(entry)
    rules = _rules(entry)
    server = Server(
        id="",
        transport=transport,
        command=command if local else "",
        args=entry.words("args") if local else (),
        cwd=entry.word("cwd") if local else "",
        env=entry.variables("env") if local else {},
        url="" if local else url,
        headers={} if local else entry.headers("headers"),
        auth=None if local else auth,
        timeouts=Timeouts(
            connect_s=entry.number("connect_timeout_s"), call_s=entry.number("call_timeout_s")
        ),
        enabled=entry.flag("enabled") is not False,
        tools=Tools(
            exclude=tuple(name for name, rule in rules.items() if rule == {"enabled": False})
        ),
        era="legacy" if (era := entry.word("era")) == "legacy" else _modern(era),
        mgp=_mgp(entry),
        native=_native(entry, rules),
    )
    _check_references(server, entry)
    return server, list(_eased(entry))


def _modern(era: str) -> Any:
    return "modern" if era == "modern" else "auto"


def _auth(entry: Entry) -> Auth | None:
    inner = Entry(entry.table("auth"))
    # Read by `_native`; asked for here so that it is not reported as unread.
    inner.raw("issuer")
    if inner.data.get("type") in {"oauth", "bearer"}:
        inner.raw("type")  # the rest says so as well
    found = Auth(
        bearer=inner.word("bearer"),
        client_id=inner.word("client_id"),
        client_secret=inner.word("client_secret"),
        scopes=inner.words("scopes"),
    )
    _tell_rest(entry, inner, "auth")
    return found if found != Auth() else None


def _native(entry: Entry, rules: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    found = _words(entry, ("tool_prefix", *_EASIER), _EASIER)
    issuer = Entry(entry.table("auth")).word("issuer")
    if issuer:
        found["issuer"] = issuer
    # Folders of another machine or project are not named by it.
    if (level := entry.word("isolation")) in {"confined", "strict"}:
        found["isolation"] = level
    more = {name: rule for name, rule in rules.items() if rule != {"enabled": False}}
    return {**found, "tools": more} if more else found


def _rules(entry: Entry) -> dict[str, dict[str, Any]]:
    """What the file says about single tools, as far as it is stricter than saying nothing."""
    found: dict[str, dict[str, Any]] = {}
    tools = entry.table("tools")
    every = tools.get("*")
    closed = isinstance(every, dict) and every.get("enabled") is False
    for name, rule in tools.items():
        if not isinstance(rule, dict):
            raise Refused("tools has something that is no table", "correct it")
        kept, left = strict_rule(name, rule, closed=closed)
        if left:
            entry.note(f"tools.{name}", f"not taken over: {left}", _BY_HAND)
        if kept:
            found[plain_text(name, "tools")] = kept
    return found


def _mgp(entry: Entry) -> dict[str, Any] | None:
    if not isinstance(entry.raw("mgp"), dict):
        return None
    inner = Entry(entry.table("mgp"))
    found: dict[str, Any] = {key: list(inner.words(key)) for key in _MGP_NAMES if inner.has(key)}
    for key in (*_MGP_WORDS, *_MGP_MORE):
        value = inner.raw(key)
        if isinstance(value, dict):
            value = {str(name): one for name, one in value.items() if isinstance(one, str | int)}
        if isinstance(value, str | int | dict):
            found[key] = value
    found |= _words(inner, _MGP_EASIER, _MGP_EASIER, entry, "mgp.")
    wanted = inner.words("permissions_required")
    if wanted:
        what = f"not taken over: {', '.join(wanted)}, which it would have without a question"
        entry.note("mgp.permissions_required", what, _BY_HAND)
    _tell_rest(entry, inner, "mgp")
    return found


def _words(
    table: Entry,
    keys: Iterable[str],
    easier: Mapping[str, tuple[str, ...]],
    told: Entry | None = None,
    place: str = "",
) -> dict[str, str]:
    """What a table says under these keys, but for the words that are easier, which `told` (itself unless given) is told."""
    found = {}
    for key in keys:
        said = table.word(key)
        if said in easier.get(key, ()):
            (told or table).note(f"{place}{key}", f"{key} = {said} is not taken over", _BY_HAND)
        elif table.has(key):
            found[key] = said
    return found


def _tell_rest(entry: Entry, inner: Entry, name: str) -> None:
    """What nothing asked for of a table inside."""
    for key in inner.unread()[:10]:
        entry.note(f"{name}.{key}", f"not taken over: {name}.{mask(key)}", "see whether it matters")


def _eased(entry: Entry) -> Iterator[Suggestion]:
    if entry.word("default_policy") == "opt-out":
        yield Suggestion(server="", tools=("*",), key="default_policy")


def _check_references(server: Server, entry: Entry) -> None:
    auth = server.auth or Auth()
    texts = [server.command, *server.args, server.cwd, server.url, auth.bearer, auth.client_secret]
    texts += [*server.env.values(), *server.headers.values()]
    found = list(dict.fromkeys(name for text in texts for name in references(text)))
    if any(name.strip().lower().startswith(_EXECUTED) for name in found):
        raise Refused("${cmd: …} would run a program", "put its result into a variable")
    ours = [name for name in found if name.startswith(("secret:", "file:"))]
    if ours:
        named = ", ".join(f"${{{mask_reference(one)}}}" for one in ours)
        entry.note("", f"it is given {named} of yours", "see whether it may")
