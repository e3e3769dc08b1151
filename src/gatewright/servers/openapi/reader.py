"""Parses an OpenAPI document into tools in a child process, with limits on time, memory and output, so that the event loop runs on.

A thread would share the interpreter with everybody, and decoding eight megabytes is one step of C code in it. Short ones take
long as well: thirty lines of aliases in YAML, or of references to references. And they become large: what many operations refer
to is written once for each, so what the process writes, and the memory that it takes for it, are bounded.
`python -m gatewright.servers.openapi.reader` is what the process runs (`transport.workers`).
"""

from __future__ import annotations

import os
import resource
import signal
import sys
from collections.abc import Collection
from contextlib import suppress
from typing import Any

import msgspec
from msgspec.structs import replace

from gatewright.mcp.wire import jsonrpc
from gatewright.schemas.value_weight import outweighs
from gatewright.servers.openapi.document import Api, definition_of, read_api
from gatewright.servers.openapi.text import BadDocument
from gatewright.transport.workers import Overtime, Workers, read_frame, write_frame

__all__ = ["MOST_BYTES", "READ_S", "Known", "main", "read"]

MODULE = "gatewright.servers.openapi.reader"
READ_S = 120
MOST_BYTES = 32 * 1024 * 1024
"""Of all tools of a document together, as they are listed; what else is known of it has as much. No list of a server is longer."""
_MEMORY_BYTES = 3 * 1024 * 1024 * 1024
"""Of the process, with the library of YAML in it and all that it maps."""
_NICE = 5


class Known(msgspec.Struct, frozen=True):
    """What is known of a document: `listed` is the result of `tools/list`, and its operations have no schemas any more."""

    api: Api
    listed: msgspec.Raw


_known = msgspec.json.Decoder(Known)


async def read(text: bytes, fixed: Collection[str]) -> Known:
    """What a document offers. Raises `BadDocument`."""
    workers = Workers(MODULE, most=1, answer_bytes=4 * MOST_BYTES)
    try:
        said, known = await workers.run("", msgspec.json.encode(sorted(fixed)), text, READ_S)
    except Overtime:
        raise BadDocument(
            f"it takes more than {READ_S} s to be read, or too much memory; send JSON, or less"
        ) from None
    finally:
        await workers.close()
    if said:
        raise BadDocument(said.decode())
    return _known.decode(known)


def _read(text: bytes, fixed: Collection[str]) -> Known:
    api = read_api(text, fixed)
    room = _Bytes()
    room.take(replace(api, operations=()))
    bare, tools = [], []
    for one in api.operations:
        bare.append(replace(one, schema={}))
        room.take(bare[-1])
        tools.append(msgspec.Raw(room.take(definition_of(one))))
    known = replace(api, operations=tuple(bare))
    return Known(known, msgspec.Raw(jsonrpc.encode({"tools": tools})))


class _Bytes:
    """Room for what is written."""

    def __init__(self) -> None:
        self._left = MOST_BYTES

    def take(self, value: Any) -> bytes:
        """A value as JSON. Raises `BadDocument` where there is no room for it."""
        # Weighed first: a text that is there once may stand in it thousands of times.
        if not outweighs(msgspec.to_builtins(value), self._left):
            text = jsonrpc.encode(value)
            self._left -= len(text)
            if self._left >= 0:
                return text
        raise BadDocument(
            f"its tools would have more than {MOST_BYTES >> 20} MiB, because what operations refer to stands in each of them; "
            "give a document with fewer operations, or with shorter schemas"
        )


def main() -> int:
    """Read one document, sent on standard input."""
    # Ends the process wherever it is; a handler in Python would wait for the step of C code to end.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICE)
    with suppress(ValueError, OSError):  # macOS has no such limit
        resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, _MEMORY_BYTES))
    answers = os.dup(1)
    os.dup2(2, 1)  # nothing that a library prints becomes an answer
    os.write(answers, b"!")
    try:
        head, text, seconds = read_frame(sys.stdin.buffer)
    except EOFError:
        return 0
    signal.alarm(seconds)
    try:
        said, known = b"", msgspec.json.encode(_read(text, msgspec.json.decode(head)))
    except BadDocument as problem:
        said, known = str(problem).encode(errors="replace"), b""
    except MemoryError:
        said, known = b"it takes too much memory to be read; give a shorter one", b""
    write_frame(answers, said, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
