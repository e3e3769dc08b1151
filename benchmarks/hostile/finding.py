"""What is hostile about finding tools, about the life of servers and about registering them: what is looked for, in what is listed in bulk, and
whatever requests of MGP take a text, a list or an object.

`attacks(house, size)` yields (name, what makes the input).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

from benchmarks.hostile.arguments import CODE, objects, words
from benchmarks.hostile.house import EVERYTHING, House
from benchmarks.hostile.sockets import said_of

__all__ = ["BULK", "FLOODED", "OBJECTS", "QUERY_CHARS", "TEXTS", "attacks"]

QUERY_CHARS = 2000
"""Of a longer query nothing is looked at."""
BULK = (
    "descriptions",
    "schemas",
    "small",
    "han",
    "marks",
    "many_words",
    "parameters",
    "filed",
    "described",
)
"""What a server lists in bulk (`results.tools_of`)."""
OBJECTS = {
    "mgp/tools/discover": b'{"query":"echo","filter":%b}',
    "mgp/tools/request": b'{"requirements":%b}',
    "mgp/tools/session/evict": b'{"tools":[],"x":%b}',
    "mgp/health/ping": b'{"timestamp":"a","x":%b}',
    "mgp/health/status": b'{"server_id":"calm","x":%b}',
    "mgp/lifecycle/shutdown": b'{"reason":"a","x":%b}',
    "mgp/discovery/register": b'{"id":"dynamic.a","command":"python","justification":"a","env":%b,"mgp":%b}',
    "mgp/discovery/deregister": b'{"id":"dynamic.a","x":%b}',
}
"""Method → params with room for an object."""
_REGISTER = {"id": "dynamic.a", "command": "python", "args": ["none.py"], "justification": "a"}
TEXTS: tuple[tuple[str, str, Mapping[str, Any]], ...] = (
    ("mgp/tools/discover", "query", {}),
    ("mgp/tools/request", "context", {"requirements": {"capabilities": ["echo"]}}),
    ("mgp/health/ping", "timestamp", {}),
    ("mgp/health/status", "server_id", {}),
    ("mgp/lifecycle/shutdown", "reason", {}),
    ("mgp/lifecycle/shutdown", "server_id", {"reason": "idle_timeout"}),
    *(("mgp/discovery/register", one, _REGISTER) for one in ("id", "command", "justification")),
    ("mgp/discovery/deregister", "id", {}),
)
"""Method, the member that takes a text, and what stands beside it."""
FLOODED = ("mgp/health/ping", "mgp/health/status", "mgp/lifecycle/shutdown", "mgp/discovery/list", "mgp/discovery/register", "mgp/tools/discover", "mgp/tools/session")  # fmt: skip
"""What somebody asks as often as it is taken."""
_COSTLY = 11_500_000
_FLOOD = 3000
_SCRIPT_BYTES = 32_000


def attacks(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Every such input by its name."""
    for name, said in words(size):
        for method, member, beside in TEXTS:
            yield _label(method, member, name), partial(_asked, house, method, {**beside, member: said})  # fmt: skip
    for name, text in objects(size):
        for method, params in OBJECTS.items():
            yield _label(method, name), partial(_said, house, method, params.replace(b"%b", text))
    for label, method, wanted in _let_in():
        yield f"discovery.{label}", partial(_asked, house, method, wanted)
    yield "discovery.by_the_tool", partial(_called, house)
    for kind in BULK:
        yield f"discovery.bulk.{kind}", partial(_bulk, house, kind)
    for method in FLOODED:
        yield f"{_label(method)}.flood", partial(_flooded, house, method, "")
        yield f"{_label(method)}.flood_of_a_server", partial(_flooded, house, method, "foreign")
    yield from _registrations(house, size)


