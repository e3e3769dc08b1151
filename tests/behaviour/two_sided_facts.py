"""Who stands around the gateway of the two-sided model, and the words by which a message says whom it is about.

A mark, `ann-7`, names the request of a client that a message is about; `by-one` which server wrote it; `task-of-ann.3` which task, whose that
is, it speaks of; `put-one.q2` which question of a server it is, and `answer-of-ann/one.q2` who answers which.
The gateway itself names what waits for an operator: the request, `ap_…`, and the task by which its caller waits, `gwtask_…`. Everybody
writes them truthfully, so that whoever reads another's has been told what is another's.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "CONFIG",
    "DEN",
    "EXTENSIONS",
    "HALL",
    "HOSTS",
    "IN_DEN",
    "KINDS",
    "MARK",
    "MODERN",
    "PEOPLE",
    "PROGRAM",
    "REGISTERED",
    "REGISTERING",
    "SERVERS",
    "SERVER_EXTENSIONS",
    "TAKES_TASKS",
    "WAITS",
    "Asked",
    "Hosted",
    "Person",
    "Question",
    "about",
    "answers",
    "handles",
    "mark_of",
    "puts",
    "requests",
    "sources",
    "tasks_told",
    "token_of",
    "visible",
]

MODERN = "2026-07-28"
MARK = "t/mark"
"""The member of `_meta` in which clients write the mark of a request."""
EXTENSIONS = (
    "security",
    "access_control",
    "audit",
    "streaming",
    "lifecycle",
    "bidirectional",
    "discovery",
    "tool_discovery",
)
SERVER_EXTENSIONS = ("streaming", "bidirectional")
"""What those servers have of it that have any."""
WAITS = "wait"
"""The tool of each server whose calls wait for an operator."""


class Hosted(NamedTuple):
    """One client: as which agent, in which revision, over `pipe` or `http` or in a `room`, in which profile, with MGP or without; `role`
    is what its key says, which changes nothing of what it may, and makes it one with other limits."""

    agent: str
    revision: str
    wire: str = "pipe"
    profile: str = ""
    mgp: bool = False
    role: str = ""

    @property
    def whose(self) -> tuple[str, str, str]:
        """What those have in common who may have each other's subscriptions."""
        return self.agent, self.profile, self.role


HOSTS: Mapping[str, Hosted] = {
    "ann": Hosted("ann", "2025-11-25"),
    "amy": Hosted("ann", "2025-11-25", "http"),
    "bob": Hosted("bob", MODERN),
    "cid": Hosted("cid", "2025-06-18"),
    "dan": Hosted("dan", MODERN, profile="narrow"),
    "eve": Hosted("eve", MODERN, "http"),
    "fay": Hosted("fay", "2025-11-25", "http"),
    "gus": Hosted("gus", "2025-11-25", mgp=True),
    "hal": Hosted("hal", "2025-11-25", mgp=True),
    "ida": Hosted("ida", "2025-11-25", "http", mgp=True),
    "ivy": Hosted("ida", "2025-11-25", "http", mgp=True, role="less"),
    "jon": Hosted("jon", MODERN, mgp=True),
    "kim": Hosted("jon", MODERN, "http", mgp=True),
    "lea": Hosted("lea", "2025-11-25", mgp=True),
    "lou": Hosted("lea", "2025-11-25", "http", mgp=True),
    "lux": Hosted("lea", MODERN, profile="whole", mgp=True),
    "liz": Hosted("lea", MODERN, "http", profile="whole", mgp=True),
    "pat": Hosted("pat", "2025-11-25", "room"),
    "quin": Hosted("quin", "2025-06-18", "room"),
}
SERVERS: Mapping[str, Mapping[str, Any]] = {
    "one": {"share": "gateway"},
    "two": {},
    "own": {"share": "session"},
    "new": {"era": "modern"},
    "far": {"web": True},
    "net": {"web": True, "era": "modern"},
    "odd": {"mgp": True},
    "imp": {"mgp": True},
    "evil": {},
    "reg_a": {"mgp": True, "registered": "session"},
    "reg_b": {"mgp": True, "registered": "persistent"},
    "reg_c": {"era": "modern", "registered": "persistent"},
}
"""How each is reached; `evil` alone says what it likes, and `imp` what it likes of MGP. Those that are `registered` are while the gateway
runs, by the agent `lea` alone; until then nobody has them."""
REGISTERED = tuple(name for name, how in SERVERS.items() if "registered" in how)
TAKES_TASKS = ("dan", "eve", "lux", "liz")
"""The clients of 2026-07-28 that declare the extension."""
PROGRAM = "reg"
"""What agents may register."""
KINDS = ("tools", "prompts", "resources")
HALL, DEN = "hall", "den"
"""The topics: where the gateway's tools are offered, and one that is for `IN_DEN` alone."""
IN_DEN = ("pat", "rob")


class Person(NamedTuple):
    """One participant of rooms: what it may send, what it hears, and whether that is its own words, too."""

    profile: str
    mode: str
    echo: bool


PEOPLE: Mapping[str, Person] = {
    "pat": Person("full", "all", echo=True),
    "quin": Person("full", "directed", echo=False),
    "rob": Person("proposal-only", "directed", echo=True),
    "mal": Person("full", "all", echo=True),
}
"""`mal` says what it likes."""


