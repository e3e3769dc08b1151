"""Reserved server ids (`mgp`, `gatewright`, `kernel`): detects server ids and tool-name prefixes that equal one or look like one."""

from __future__ import annotations

from gatewright.call import KERNEL, SHIPPED
from gatewright.schemas.lookalikes import seen
from gatewright.short_cache import cached_if_short

__all__ = ["OWN", "begins_as_ours", "taken_for"]

OWN = (KERNEL, SHIPPED, "kernel")
"""The owner of kernel tools, the owner of shipped ones, and what people call the gateway. `local` is a caller and no server, and many
configurations call a server so."""

_LEET = str.maketrans("345", "eas")


@cached_if_short(1024)
def taken_for(name: str) -> str:
    """The id of the gateway's own that a server's id is or reads as; empty where there is none."""
    return _OWN.get(_read(name), "")


def begins_as_ours(name: str) -> str:
    """The id of the gateway's own that stands before a separator in a tool's name, or reads as what does (`mgp_approve`,
    `Gate-Wright.confirm`); empty where there is none."""
    ends = [at for at, one in enumerate(name) if not one.isalnum()]
    return next((found for at in (*ends, len(name)) if (found := taken_for(name[:at]))), "")


def _read(name: str) -> str:
    """Letters alone, as they look: `Gate-Wright`, `gatevvright` and `gatewr1ght` are one name."""
    looks = seen(name.casefold()).translate(_LEET).replace("vv", "w").replace("i", "l")
    return "".join(one for one in looks if one.isalnum())


_OWN = {_read(one): one for one in OWN}
