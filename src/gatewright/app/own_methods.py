"""Table of the gateway's own methods (MGP and `gatewright/…`), the in-process server of its kernel tools, and the dispatch of each policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from random import random as uniform

from gatewright import pipeline
from gatewright.access.methods import access_methods, access_tools
from gatewright.access.permission_methods import permission_methods
from gatewright.access.permission_policy import Permitting
from gatewright.app.state_watcher import StateWatcher
from gatewright.call import KERNEL
from gatewright.dialects.mgp import validate
from gatewright.dialects.mgp.explain import METHOD, Explain
from gatewright.kernel import Kernel
from gatewright.servers.administration import Administration
from gatewright.servers.dispatch import Builtin, Dispatch, Shared
from gatewright.servers.local import LocalServer
from gatewright.servers.names import kernel_names
from gatewright.servers.retry import Note, Persisting
from gatewright.servers.server_set import ServerSet
from gatewright.servers.spec import ServerSpec
from gatewright.servers.supervisor import Supervisor

__all__ = ["dispatch_of", "kernel_names_of", "kernel_tools", "own_methods"]


def own_methods(
    administration: Administration,
    office: StateWatcher,
    permitting: Permitting,
    kernel: Kernel,
) -> dict[str, Builtin]:
    """By their names."""
    explain = Explain(office.who, kernel, pipeline.Gates._fields)
    return {
        **administration.methods,
        **access_methods(office),
        **permission_methods(permitting),
        METHOD: explain,
        validate.METHOD: validate.Validate(kernel),
    }


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


def kernel_tools(office: StateWatcher) -> LocalServer:
    """A server of this process that no configuration can replace."""
    return LocalServer(ServerSpec(id=KERNEL, local=True), access_tools(office))


def kernel_names_of(office: StateWatcher) -> list[str]:
    """What hosts see those tools as."""
    return [kernel_names(name)[0] for name in access_tools(office)]