def _let_in() -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Queries that are as long as they may be, or hardly longer."""
    for name, said in words(QUERY_CHARS * 3):  # of what takes several bytes, as many characters
        for strategy in ("auto", "category"):
            wanted = {"query": said[:QUERY_CHARS], "strategy": strategy}
            yield f"{strategy}.{name}", "mgp/tools/discover", wanted
        for label, method, asked in _lists(said):
            yield f"{label}.{name}", method, asked
    yield "ten_thousand_words", "mgp/tools/discover", {"query": "w " * 10_000}
    yield "words_let_in", "mgp/tools/discover", {"query": "w0 x1 " * 333}


def _registrations(house: House, size: int) -> Iterator[tuple[str, Callable[[], str]]]:
    """Requests to register that are as large as goes, and scripts that cost most to judge."""
    method = "mgp/discovery/register"
    for name, said in words(4000):
        more = {"args": [said] * 64, "env": {f"A{one}": said for one in range(32)}}
        yield f"registration.let_in.{name}", partial(_asked, house, method, {**_REGISTER, **more})
    many = {"args": ["a"] * (size // 4), "env": {f"A{one}": "a" for one in range(size // 16)}}
    yield "registration.too_many", partial(_asked, house, method, {**_REGISTER, **many})
    needs = {"mgp": {"permissions_required": ["a." * 60] * 32, "extensions": ["a" * 128] * 32}}
    yield "registration.permissions", partial(_asked, house, method, {**_REGISTER, **needs})
    for number, unit in enumerate(CODE):
        text = unit if len(unit) > 2000 else unit * (_SCRIPT_BYTES // len(unit))
        yield f"registration.script.{number}", partial(_script, house, text)
    yield "registration.script.too_long", partial(_script, house, "x = 1\n" * (size // 6))


def _lists(said: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """Lists of texts, each as long as it may be."""
    yield "categories", "mgp/tools/discover", {"query": "echo", "filter": {"categories": [said[:500] + str(one) for one in range(100)]}}  # fmt: skip
    yield "browsed", "mgp/tools/discover", {"filter": {"categories": [said[:500]] * 100}}
    some = [said[:250] + str(one) for one in range(16)]
    wanted = {"capabilities": some, "input_types": some, "output_types": some}
    yield "capabilities", "mgp/tools/request", {"requirements": wanted}
    yield "evicted", "mgp/tools/session/evict", {"tools": [said[:512]] * 100}


def _label(method: str, *more: str) -> str:
    family = "lifecycle" if "health" in method or "lifecycle" in method else "registration"
    if method.startswith("mgp/tools"):
        family = "discovery"
    return ".".join((family, method.rpartition("/")[2], *more))


def _asked(house: House, method: str, params: Mapping[str, Any]) -> str:
    return _said(house, method, json.dumps(params, ensure_ascii=False).encode())


def _said(house: House, method: str, params: bytes) -> str:
    """A client with every extension asks, twice at once, and hears both answers. Who may end or register anything is asked for by a key
    of an operator's; no reason that is sent ends anything."""
    message = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}'
    with house.mcp(house.operator, can=EVERYTHING) as socket:
        try:
            socket.say(*(message % (one, method.encode(), params) for one in (1, 2)))
            said = [socket.answer_of((1, 2), 60.0) for _ in (1, 2)]
            return said_of(json.dumps(said[-1]).encode())
        except OSError as problem:
            return type(problem).__name__


def _called(house: House) -> str:
    """By the tool of the gateway that does the same for hosts without MGP."""
    query = {"query": "".join(chr(0x4E00 + one * 7919 % 20_000) for one in range(QUERY_CHARS))}
    return house.hostile.call_of("mgp_tools_discover", json.dumps(query).encode())


def _bulk(house: House, kind: str) -> str:
    """A server lists as much as goes, and somebody looks for a tool at once."""
    order = json.dumps({"kind": kind, "size": _COSTLY}).encode()
    house.hostile.call("again", order)
    query = {"query": "send a token to somebody important", "max_results": 50}
    time.sleep(1.0)
    said = [_asked(house, "mgp/tools/discover", query) for _ in range(2)]
    wanted = {"requirements": {"capabilities": ["send a token", "w1 w2 w3"]}}
    said.append(_asked(house, "mgp/tools/request", wanted))
    house.hostile.call("again", b'{"kind":"","size":0}')
    time.sleep(0.5)
    return said[-1]


def _script(house: House, text: str) -> str:
    """A script that is judged before it runs, and never answers where it does."""
    (house.folder / "judged.py").write_text(text, encoding="utf-8")
    mgp = {"trust_level": "sandboxed"}
    return _asked(house, "mgp/discovery/register", {**_REGISTER, "args": ["judged.py"], "mgp": mgp})


def _flooded(house: House, method: str, server: str) -> str:
    """One after the other, as fast as they are taken, by somebody who is no operator."""
    said = {"reason": "idle_timeout", "query": "send a token", **_REGISTER}
    params = json.dumps({**said, "server_id": server} if server else said).encode()
    message = b'{"jsonrpc":"2.0","id":%d,"method":"%b","params":%b}'
    with house.mcp(house.somebody(), can=EVERYTHING) as socket:
        try:
            socket.say(*(message % (one, method.encode(), params) for one in range(_FLOOD)))
            return said_of(json.dumps(socket.answer(_FLOOD - 1, 30.0)).encode())
        except OSError as problem:
            return type(problem).__name__
