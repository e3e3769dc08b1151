"""A server that misbehaves in one chosen way and is a plain echo server otherwise.

    python tests/tool_servers/bad.py MODE [--http PORT] [--bytes N] [--seconds S]

Whatever it does is bounded: floods and endless lines by `--bytes`, its own life by an alarm after
`--seconds`, also when it ignores SIGTERM. Over HTTP only the modes of `HTTP_MODES` exist.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.tool_servers.wires import LEGACY

__all__ = ["HTTP_MODES", "MODES", "main"]

MEBIBYTE = 1024 * 1024
Message = dict[str, Any]


def _write(data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(1, rest) :]


def _say(message: Message) -> None:
    _write(json.dumps(message).encode() + b"\n")


def _result(message: Message, result: Any) -> Message:
    return {"jsonrpc": "2.0", "id": message["id"], "result": result}


def _hello(message: Message, version: str | None = None) -> Message:
    asked = (message.get("params") or {}).get("protocolVersion")
    known = asked if asked in LEGACY else LEGACY[-1]
    return _result(
        message,
        {
            "protocolVersion": version or known,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bad", "version": "1.0.0"},
        },
    )


def _plain(message: Message) -> Message:
    """What a server in its right mind answers."""
    method = message["method"]
    params = message.get("params") or {}
    if method == "initialize":
        return _hello(message)
    if method == "tools/list":
        tool = {"name": "echo", "description": "Echo", "inputSchema": {"type": "object"}}
        return _result(message, {"tools": [tool]})
    if method == "tools/call":
        words = str((params.get("arguments") or {}).get("message", ""))
        return _result(message, {"content": [{"type": "text", "text": words}]})
    if method == "ping":
        return _result(message, {})
    error = {"code": -32601, "message": f"Unknown method: {method}"}
    return {"jsonrpc": "2.0", "id": message["id"], "error": error}


# --- one way of misbehaving each: called with the request; what it does not do is done as usual


def _exit_after_hello(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))
    if message["method"] == "initialize":
        os._exit(3)


def _exit_in_call(message: Message, options: argparse.Namespace) -> None:
    if message["method"] == "tools/call":
        os._exit(4)
    _say(_plain(message))


def _half_frame(message: Message, options: argparse.Namespace) -> None:
    whole = json.dumps(_plain(message)).encode()
    if message["method"] == "tools/call":
        _write(whole[: len(whole) // 2])
        os._exit(5)
    _write(whole + b"\n")


def _hang(message: Message, options: argparse.Namespace) -> None:
    """Read everything, say nothing."""


def _silent_call(message: Message, options: argparse.Namespace) -> None:
    if message["method"] != "tools/call":
        _say(_plain(message))


def _never_lists(message: Message, options: argparse.Namespace) -> None:
    if message["method"] != "tools/list":
        _say(_plain(message))


def _refuses_list(message: Message, options: argparse.Namespace) -> None:
    if message["method"] != "tools/list":
        _say(_plain(message))
        return
    error = {"code": -32603, "message": "not today"}
    _say({"jsonrpc": "2.0", "id": message["id"], "error": error})


def _flood(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))
    if message["method"] == "tools/list":
        note = {"level": "info", "data": "x" * 1000}
        line = {"jsonrpc": "2.0", "method": "notifications/message", "params": note}
        data = json.dumps(line).encode() + b"\n"
        for _ in range(options.bytes // len(data)):
            _write(data)


def _long_line(message: Message, options: argparse.Namespace) -> None:
    if message["method"] == "tools/call":
        for _ in range(options.bytes // 65536):
            _write(b"x" * 65536)
        return
    _say(_plain(message))


def _garbage(message: Message, options: argparse.Namespace) -> None:
    for line in (b"not json", b"", b"{", b"[]", b"null", b'"text"', b"\xff\xfe\x00", b"[[[[[[[["):
        _write(line + b"\n")
    _say({"jsonrpc": "1.0", "id": message["id"], "result": {}})
    _say(_plain(message))


def _unknown_ids(message: Message, options: argparse.Namespace) -> None:
    for key in ("nobody-asked", 10**12, -1, None, 1.5, [1], {"a": 1}):
        _say({"jsonrpc": "2.0", "id": key, "result": {"stray": True}})
    _say(_plain(message))


def _twice(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))
    second = {"content": [{"type": "text", "text": "second answer"}]}
    _say(_result(message, second))


def _both(message: Message, options: argparse.Namespace) -> None:
    answer = _plain(message)
    if message["method"] == "tools/call":
        answer["error"] = {"code": -1, "message": "and an error as well"}
    _say(answer)


def _wrong_version(message: Message, options: argparse.Namespace) -> None:
    hello = message["method"] == "initialize"
    _say(_hello(message, "1999-01-01") if hello else _plain(message))


def _refuses_hello(message: Message, options: argparse.Namespace) -> None:
    if message["method"] != "initialize":
        _say(_plain(message))
        return
    error = {"code": -32603, "message": "not today"}
    _say({"jsonrpc": "2.0", "id": message["id"], "error": error})


def _slow_hello(message: Message, options: argparse.Namespace) -> None:
    if message["method"] == "initialize":
        time.sleep(1.0)
    _say(_plain(message))


def _closes_stdout(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))
    if message["method"] == "tools/list":
        os.close(1)


def _never_reads(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))
    if message["method"] == "tools/list":
        time.sleep(options.seconds)


def _endless_number(message: Message, options: argparse.Namespace) -> None:
    if message["method"] != "tools/list":
        _say(_plain(message))
        return
    tool = {"name": "odd", "inputSchema": {"type": "object"}, "_meta": {"n": "DIGITS"}}
    answer = _plain(message)
    answer["result"]["tools"].append(tool)
    _write(json.dumps(answer).replace('"DIGITS"', "1" * 5000).encode() + b"\n")


def _plainly(message: Message, options: argparse.Namespace) -> None:
    _say(_plain(message))


Way = Callable[[Message, argparse.Namespace], None]
MODES: dict[str, Way] = {
    "exit-at-start": _plainly,
    "exit-after-hello": _exit_after_hello,
    "exit-in-call": _exit_in_call,
    "half-frame": _half_frame,
    "hang": _hang,
    "silent-call": _silent_call,
    "never-lists": _never_lists,
    "refuses-list": _refuses_list,
    "flood": _flood,
    "long-line": _long_line,
    "ignore-sigterm": _plainly,
    "garbage": _garbage,
    "unknown-ids": _unknown_ids,
    "twice": _twice,
    "both": _both,
    "wrong-version": _wrong_version,
    "refuses-hello": _refuses_hello,
    "slow-hello": _slow_hello,
    "closes-stdout": _closes_stdout,
    "never-reads": _never_reads,
    "endless-number": _endless_number,
}


def _stdio(options: argparse.Namespace) -> int:
    way = MODES[options.mode]
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if "method" in message and "id" in message:
            way(message, options)
    if options.mode == "ignore-sigterm":
        time.sleep(options.seconds)
    return 0


# --- over HTTP: what is sent instead of an answer; the connection is closed afterwards

_HEAD = b"HTTP/1.1 %s\r\nContent-Type: %s\r\nConnection: close\r\n"
_JSON = b"application/json"
_STREAM = b"text/event-stream"


def _http_hang(connection: socket.socket, options: argparse.Namespace) -> None:
    time.sleep(options.seconds)


def _http_half(connection: socket.socket, options: argparse.Namespace) -> None:
    head = _HEAD % (b"200 OK", _JSON) + b"Content-Length: 100\r\n\r\n"
    connection.sendall(head + b'{"jsonrpc":"2.0",')


def _http_garbage(connection: socket.socket, options: argparse.Namespace) -> None:
    page = b"<html>Welcome!</html>"
    head = _HEAD % (b"200 OK", b"text/html") + b"Content-Length: %d\r\n\r\n" % len(page)
    connection.sendall(head + page)


def _http_error(connection: socket.socket, options: argparse.Namespace) -> None:
    head = _HEAD % (b"500 Internal Server Error", b"text/plain")
    connection.sendall(head + b"Content-Length: 4\r\n\r\noops")


def _http_close(connection: socket.socket, options: argparse.Namespace) -> None:
    """Say nothing; the caller of this function closes."""


def _http_not_http(connection: socket.socket, options: argparse.Namespace) -> None:
    connection.sendall(b"SSH-2.0-nothing\r\n")


def _http_flood(connection: socket.socket, options: argparse.Namespace) -> None:
    connection.sendall(_HEAD % (b"200 OK", _STREAM) + b"\r\n")
    event = b"event: message\ndata: " + b'{"jsonrpc":"2.0","method":"notifications/x"}' + b"\n\n"
    for _ in range(options.bytes // len(event)):
        connection.sendall(event)


def _http_long_line(connection: socket.socket, options: argparse.Namespace) -> None:
    connection.sendall(_HEAD % (b"200 OK", _STREAM) + b"\r\ndata: ")
    for _ in range(options.bytes // 65536):
        connection.sendall(b"x" * 65536)


HTTP_MODES: dict[str, Callable[[socket.socket, argparse.Namespace], None]] = {
    "hang": _http_hang,
    "half-frame": _http_half,
    "garbage": _http_garbage,
    "error": _http_error,
    "close": _http_close,
    "not-http": _http_not_http,
    "flood": _http_flood,
    "long-line": _http_long_line,
}


def _drain(connection: socket.socket) -> None:
    """Read one request as far as it comes, so that closing is no reset."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    sizes = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    missing = int(sizes[0].split(b":")[1]) - len(body) if sizes else 0
    while missing > 0 and (piece := connection.recv(65536)):
        missing -= len(piece)


