"""Names the Linux PID namespace of this process, by which a reader of the state folder knows whether a process id in it is of its own."""

from __future__ import annotations

from pathlib import Path

__all__ = ["pid_namespace"]


def pid_namespace() -> str:
    """What the process ids of this machine or container belong to; empty where the system does not say. Ids of another one say
    nothing about what runs."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
