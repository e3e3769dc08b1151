"""Parses an OpenAPI document into tools in a child process, so that a large one does not block the event loop.

A thread would share the interpreter with everybody, and decoding eight megabytes is one step of C code in it. Short ones take
long as well: thirty lines of aliases in YAML, or of references to references.
`python -m gatewright.servers.openapi.reader` is what the process runs (`transport.workers`).
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Collection

import msgspec
from msgspec.structs import replace

from gatewright.mcp.wire import jsonrpc
from gatewright.servers.openapi.document import Api, definition_of, read_api
from gatewright.servers.openapi.text import BadDocument
from gatewright.transport.workers import Overtime, Workers, read_frame, write_frame

__all__ = ["READ_S", "Known", "main", "read"]

MODULE = "gatewright.servers.openapi.reader"
READ_S = 120
_NICE = 5


class Known(msgspec.Struct, frozen=True):
    """What is known of a document: `listed` is the result of `tools/list`, and its operations have no schemas any more."""

    api: Api
    listed: msgspec.Raw


_known = msgspec.json.Decoder(Known)


async def read(text: bytes, fixed: Collection[str]) -> Known:
    """What a document offers. Raises `BadDocument`."""
    workers = Workers(MODULE, most=1)
    try:
        said, known = await workers.run("", msgspec.json.encode(sorted(fixed)), text, READ_S)
    except Overtime:
        raise BadDocument(f"it takes more than {READ_S} s to be read; send JSON, or less") from None
    finally:
        await workers.close()
    if said:
        raise BadDocument(said.decode())
    return _known.decode(known)


def _read(text: bytes, fixed: Collection[str]) -> Known:
    api = read_api(text, fixed)
    tools = [definition_of(one) for one in api.operations]
    bare = tuple(replace(one, schema={}) for one in api.operations)
    return Known(replace(api, operations=bare), msgspec.Raw(jsonrpc.encode({"tools": tools})))


def main() -> int:
    """Read one document, sent on standard input."""
    # Ends the process wherever it is; a handler in Python would wait for the step of C code to end.
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    os.nice(_NICE)
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
    write_frame(answers, said, known)
    return 0


if __name__ == "__main__":
    sys.exit(main())
