"""Worker process (`python -m gatewright.app.worker`): validators, schemas, redaction, definition and URI scans of large texts.

One order after the other on standard input, one answer each on standard output (`transport.workers`). The head of an order is JSON
with the member `do`; its payload is the untrusted text. Pure functions of the two: nothing is kept but what was compiled.
The work of one order is bounded by an alarm that ends the process, whatever it is in.
"""

from __future__ import annotations

import os
import signal
import sys
from collections import Counter
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

import msgspec

from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.spellings import misread
from gatewright.pins.definition import read_definition
from gatewright.redaction.filter import reported
from gatewright.schemas.graph import UnusableSchema
from gatewright.schemas.messages import MOST, misfits
from gatewright.schemas.objection import Objection
from gatewright.schemas.output_filter import JUDGED
from gatewright.schemas.schema import CompiledSchema, compile_schema
from gatewright.secret_scanning import Held, Redactor
from gatewright.secret_scanning.held import MOST as MOST_HELD
from gatewright.secret_scanning.invisible import visible_value
from gatewright.servers.link_filter import MOST_NAMED, led, named
from gatewright.transport.workers import read_frame, write_frame
from gatewright.validators import Checks, checks_for
from gatewright.validators.gate import MOST_NAMES

__all__ = ["MODULE", "answered", "main"]

MODULE = "gatewright.app.worker"
_NICE = 5
_held = Held()
_definitions = msgspec.json.Decoder(list[tuple[str, dict[str, msgspec.Raw]]])

Answered = tuple[dict[str, Any], bytes]


