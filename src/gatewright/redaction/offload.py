"""In workers (`Cleaners`): redacts large results, finds secrets in long texts, strips invisible characters from large arguments."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import msgspec

from gatewright.call import Call, Failure, Refusal
from gatewright.mcp.wire import jsonrpc
from gatewright.redaction.report import reported
from gatewright.secret_scanning import Clean, Held, Redactor, SecretRule
from gatewright.secret_scanning.context import Finding
from gatewright.secret_scanning.held import MOST as MOST_HELD
from gatewright.secret_scanning.invisible import visible_value
from gatewright.transport.worker_requests import Answered, of_arguments, of_result, ordered
from gatewright.transport.workers import Busy, Overtime, Workers

__all__ = ["CLEAN_S", "Cleaners", "cleaned", "found_in", "looked_through"]

_STREAMS_EACH = 4
"""Pieces of streams of one caller that are looked through at a time: not all places that it has, which its results need as well."""
_AGAIN_S = 0.05
"""Between two times that a piece of a stream is tried again."""
CLEAN_S = 25
"""Seconds for one result."""
_CLEANED = "cleaned", "{} take more than {} s to be cleaned of secrets"
_held = Held()


class _Turn:
    """Whose turn it is among the streams of one caller."""

    def __init__(self) -> None:
        self.places = asyncio.Semaphore(_STREAMS_EACH)
        self.users = 0


class Cleaners:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers
        self._turns: dict[Hashable, _Turn] = {}
        """Of the streams of a caller, by payer, while any wait."""

    async def visible(self, call: Call) -> tuple[Any, int] | Refusal:
        """The arguments of a call without what nobody sees in them, and how many pieces went."""
        load = jsonrpc.encode(call.arguments)
        found = await of_arguments(self.workers, call, {"do": "look"}, load, "looked through")
        if isinstance(found, Refusal):
            return found
        said, text = found
        if "error" in said:
            why = f"the arguments could not be looked through: {said['error']}"
            return Refusal("invalid_args", why, {"rule": "depth"})
        return (jsonrpc.decode_whole(text) if text else None), said["removed"]

    async def clean(
        self, call: Call, redactor: Redactor, raw: bytes, *, report: bool
    ) -> Clean | Failure:
        """A JSON text without what the policy of `redactor` takes out; with `report` a result that says so."""
        order = {**_by(redactor, "clean"), "report": report}
        found = await of_result(self.workers, call, order, raw, CLEAN_S, _CLEANED)
        if isinstance(found, Failure):
            return found
        said, load = found
        if "error" in said:
            text = f"the result could not be cleaned of secrets: {said['error']}"
            return Failure("output_invalid", text)
        return Clean(load or raw, Counter(said["rules"]), said.get("size", 0))

    async def find(self, call: Call, redactor: Redactor, text: bytes) -> Sequence[Finding] | None:
        """What is to be taken out of a piece of a stream; None where that cannot be told. Where too much waits, so does this, behind
        those of its caller that came before; what is waited for behind a call has a limit (`return_path`)."""
        turn = self._turns.setdefault(call.payer, _Turn())
        turn.users += 1
        try:
            async with turn.places:
                return await self._found(call, redactor, text)
        finally:
            turn.users -= 1
            if not turn.users:
                del self._turns[call.payer]

    async def _found(self, call: Call, redactor: Redactor, text: bytes) -> Sequence[Finding] | None:
        while True:
            try:
                said, _ = await ordered(self.workers, call, _by(redactor, "find"), text, CLEAN_S)
            except Busy:
                if self.workers.closed:
                    return None
                await asyncio.sleep(_AGAIN_S)
                continue
            except Overtime:
                return None
            if "error" in said:
                return None
            return [(start, end, rule) for start, end, rule in said["found"]]


def _by(redactor: Redactor, what: str) -> dict[str, Any]:
    order: dict[str, Any] = {"do": what, "policy": redactor.policy}
    if redactor.held is not None:
        order["held"] = redactor.held.values
    return order


def cleaned(order: Mapping[str, Any], load: bytes) -> Answered:
    """`policy` makes the redactor, `held` are secrets that the gateway holds now; the load is a JSON text, which comes back clean,
    or empty where it was. With `report` it is a result and says in its `_meta` what was taken out."""
    redactor = _of(order)
    if not redactor.worth_a_look(load):
        return {"rules": {}}, b""
    clean = redactor.json(load)
    if not clean.rules:
        return {"rules": {}}, b""
    text = reported(load, clean) if order["report"] else clean.text
    return {"rules": Counter(clean.rules), "size": len(clean.text)}, text


def found_in(order: Mapping[str, Any], load: bytes) -> Answered:
    """`policy` and `held` as for `cleaned`; the load is a text. The answer has `found`, a list of (start, end, rule)."""
    return {"found": _of(order).find(load)}, b""


def _of(order: Mapping[str, Any]) -> Redactor:
    held = order.get("held", ())
    if list(_held.values) != held:
        _held.clear()
        _held.hold("gateway", held, MOST_HELD)
    return _redactor(msgspec.json.encode(order["policy"]))


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
        rules=msgspec.convert(said.get("rules", ()), tuple[SecretRule, ...]),
    )


def looked_through(order: Mapping[str, Any], load: bytes) -> Answered:
    """The load is arguments, which come back without what nobody sees in them, or not at all where there is nothing."""
    cleaned, removed = visible_value(jsonrpc.decode_whole(load))
    return {"removed": removed}, jsonrpc.encode(cleaned) if removed else b""
