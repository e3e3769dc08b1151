"""What commands and gateways import and compile late, done ahead in a process that forks before it runs one."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from pathlib import Path

__all__ = ["preload"]

_BY_NAME = ("uvloop", "uvicorn.lifespan.off", "uvicorn.protocols.http.auto")
"""What a gateway imports by its name when it begins to serve."""


def preload() -> None:
    """Everything: half a second in which a command would do nothing of its own."""
    from gatewright import compose, patterns, redaction  # noqa: PLC0415 - only in a process that forks
    from gatewright.cli import app, habits  # noqa: PLC0415
    from gatewright.compose.redaction import redaction_of  # noqa: PLC0415
    from gatewright.settings.build import build  # noqa: PLC0415

    assert compose.Gateway.__name__
    for words, command in habits.leaves(app.tree()):
        command.make_context(" ".join(words), [], resilient_parsing=True)  # what its options need
    for name in _BY_NAME:
        with suppress(ImportError):
            import_module(name)
    redaction_of(build([], {}, Path("state")), bytes(32))
    redaction.prepare()
    for pattern in patterns.uncompiled():
        pattern.ready()