def main() -> int:
    """Answer until the other side hangs up."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICE)
    answers = os.dup(1)
    os.dup2(2, 1)  # nothing that a library prints becomes an answer
    os.write(answers, b"!")
    while True:
        try:
            head, load, seconds = read_frame(sys.stdin.buffer)
        except EOFError:
            return 0
        signal.alarm(seconds)
        said, text = answered(head, load)
        signal.alarm(0)
        write_frame(answers, msgspec.json.encode(said), text)


def answered(head: bytes, load: bytes) -> Answered:
    """The answer to one order; `error` where it could not be followed."""
    order = msgspec.json.decode(head)
    try:
        return _ORDERS[order.pop("do")](order, load)
    except Exception as problem:  # noqa: BLE001 - whoever ordered it refuses what it was for
        return {"error": f"{type(problem).__name__}: {problem}"[:300]}, b""


def _judge(order: Mapping[str, Any], load: bytes) -> Answered:
    """`names`, `options`, `pointers` and `tool` make the validators; the load is the arguments."""
    checks = _checks(msgspec.json.encode(order))
    if isinstance(checks, str):
        return {"error": checks}, b""
    arguments = jsonrpc.decode_whole(load)
    found = checks.objection(arguments)
    if found is None:
        return {"names": checks.named(arguments, MOST_NAMES + 1)}, b""
    return {"validator": found[0], "objection": msgspec.to_builtins(found[1])}, b""


@lru_cache(maxsize=256)
def _checks(order: bytes) -> Checks | str:
    said = msgspec.json.decode(order)
    return checks_for(said["names"], said["options"], said["pointers"], said["tool"])


def _clean(order: Mapping[str, Any], load: bytes) -> Answered:
    """`policy` makes the redactor, `held` are secrets that the gateway holds now; the load is a JSON text, which comes back clean, or empty where it was. With `report` it is
    a result and says in its `_meta` what was taken out."""
    redactor = _redactor(msgspec.json.encode(order["policy"]))
    held = order.get("held", ())
    if list(_held.values) != held:
        _held.clear()
        _held.hold("gateway", held, MOST_HELD)
    if not redactor.worth_a_look(load):
        return {"rules": {}}, b""
    clean = redactor.json(load)
    if not clean.rules:
        return {"rules": {}}, b""
    text = reported(load, clean) if order["report"] else clean.text
    return {"rules": Counter(clean.rules)}, text


@lru_cache(maxsize=64)
def _redactor(policy: bytes) -> Redactor:
    said = msgspec.json.decode(policy)
    return Redactor(
        bytes.fromhex(said["key"]),
        secrets=said["secrets"],
        personal=frozenset(said["personal"]),
        terms=tuple(said["terms"]),
        hidden=said["hidden"],
        own=tuple(said["own"]),
        held=_held,
    )


def _look(order: Mapping[str, Any], load: bytes) -> Answered:
    """The load is arguments, which come back without what nobody sees in them, or not at all where there is nothing."""
    cleaned, removed = visible_value(jsonrpc.decode_whole(load))
    return {"removed": removed}, jsonrpc.encode(cleaned) if removed else b""


@lru_cache(maxsize=32)
def _schema(text: str, depth: int, subschemas: int) -> tuple[Any, CompiledSchema]:
    schema = jsonrpc.decode_whole(text.encode())
    return schema, compile_schema(schema, depth, subschemas)


def _check(order: Mapping[str, Any], load: bytes) -> Answered:
    """`schema` (its text), `depth` and `subschemas`; the load is arguments. Every flaw of them is told."""
    text, schema = _schema(order["schema"], order["depth"], order["subschemas"])
    arguments = jsonrpc.decode_whole(load)
    objection = schema.objection(arguments)
    if objection is None:
        return {"ok": True}, b""
    flaws = misfits(text, arguments, schema.violations(arguments, MOST))
    return {"objection": msgspec.to_builtins(objection), "flaws": flaws}, b""


def _fit(order: Mapping[str, Any], load: bytes) -> Answered:
    """`schema` (its text), `depth` and `subschemas`; the load is a result, whose `structuredContent` has to fit."""
    members = jsonrpc.decode_members(load)
    twice = misread(members, JUDGED)
    if twice is not None:
        said = f"beside it stands {twice[0]!a}, which reads as {twice[1]}"
        return {"objection": msgspec.to_builtins(Objection("", "names", said))}, b""
    found = members.get("structuredContent")
    if found is None:
        return {"ok": True}, b""
    try:
        schema = _schema(order["schema"], order["depth"], order["subschemas"])[1]
    except UnusableSchema as problem:
        return {"unusable": str(problem)}, b""
    objection = schema.objection(jsonrpc.decode_whole(found))
    if objection is None:
        return {"ok": True}, b""
    return {"objection": msgspec.to_builtins(objection)}, b""


def _read(_: Mapping[str, Any], load: bytes) -> Answered:
    """The load is definitions of tools, each with the name; what is to be known of each comes back."""
    found = [read_definition(name, definition) for name, definition in _definitions.decode(load)]
    return {}, msgspec.json.encode(found)


def _named(order: Mapping[str, Any], load: bytes) -> Answered:
    """`method` is that of the call; the load is a result or the params of an event. The URIs that it names come back."""
    found = named(order["method"], jsonrpc.decode_whole(load))
    if len(found) > MOST_NAMED:
        return {"error": f"it names more than {MOST_NAMED} resources"}, b""
    return {"uris": found}, b""


def _led(order: Mapping[str, Any], load: bytes) -> Answered:
    """The same with `shown`, URI → what it is to be called. The text comes back, or nothing where nothing changes."""
    result, shown = jsonrpc.decode_whole(load), order["shown"]
    changed = led(order["method"], result, lambda uri: shown.get(uri, uri))
    return {}, jsonrpc.encode(result) if changed else b""


_ORDERS: Mapping[str, Callable[[dict[str, Any], bytes], Answered]] = {
    "judge": _judge,
    "named": _named,
    "led": _led,
    "clean": _clean,
    "check": _check,
    "fit": _fit,
    "look": _look,
    "read": _read,
}


if __name__ == "__main__":
    sys.exit(main())
