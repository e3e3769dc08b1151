"""What the gateway answers by itself: methods, and tools under the name of the kernel."""

from __future__ import annotations

from collections.abc import Callable

from gatewright import gates
from gatewright.call import KERNEL
from gatewright.compose import validating
from gatewright.compose.administration import Administration
from gatewright.compose.explain import METHOD, Explain
from gatewright.compose.office import Office
from gatewright.compose.permitting import Permitting
from gatewright.kernel import Kernel
from gatewright.upstream.builtin.access import access_methods, access_tools
from gatewright.upstream.builtin.permission import permission_methods
from gatewright.upstream.dispatch import Builtin
from gatewright.upstream.local import LocalServer
from gatewright.upstream.names import kernel_names
from gatewright.upstream.spec import ServerSpec

__all__ = ["kernel_names_of", "kernel_tools", "own_methods"]


def own_methods(
    administration: Administration,
    office: Office,
    permitting: Permitting,
    kernel: Callable[[], Kernel],
) -> dict[str, Builtin]:
    """By their names."""
    explain = Explain(office.who, kernel, gates.Gates._fields)
    return {
        **administration.methods,
        **access_methods(office),
        **permission_methods(permitting),
        METHOD: explain,
        validating.METHOD: validating.Validate(kernel),
    }


def kernel_tools(office: Office) -> LocalServer:
    """A server of this process that no configuration can replace."""
    return LocalServer(ServerSpec(id=KERNEL, local=True), access_tools(office))


def kernel_names_of(office: Office) -> list[str]:
    """What hosts see those tools as."""
    return [kernel_names(name)[0] for name in access_tools(office)]
