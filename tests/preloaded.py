"""What commands and gateways import and compile late, done ahead in a process that forks before it runs one."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from msgspec import Struct

from tests.warmed import serve_once

if TYPE_CHECKING:
    from gatewright.prepared import Mode

__all__ = ["preload", "preload_workers", "switch"]

_BY_NAME = (
    *("uvloop", "uvicorn.lifespan.off", "uvicorn.protocols.http.auto"),
    *(
        "gatewright.hosts.commands.served",
        "encodings.utf_8_sig",
        "encodings.idna",
        "encodings.cp437",
    ),
)
"""What a gateway imports by its name when it begins to serve."""
_VALIDATORS = ("gatewright.validators.sql_reading", "gatewright.validators.code_rules")
"""What validators import when they are asked first."""


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
    from gatewright.app.run import run  # noqa: PLC0415 - only in a process that forks
    from gatewright.cli import app, global_options  # noqa: PLC0415
    from gatewright.config import check  # noqa: PLC0415
    from gatewright.config.build import build  # noqa: PLC0415
    from gatewright.redaction.policy import redaction_of  # noqa: PLC0415

    assert run.__name__
    switch()
    vars(app)["_command"] = cache(vars(app)["_command"])
    for words, command in (((), app._command()), *global_options.leaves(app.tree())):
        context = command.make_context(
            " ".join(words), [], resilient_parsing=True
        )  # what its options need
        _options(command.get_params(context))
    for name in _BY_NAME:
        with suppress(ImportError):
            import_module(name)
    for shape in _shapes(Struct):
        check._fields(shape)
    _search()
    redaction_of(build([], {}, Path("state")), bytes(32))
    preload_workers()
    serve_once()


def _options(options: Iterable[Any]) -> None:
    """What turns the words of a command line into values is made with the first of them, `--help` among them."""
    for option in options:
        if hasattr(option, "get_runtime_param"):
            option.get_runtime_param()


def _shapes(of: type[Struct]) -> Iterator[type[Struct]]:
    """The tables of a configuration, whose fields are looked up once in a process."""
    for one in of.__subclasses__():
        if one.__module__.startswith("gatewright.config."):
            yield one
        yield from _shapes(one)


def preload_workers() -> None:
    """What judges, cleans and reads in worker processes, and in gateways: it is read and compiled when it is needed first."""
    from gatewright import patterns, secret_scanning  # noqa: PLC0415 - only in a process that forks
    from gatewright.pins import result_reading  # noqa: PLC0415
    from gatewright.pins.poisoning import suspicion  # noqa: PLC0415
    from gatewright.schemas import lookalikes  # noqa: PLC0415
    from gatewright.validators import registry  # noqa: PLC0415
    from gatewright.validators.shell import modes, table  # noqa: PLC0415

    for name in (*_VALIDATORS, *registry.BUILT_IN.values()):
        import_module(name)
    secret_scanning.prepare()
    suspicion("say", {"description": "Say it"})
    result_reading.prepare()
    for read in (
        table.table,
        table._file_names,
        modes._closed,
        registry.plugged,
        lookalikes._table,
    ):
        read()
    for pattern in patterns.uncompiled():
        pattern.ready()


def _search() -> None:
    """What the first search among tools reads, nearly all of what it costs."""
    from gatewright.discovery import kept_index, lexicon, word_vectors  # noqa: PLC0415 - as above
    from gatewright.discovery.index import ToolIndex  # noqa: PLC0415

    kept_index.made_by()
    lexicon.lexicon()
    word_vectors.table()
    assert not ToolIndex()
