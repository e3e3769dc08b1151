"""What commands and gateways import and compile late, done ahead in a process that forks before it runs one."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from gatewright.prepared import Mode

__all__ = ["preload", "switch"]

_BY_NAME = (
    *("uvloop", "uvicorn.lifespan.off", "uvicorn.protocols.http.auto"),
    *(
        "gatewright.hosts.commands.served",
        "encodings.utf_8_sig",
        "encodings.idna",
        "encodings.cp437",
    ),
    *("gatewright.validators.code_safety", "gatewright.validators.code_rules"),
)
"""What a gateway imports by its name when it begins to serve, or is asked to judge code."""


def switch() -> None:
    """Prepared calls as the environment says: off, on from the first call of a kind on, or shadowed (`prepared_shadow`)."""
    from gatewright.prepared import PreparedCalls  # noqa: PLC0415
    from tests import prepared_shadow  # noqa: PLC0415

    assert prepared_shadow.__name__  # which makes itself known
    found = os.environ.get("PREPARED_CALLS", "")
    if found:
        PreparedCalls.mode, PreparedCalls.after = cast("Mode", found), 1


def preload() -> None:
    """Everything: half a second in which a command would do nothing of its own."""
    from gatewright import patterns, secret_scanning  # noqa: PLC0415 - only in a process that forks
    from gatewright.app.run import run  # noqa: PLC0415
    from gatewright.cli import app, global_options  # noqa: PLC0415
    from gatewright.config.build import build  # noqa: PLC0415
    from gatewright.pins.poisoning import suspicion  # noqa: PLC0415
    from gatewright.redaction.policy import redaction_of  # noqa: PLC0415

    assert run.__name__
    switch()
    for words, command in global_options.leaves(app.tree()):
        command.make_context(" ".join(words), [], resilient_parsing=True)  # what its options need
    for name in _BY_NAME:
        with suppress(ImportError):
            import_module(name)
    _search()
    redaction_of(build([], {}, Path("state")), bytes(32))
    secret_scanning.prepare()
    # Reads the signals of pins, which takes as long as all else of a start.
    suspicion("say", {"description": "Say it"})
    for pattern in patterns.uncompiled():
        pattern.ready()


def _search() -> None:
    """What the first search among tools reads, nearly all of what it costs."""
    from gatewright.discovery import kept_index, lexicon, vectors  # noqa: PLC0415 - as above
    from gatewright.discovery.index import ToolIndex  # noqa: PLC0415

    kept_index.made_by()
    lexicon.lexicon()
    vectors.table()
    assert not ToolIndex()
