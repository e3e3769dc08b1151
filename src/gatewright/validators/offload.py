"""Runs validators on large arguments in worker processes: `Judges` sends the job, `judged` does it in the worker with cached checks."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import msgspec

from gatewright.call import Call, Refusal, Security, Tool
from gatewright.mcp.wire import jsonrpc
from gatewright.schemas.objection import Objection
from gatewright.transport import worker_requests
from gatewright.transport.worker_requests import Answered, ordered, too_busy
from gatewright.transport.workers import Busy, Overtime, Workers
from gatewright.validators import Checks, checks_for
from gatewright.validators.gate import MOST_NAMES, Judged

__all__ = ["Judges", "judged"]


class Judges:
    """Asks the workers."""

    def __init__(self, workers: Workers) -> None:
        self.workers = workers

    async def judge(self, call: Call, tool: Tool) -> Judged | Refusal:
        """What the validators of a tool say of the arguments of a call."""
        order = {"do": "judge", **_of(tool.security), "tool": tool.target.name}
        load, seconds = jsonrpc.encode(call.arguments), worker_requests.JUDGE_S
        try:
            said, _ = await ordered(self.workers, call, order, load, seconds)
        except Busy:
            return too_busy()
        except Overtime:
            text = f"takes more than {seconds} s to be judged; send less, or in a plainer form"
            return Judged((tool.security.validator, Objection("", "too_costly", text)))
        if "error" in said:
            return Refusal("internal", f"the arguments could not be judged: {said['error']}")
        if "names" in said:
            return Judged(None, [(name, path, host) for name, path, host in said["names"]])
        return Judged((said["validator"], msgspec.convert(said["objection"], Objection)))


def judged(order: Mapping[str, Any], load: bytes) -> Answered:
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


def _of(security: Security) -> dict[str, Any]:
    return {
        "names": security.validator,
        "options": security.validator_options,
        "pointers": security.validator_args,
    }
