"""`dispatch_of`: returns a factory that makes each policy's `Dispatch` from its `ServerSet`, with the gateway's own methods and retries."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import random as uniform

from gatewright.kernel import Kernel
from gatewright.servers.dispatch import Builtin, Dispatch, Shared
from gatewright.servers.retry import Note, Persisting
from gatewright.servers.server_set import ServerSet
from gatewright.servers.supervisor import Supervisor

__all__ = ["dispatch_of"]


def dispatch_of(
    servers: Supervisor,
    kernel: Kernel,
    methods: Mapping[str, Builtin],
    shared: Mapping[str, Shared],
    retried: Note,
    random: Callable[[int], bytes],
) -> Callable[[ServerSet], Dispatch]:
    """Makes the dispatch of each policy, over its fleet. `methods` are the gateway's own, `shared` are answered by it and by
    servers; `retried` records that a call is put again (`Persisting`)."""
    persisting = Persisting(
        handle=kernel.walk,
        note=retried,
        limit_s=servers.call_s,
        random=uniform,
        fresh=lambda: random(16).hex(),
    )
    return partial(
        Dispatch, tasks=servers.tasks, methods=methods, shared=shared, persisting=persisting
    )
