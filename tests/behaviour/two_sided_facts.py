"""Who stands around the gateway of the two-sided model, and the words by which a message says whom it is about.

A mark, `ann-7`, names the request of a client that a message is about; `by-one` which server wrote it; `task-of-ann.3` which task, whose that
is, it speaks of; `put-one.q2` which question of a server it is, and `answer-of-ann/one.q2` who answers which. Everybody writes them truthfully, so that whoever reads another's has been told what is another's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "CONFIG",
    "EXTENSIONS",
    "HOSTS",
    "KINDS",
    "MARK",
    "MODERN",
    "SERVERS",
    "Asked",
    "Hosted",
    "about",
    "answers",
    "mark_of",
    "puts",
    "sources",
    "tasks_told",
    "visible",
]

MODERN = "2026-07-28"
MARK = "t/mark"
"""The member of `_meta` in which clients write the mark of a request."""
EXTENSIONS = ("security", "access_control", "audit", "streaming", "lifecycle", "bidirectional")


class Hosted(NamedTuple):
    """One client: as which agent, in which revision, over `pipe` or `http`, in which profile, with MGP or without."""

    agent: str
    revision: str
    wire: str = "pipe"
    profile: str = ""
    mgp: bool = False


HOSTS: Mapping[str, Hosted] = {
    "ann": Hosted("ann", "2025-11-25"),
    "amy": Hosted("ann", "2025-11-25", "http"),
    "bob": Hosted("bob", MODERN),
    "cid": Hosted("cid", "2025-06-18"),
    "dan": Hosted("dan", MODERN, profile="narrow"),
    "eve": Hosted("eve", MODERN, "http"),
    "fay": Hosted("fay", "2025-11-25", "http"),
    "gus": Hosted("gus", "2025-11-25", mgp=True),
}
SERVERS: Mapping[str, Mapping[str, Any]] = {
    "one": {"share": "gateway"},
    "two": {},
    "own": {"share": "session"},
    "new": {"era": "modern"},
    "far": {"web": True},
    "net": {"web": True, "era": "modern"},
    "odd": {"mgp": True},
    "evil": {},
}
"""How each is reached; `evil` alone says what it likes."""
KINDS = ("tools", "prompts", "resources")

_GRANTS = {
    "ann": ("one", "two", "own", "new", "far", "net", "evil"),
    "bob": ("one", "new", "odd", "evil"),
    "cid": ("evil",),
    "dan": tuple(SERVERS),
    "eve": ("one", "new", "far", "net", "evil"),
    "fay": ("two", "own", "far", "net"),
    "gus": ("one", "odd", "evil"),
}
_NARROW = ("one", "new", "evil")


def _config() -> str:
    text = f'[gateway]\nanonymous = "deny"\n[profiles.narrow]\nservers = {json.dumps(_NARROW)}\n'
    for name, how in SERVERS.items():
        text += f'[[servers]]\nid = "{name}"\n'
        text += 'url = "http://127.0.0.1:9/mcp"\n' if "web" in how else f'command = "{name}"\n'
        text += f'share = "{how["share"]}"\n' if "share" in how else ""
        text += 'methods = ["acme/ask", "notifications/acme.told"]\n' if name == "two" else ""
    for agent, servers in _GRANTS.items():
        for server in servers:
            text += f'[[grants]]\nagent = "{agent}"\nserver = "{server}"\n'
    for server in SERVERS:
        text += f'[[grants]]\nagent = "*"\nserver = "{server}"\ntool = "no"\npermission = "deny"\n'
    return text


CONFIG = _config()


def visible(name: str) -> frozenset[str]:
    """The servers that exist for a client."""
    host = HOSTS[name]
    return frozenset(_GRANTS[host.agent]) & frozenset(_NARROW if host.profile else SERVERS)


class Asked:
    """What a client asked or said, as its mark stands for it: of which servers, and whether any may get it."""

    def __init__(self, mark: str, method: str, servers: frozenset[str], may: bool) -> None:
        self.mark, self.method, self.servers, self.may = mark, method, servers, may
        self.who = mark.partition("-")[0]
        self.gone = False
        """Whether its client gave it up, or went away."""
        self.idents: list[int] = []
        """The ids under which its client sent it on its present connection; the last is the one that counts."""
        self.params: dict[str, Any] = {}
        self.sent = 1
        """How often its client sent it."""
        self.got: dict[str, int] = {}
        """How often each server got it."""
        self.token: Any = None
        self.heard = ""
        """The answer that its client got."""
        self.at = 0.0
        """When it was asked, in the seconds that tests let go by."""


_MARK = re.compile(rf"\b({'|'.join(HOSTS)})-\d+\b")
_SOURCE = re.compile(rf"\bby-({'|'.join(SERVERS)})\b")
_TASK = re.compile(r"\btask-of-(\w+)\.(\d+)")
_PUT = re.compile(r"\bput-(\w+\.q\d+)\b")
_ANSWER = re.compile(r"\banswer-of-(\w+)/([\w.]*)")


def about(text: str) -> set[str]:
    """The marks in a message."""
    return {found[0] for found in _MARK.finditer(text)}


def sources(text: str) -> set[str]:
    """The servers that wrote any of it."""
    return set(_SOURCE.findall(text))


def tasks_told(text: str) -> set[tuple[str, int]]:
    """The clients whose tasks it speaks of, and the number of each."""
    return {(who, int(number)) for who, number in _TASK.findall(text)}


def puts(text: str) -> set[str]:
    """The questions in a message: the server and its id of each."""
    return set(_PUT.findall(text))


def answers(text: str) -> set[tuple[str, str]]:
    """Who has answered in a message, and what."""
    return set(_ANSWER.findall(text))


def mark_of(said: Any) -> str:
    """The mark of a request; empty where it has none."""
    params = said.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return str(meta.get(MARK, "")) if isinstance(meta, dict) else ""
