"""What of all that was said may have been said: the judge of the two-sided model (`two_sided`), who stands outside.

A mark, `ann-7`, names whom a message is about; `by-one` which server wrote it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from gatewright.stores.reader import AuditReader

__all__ = ["GRANTS", "PROFILES", "Judge", "about"]

GRANTS: Mapping[str, frozenset[str]] = {
    "ann": frozenset({"one", "two", "evil"}),
    "bob": frozenset({"one", "evil"}),
    "cid": frozenset({"evil"}),
    "dan": frozenset({"one", "two", "evil"}),
}
PROFILES: Mapping[str, tuple[str, frozenset[str]]] = {
    "ann": ("", frozenset({"one", "two", "evil"})),
    "bob": ("", frozenset({"one", "two", "evil"})),
    "cid": ("", frozenset({"one", "two", "evil"})),
    "dan": ("narrow", frozenset({"one", "evil"})),
}
_MARK = re.compile(r"\b(ann|bob|cid|dan)-(\d+)\b")
_TOLD = frozenset(
    {
        "initialize",
        "tools/list",
        "prompts/list",
        "resources/list",
        "resources/templates/list",
        "ping",
    }
)
_NOTES = frozenset(
    {
        "notifications/initialized",
        "notifications/cancelled",
        "notifications/roots/list_changed",
        "notifications/progress",
    }
)


def marks(message: Any) -> set[str]:
    """Whom a message is about."""
    return {found[1] for found in _MARK.finditer(json.dumps(message))}


def sources(message: Any) -> set[str]:
    """Which servers wrote any of it."""
    return set(re.findall(r"\bby-(one|two|evil)\b", json.dumps(message)))


def about(message: Any) -> set[str]:
    return {found[0] for found in _MARK.finditer(json.dumps(message))}


class Hears(Protocol):
    """A client."""

    name: str
    open: dict[int, tuple[str, dict[str, Any], str]]
    marks: dict[str, str]
    subscribed: set[str]


class Hosts(Protocol):
    """A server."""

    name: str


class Gets(Protocol):
    """One connection of a server."""

    asked: dict[str, str]

    @property
    def server(self) -> Hosts:
        """Whose it is."""


class Judge:
    """Keeps what should not have been."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.faults: list[str] = []
        self.served: list[tuple[str, str]] = []
        """Caller and server of each call that a server got."""
        self.questions = 0
        self.known: dict[str, Mapping[str, str]] = {}
        """By client: its marks, and the servers that they were meant for."""

    def fault(self, what: str, message: Any) -> None:
        self.faults.append(f"{what}: {json.dumps(message)[:600]}")

    def judge_client(self, client: Hears, said: Any) -> None:
        """What somebody received is about what is its own, from a server that it may see."""
        name, own = client.name, marks(said) - {client.name}
        if own:
            self.fault(f"{name} heard of {own}", said)
        visible = GRANTS[name] & PROFILES[name][1]
        if sources(said) - visible:
            self.fault(f"{name} heard a server that it may not see", said)
        if any(
            client.marks.get(one) not in (None, *sources(said))
            for one in about(said)
            if sources(said)
        ):
            self.fault(f"{name} heard another server than the one it called", said)
        self._judge_message(client, said)

    def _judge_message(self, client: Hears, said: Any) -> None:
        method, params = said.get("method"), said.get("params") or {}
        name, servers = client.name, sources(said)
        if method == "notifications/message":
            logger = str(params.get("logger"))
            if servers - {logger.partition("/")[0]}:
                self.fault(f"{name} got a log line under another name", said)
        elif method == "notifications/resources/updated":
            # What no server lists that one may see is asked of the one server that there is.
            uri, seen = str(params.get("uri")), GRANTS[name] & PROFILES[name][1]
            owners = {uri.partition("://")[0]} & seen or seen
            if uri not in client.subscribed or servers - owners:
                self.fault(f"{name} got an update that it did not subscribe to", said)
        elif method == "notifications/progress" and params.get("progressToken") not in {
            f"{mark}-token" for mark in client.marks
        }:
            self.fault(f"{name} got progress that is not its own", said)
        for asked in _questions(said):
            self.questions += 1
            self._judge_question(client, asked, servers)
        self._judge_forged(client, said)

    def _judge_question(self, client: Hears, asked: Any, servers: set[str]) -> None:
        params, open_ = asked.get("params") or {}, {one[0] for one in client.open.values()}
        if asked["method"] == "elicitation/create":
            begins = [
                one for one in servers if params["message"].startswith(f'Server "{one}" asks:')
            ]
            if not begins:
                self.fault(f"{client.name} was asked without the server's name", asked)
        if params.get("includeContext", "none") != "none":
            self.fault(f"{client.name} was asked for the context of other servers", asked)
        if servers - open_:
            self.fault(f"{client.name} was asked by a server that it had not called", asked)

    def _judge_forged(self, client: Hears, said: Any) -> None:
        if not sources(said):
            return
        for holder in (
            said.get("result"),
            (said.get("error") or {}).get("data"),
            said.get("params"),
        ):
            found = holder if isinstance(holder, dict) else {}
            meta = found.get("_meta") if isinstance(found.get("_meta"), dict) else {}
            if "_mgp" in found or any(str(key).startswith("dev.gatewright/") for key in meta or {}):
                self.fault(f"{client.name} got what only the gateway says", said)
            if found.get("status") == "pending_approval":
                self.fault(f"{client.name} was told of an approval by a server", said)
            state = str(found.get("requestState", ""))
            if state.startswith("state-of"):
                self.fault(f"{client.name} got a state that is not sealed", said)

    def judge_server(self, pipe: Gets, said: Any) -> None:
        """What a server received belongs to a call or notification that may be, or answers what it asked."""
        method, ident, name = said.get("method"), said.get("id"), pipe.server.name
        if method == "tools/call":
            (mark,) = about(said) or {""}
            caller = mark.partition("-")[0]
            if name not in GRANTS.get(caller, ()) or name not in PROFILES[caller][1]:
                self.fault(f"{name} got a call of {caller}", said)
            elif self.known[caller].get(mark) != name or ident is None:
                self.fault(f"{name} got a call that was not made to it", said)
            self.served.append((caller, name))
        elif method is None:
            self._judge_response(pipe, said)
        elif method.startswith("notifications/"):
            if method not in _NOTES or ident is not None:
                self.fault(f"{name} was told what nobody may tell it", said)
        elif method not in _TOLD and not method.startswith(("resources/", "logging/")):
            self.fault(f"{name} was asked what nobody may ask it", said)

    def _judge_response(self, pipe: Gets, said: Any) -> None:
        about = pipe.asked.pop(said.get("id"), None)
        words = re.findall(r"answer-of-(\w+)", json.dumps(said))
        if about is None:
            if not str(said.get("id")).startswith("free-"):
                self.fault(f"{pipe.server.name} got an answer that it did not ask for", said)
        elif words and pipe.server.name != "evil" and words[0] != about.partition("-")[0]:
            self.fault(f"{words[0]} answered for {about}", said)

    def judge_record(self) -> None:
        """The record names each call that a server got."""
        found: dict[tuple[str, str], int] = {}
        for record in AuditReader(self.folder / "state").tail(10_000_000):
            target = record.get("target") or {}
            key = str((record.get("actor") or {}).get("id")), str(target.get("server_id"))
            found[key] = found.get(key, 0) + 1
        for pair_ in set(self.served):
            if found.get(pair_, 0) < self.served.count(pair_):
                self.faults.append(f"the record names {found.get(pair_, 0)} calls of {pair_}")


def _questions(said: Any) -> list[Any]:
    if "method" in said and said.get("id") is not None:
        return [said]
    wanted = (said.get("result") or {}).get("inputRequests") if "result" in said else None
    return list(wanted.values()) if isinstance(wanted, dict) else []