def _http(options: argparse.Namespace) -> int:
    way = HTTP_MODES[options.mode]
    with socket.create_server(("127.0.0.1", options.http)) as server:
        _write(f"ready http://127.0.0.1:{server.getsockname()[1]}/mcp\n".encode())
        while True:
            connection, _ = server.accept()
            with connection:
                try:
                    _drain(connection)
                    way(connection, options)
                except OSError:
                    continue


def main(arguments: list[str] | None = None) -> int:
    """Misbehave as the command line says."""
    parser = argparse.ArgumentParser(description="A server that misbehaves")
    parser.add_argument("mode", choices=sorted({*MODES, *HTTP_MODES}))
    parser.add_argument("--http", type=int, metavar="PORT")
    parser.add_argument("--bytes", type=int, default=64 * MEBIBYTE)
    parser.add_argument("--seconds", type=int, default=120, help="how long it lives at most")
    options = parser.parse_args(arguments)
    if options.mode not in (MODES if options.http is None else HTTP_MODES):
        parser.error(f"{options.mode} does not exist on this transport")
    signal.alarm(options.seconds)
    if options.mode == "ignore-sigterm":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if options.mode == "exit-at-start":
        return 2
    return _stdio(options) if options.http is None else _http(options)


if __name__ == "__main__":
    sys.exit(main())
