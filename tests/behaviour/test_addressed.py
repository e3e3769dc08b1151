"""For whom a request is meant: the target of an HTTP request and its `Host` say the same, at every path and on every connection."""

from __future__ import annotations

import socket
from urllib.parse import urlsplit

import pytest

from tests.behaviour.gateway import Gateway

BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'


def answered(gateway: Gateway, *heads: str) -> list[int]:
    """The statuses of requests on one connection, of which each is sent once the one before it is answered."""
    where = urlsplit(gateway.url)
    host = f"{where.hostname}:{where.port}"
    found = []
    with socket.create_connection((where.hostname or "", where.port or 0), timeout=20) as line:
        stream = line.makefile("rb")
        for head in heads:
            text = head.replace("HOST", host)
            line.sendall(f"{text}Content-Length: {len(BODY)}\r\n\r\n".encode() + BODY)
            found.append(int((stream.readline().split() or [b"", b"0"])[1]))
            length = 0
            while (field := stream.readline().strip()) != b"":
                if field.lower().startswith(b"content-length:"):
                    length = int(field.partition(b":")[2])
            stream.read(length)
    return found


def post(target: str, more: str = "") -> str:
    kind = "Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n"
    return f"POST {target} HTTP/1.1\r\nHost: HOST\r\n{kind}{more}"


@pytest.mark.parametrize("path", ["/mcp", "/rpc", "/tools", "/healthz", "/nowhere"])
@pytest.mark.parametrize(
    "authority", ["evil.example", "HOST@evil.example", "evil.example@HOST", "@HOST", "HOST.", "x"]
)
def test_a_target_of_another_host_is_refused(bare: Gateway, path: str, authority: str) -> None:
    """Whoever stands before the gateway goes by the one, and the gateway by the other."""
    assert answered(bare, post(f"http://{authority}{path}")) == [400]


def test_a_target_of_our_own_is_served_also_after_another_one(bare: Gateway) -> None:
    own, plain = post("http://HOST/mcp"), post("/mcp")
    assert answered(bare, plain, own, own, plain) == [200] * 4
    assert answered(bare, own, own.replace("Host: HOST", "Host: localhost")) == [200, 400]


def test_an_upgrade_has_one_addressee(bare: Gateway) -> None:
    more = (
        "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
    )
    head = post("http://evil.example/mcp/ws", more).replace("POST", "GET", 1)
    assert answered(bare, head) == [400]
