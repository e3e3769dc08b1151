"""Table of the gateway's own methods (MGP and `gatewright/…`), and the in-process server of its kernel tools."""

from __future__ import annotations

from gatewright import pipeline
from gatewright.access.methods import access_methods, access_tools
from gatewright.access.permission_methods import permission_methods
from gatewright.access.permission_policy import Permitting
from gatewright.app.state_watcher import Office
from gatewright.call import KERNEL
from gatewright.dialects.mgp import validate
from gatewright.dialects.mgp.explain import METHOD, Explain
from gatewright.kernel import Kernel
from gatewright.servers.administration import Administration
from gatewright.servers.dispatch import Builtin
from gatewright.servers.local import LocalServer
from gatewright.servers.names import kernel_names
from gatewright.servers.spec import ServerSpec

__all__ = ["kernel_names_of", "kernel_tools", "own_methods"]


def own_methods(
    administration: Administration,
    office: Office,
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


def kernel_tools(office: Office) -> LocalServer:
    """A server of this process that no configuration can replace."""
    return LocalServer(ServerSpec(id=KERNEL, local=True), access_tools(office))


def kernel_names_of(office: Office) -> list[str]:
    """What hosts see those tools as."""
    return [kernel_names(name)[0] for name in access_tools(office)]
