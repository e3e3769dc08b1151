"""Working folder of each server that runs on this machine, by its id, from the settings: its `cwd`, or the first root of the builtin one."""

from __future__ import annotations

from gatewright.call import SHIPPED
from gatewright.config import Settings

__all__ = ["folders_of"]


def folders_of(settings: Settings) -> dict[str, str]:
    """In which folder of this machine each server runs that does."""
    found = {
        one.id: str(one.cwd)
        for one in settings.servers
        if one.transport in {"stdio", "python"} and one.cwd is not None
    }
    roots = settings.builtin.directory_list.roots
    return {**found, SHIPPED: roots[0]} if roots else found