def token_of(name: str) -> str:
    """By what a participant comes in."""
    return f"token-of-{name}-0123456789"


_GRANTS = {
    "ann": ("one", "two", "own", "new", "far", "net", "imp", "evil"),
    "bob": ("one", "new", "odd", "evil"),
    "cid": ("evil",),
    "dan": tuple(SERVERS),
    "eve": ("one", "new", "far", "net", "evil"),
    "fay": ("two", "own", "far", "net"),
    "gus": ("one", "odd", "imp", "evil"),
    "hal": ("one", "odd", "imp", "evil"),
    "ida": ("one", "imp", "evil"),
    "jon": ("one", "odd", "imp", "net", "evil"),
    "lea": ("one", "evil", *REGISTERED),
    "pat": ("one", "own", "far", "evil"),
    "quin": ("one", "two", "net", "evil"),
}
_NARROW = ("one", "new", "evil")


def _config() -> str:
    text = '[gateway]\nanonymous = "deny"\n[approvals]\napprover = "operator"\n'
    text += f"[profiles.narrow]\nservers = {json.dumps(_NARROW)}\n[profiles.whole]\n"
    text += f'[registration]\nnamespace = "reg_"\ncommands = ["{PROGRAM}"]\n'
    text += 'trust_level = "standard"\nlifetime = "persistent"\n'
    for name, how in SERVERS.items():
        if name in REGISTERED:
            continue
        text += f'[[servers]]\nid = "{name}"\n'
        text += 'url = "http://127.0.0.1:9/mcp"\n' if "web" in how else f'command = "{name}"\n'
        text += f'share = "{how["share"]}"\n' if "share" in how else ""
        if "mgp" in how:
            text += f"mgp = {{ extensions = {json.dumps(SERVER_EXTENSIONS)} }}\n"
        text += 'methods = ["acme/ask", "notifications/acme.told"]\n' if name == "two" else ""
        text += f'[servers.tools.{WAITS}]\nrisk_level = "dangerous"\n'
    for agent, servers in _GRANTS.items():
        for server in set(servers) - set(REGISTERED):
            text += f'[[grants]]\nagent = "{agent}"\nserver = "{server}"\n'
    text += f'[rooms.kernel]\ntopics = ["{HALL}"]\n'
    text += f'[rooms.topics.{DEN}]\naccess = "private"\nmembers = {json.dumps(IN_DEN)}\n'
    for name, one in PEOPLE.items():
        text += f'[[rooms.participants]]\nid = "{name}"\ntoken = "{token_of(name)}"\n'
        text += f'profile = "{one.profile}"\nmode = "{one.mode}"\necho = {json.dumps(one.echo)}\n'
    for server in SERVERS:
        text += f'[[grants]]\nagent = "*"\nserver = "{server}"\ntool = "no"\npermission = "deny"\n'
    return text


CONFIG = _config()


def _rights(agent: str) -> tuple[str, ...]:
    """Also those whose patterns fit the tools of others, which open none of what another registered."""
    named = dict.fromkeys((*_GRANTS[agent], *REGISTERED))
    both = [f"kernel.tool.{what}:{one}.*" for one in named for what in ("invoke", "read")]
    return "kernel.registry.write", *both


REGISTERING: Mapping[str, tuple[str, ...]] = {agent: _rights(agent) for agent in ("lea", "ida")}
"""What the keys of those agents say that may register servers."""


def visible(name: str) -> frozenset[str]:
    """The servers that exist for a client."""
    host = HOSTS[name]
    return frozenset(_GRANTS[host.agent]) & frozenset(
        _NARROW if host.profile == "narrow" else SERVERS
    )


class Question(NamedTuple):
    """What a client was asked: where it answers, which questions of servers that are (`puts`), and what goes along."""

    ident: Any
    method: str
    mark: str
    puts: tuple[str, ...] = ()
    state: str = ""
    keys: tuple[str, ...] = ()
    token: Any = None


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
        self.times = 0
        """On which connection of its client."""
        self.parked = False
        """Whether its caller was answered with a question and has not come back: it goes on, whatever its caller does."""
        self.cut = False
        """Whether its server was lost sight of while it worked on it: its caller was told that nobody knows what came of it."""
        self.outrun = False
        """Whether the word for which it waited came while it was parked, and it did not run, as one alike did or its server was away: it
        may have ended, and its caller hears of that once it comes back."""


_MARK = re.compile(rf"\b({'|'.join(HOSTS)})-\d+\b")
_SOURCE = re.compile(rf"\bby-({'|'.join(SERVERS)})\b")
_TASK = re.compile(r"\btask-of-(\w+)\.(\d+)")
_REQUEST = re.compile(r"\bap_[0-9a-f]{16}\b")
_HANDLE = re.compile(r"\bgwtask_[0-9a-f]{32}\b")
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


def requests(text: str) -> set[str]:
    """What waits for an operator and is spoken of in a message."""
    return set(_REQUEST.findall(text))


def handles(text: str) -> set[str]:
    """The tasks of the gateway that a message speaks of."""
    return set(_HANDLE.findall(text))


def mark_of(said: Any) -> str:
    """The mark of a request; empty where it has none."""
    params = said.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return str(meta.get(MARK, "")) if isinstance(meta, dict) else ""
