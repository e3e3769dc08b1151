"""Second spellings of members: how a decoder that minds neither case nor separators reads a message, and every way to write one.

`differently` is the judge: it shares no code with the gateway, and says where such a reader takes something else than an exact one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["ARGUMENTS", "PARAMS", "Shape", "cases", "differently", "foldings", "loosely"]

Shape = Mapping[str, Any]
"""Known member → what is known inside of it: a shape, a list of one, or None."""

OPTIONS = {"mode": None}
ARGUMENTS: Shape = {
    "path": None,
    "task_name": None,
    "options": OPTIONS,
    "rows": [{"key": None}],
    "words": None,
}
_META: Shape = {
    "progressToken": None,
    "io.modelcontextprotocol/protocolVersion": None,
    "io.modelcontextprotocol/clientInfo": None,
    "io.modelcontextprotocol/clientCapabilities": None,
    "io.modelcontextprotocol/related-task": {"taskId": None},
    "dev.gatewright/server": None,
    "traceparent": None,
}
_EVERY: Shape = {"_meta": _META, "requestState": None, "inputResponses": None, "trace_id": None}
_NAMED: Shape = {"name": None, "arguments": None}
PARAMS: Mapping[str, Shape] = {
    "tools/call": {**_NAMED, "task": {"ttl": None}},
    "prompts/get": _NAMED,
    "resources/read": {"uri": None},
    "resources/subscribe": {"uri": None},
    "resources/unsubscribe": {"uri": None},
    "completion/complete": {
        "ref": {"type": None, "name": None, "uri": None},
        "argument": {"name": None, "value": None},
    },
    "logging/setLevel": {"level": None},
    "tasks/get": {"taskId": None},
    "tasks/cancel": {"taskId": None},
    "acme/work": {},
    "notifications/roots/list_changed": {},
    "notifications/progress": {"progressToken": None, "progress": None},
    "notifications/cancelled": {"requestId": None},
    "notifications/acme.seen": {},
}
"""What clients say → the members of its params."""
_OUTER: Shape = {"jsonrpc": None, "id": None, "method": None, "params": None, "result": None}
FILLED: Mapping[str, dict[str, Any]] = {
    "tools/call": {"name": "loose__read", "arguments": {"path": "a"}},
    "prompts/get": {"name": "loose__p", "arguments": {}},
    "resources/read": {"uri": "loose:///a"},
    "resources/subscribe": {"uri": "loose:///a"},
    "resources/unsubscribe": {"uri": "loose:///a"},
    "completion/complete": {
        "ref": {"type": "ref/prompt", "name": "loose__p"},
        "argument": {"name": "x", "value": ""},
    },
    "logging/setLevel": {"level": "debug"},
    "notifications/progress": {"progressToken": "none", "progress": 1},
    "notifications/cancelled": {"requestId": "none"},
}
_LETTERS = {"s": "\u017f", "k": "\u212a", "i": "\u0131"}
FREE = "anything"
"""What stands under the second name."""


def _read(name: str) -> str:
    plain = unicodedata.normalize("NFKC", name).replace("\u0131", "i").casefold()
    return "".join(one for one in plain if one not in "_- \u200b")


def foldings(name: str) -> Iterator[str]:
    """Ways to write a name that some decoder takes for it."""
    bare = name.lstrip("_")
    found = [
        name.upper(),
        bare.capitalize(),
        name.swapcase(),
        "".join(f"_{one.lower()}" if one.isupper() else one for one in name),
        f"{bare[:1]}_{bare[1:]}",
        f"{bare[:1]}-{bare[1:]}",
        f"-{name}",
        f"{name} ",
        name.replace("_", "").replace("-", ""),
        bare[:2] + "\u200b" + bare[2:],
        "".join(chr(0xFEE0 + ord(one)) if one.isalnum() else one for one in name),
    ]
    found += [name.replace(one, other, 1) for one, other in _LETTERS.items()]
    yield from dict.fromkeys(one for one in found if one != name)


def loosely(found: Any, shape: Any) -> Any:
    """A value as a loose reader has it: of names that are one to it the last counts."""
    if isinstance(shape, list) and isinstance(found, list):
        return [loosely(one, shape[0]) for one in found]
    if not isinstance(shape, Mapping) or not isinstance(found, dict):
        return found
    known = {_read(one): one for one in shape}
    said = {known.get(_read(name), name): one for name, one in found.items()}
    return {name: loosely(one, shape.get(name)) for name, one in said.items()}


def differently(message: dict[str, Any]) -> bool:
    """Whether a loose reader takes something else from a message than an exact one."""
    own = PARAMS.get(message.get("method", ""), {})
    params = {**_EVERY, **own}
    if message.get("method") == "tools/call":
        params["arguments"] = ARGUMENTS
    return bool(loosely(message, {**_OUTER, "params": params}) != message)


def _with(params: dict[str, Any], path: tuple[str, ...], name: str, first: bool) -> dict[str, Any]:
    """Params with one more member in an object below them, before or after what is there."""
    if not path:
        return {name: FREE, **params} if first else {**params, name: FREE}
    inner = params.get(path[0])
    return {
        **params,
        path[0]: _with(inner if isinstance(inner, dict) else {}, path[1:], name, first),
    }


def _places(shape: Shape, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    for name, inner in shape.items():
        yield path, name
        if isinstance(inner, Mapping):
            yield from _places(inner, (*path, name))


def cases(method: str) -> Iterator[tuple[dict[str, Any], str]]:
    """Messages of one method, each with one second spelling, and what that is of."""
    filled = FILLED.get(method, {})
    for path, known in _places({**_EVERY, **PARAMS[method]}):
        for number, name in enumerate(foldings(known)):
            params = _with(filled, path, name, bool(number % 2))
            yield {"method": method, "params": params}, f"{'.'.join(path)}.{known} as {name!a}"
    for known in _OUTER:
        for name in foldings(known):
            second: Any = (
                {"name": "loose__free", "uri": "loose:///b"} if known == "params" else FREE
            )
            yield {"method": method, "params": filled, name: second}, f"{known} as {name!a}"
