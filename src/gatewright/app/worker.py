"""Worker process (`python -m gatewright.app.worker`): runs validator, schema, redaction, pin, URI jobs from stdin; exits if a job is too slow.

One order after the other on standard input, one answer each on standard output (`transport.workers`). The head of an order is JSON
with the member `do`; its payload is the untrusted text. Pure functions of the two: nothing is kept but what was compiled.
The work of one order is bounded by a timer (SIGALRM, `transport.worker_main`) that ends the process, whatever it is in.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from gatewright.pins.offload import read, score
from gatewright.redaction.offload import cleaned, found_in, looked_through
from gatewright.schemas.offload import checked, fitted
from gatewright.servers.uri_offload import names, shows
from gatewright.transport.worker_main import answer_orders
from gatewright.transport.worker_requests import Answered
from gatewright.validators.offload import judged

__all__ = ["MODULE", "answered", "main"]

MODULE = "gatewright.app.worker"


def main() -> int:
    """Answer until the other side hangs up."""
    return answer_orders(answered)


def answered(head: bytes, load: bytes) -> Answered:
    """The answer to one order; `error` where it could not be followed."""
    order = msgspec.json.decode(head)
    try:
        return _ORDERS[order.pop("do")](order, load)
    except Exception as problem:  # noqa: BLE001 - whoever ordered it refuses what it was for
        return {"error": f"{type(problem).__name__}: {problem}"[:300]}, b""


_ORDERS: Mapping[str, Callable[[dict[str, Any], bytes], Answered]] = {
    "judge": judged,
    "named": names,
    "led": shows,
    "clean": cleaned,
    "find": found_in,
    "check": checked,
    "fit": fitted,
    "look": looked_through,
    "read": read,
    "score": score,
}


if __name__ == "__main__":
    sys.exit(main())
