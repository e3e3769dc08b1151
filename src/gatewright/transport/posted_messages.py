"""HTTP+SSE client: which HTTP statuses refuse one POST and which the whole session; tells messages apart by how they begin."""

from __future__ import annotations

import msgspec

from gatewright.patterns import Pattern

__all__ = [
    "CALL",
    "GAVE_UP",
    "HEAD_BYTES",
    "INITIALIZED",
    "MEANS_NOTHING",
    "NOTIFICATION",
    "OF_ALL",
    "OF_ONE_MESSAGE",
    "REQUEST",
    "RESPONSE",
    "UNAVAILABLE",
    "error_to",
]

OF_ALL = frozenset({401, 404, 410})
"""The token has ended, or the session."""
GAVE_UP = frozenset({504, 524})
"""Who stands before the server has waited for its answer to the POST long enough; the one that counts comes on the stream."""
OF_ONE_MESSAGE = GAVE_UP | {413, 414, 415, 422, 425, 429, 431, 502, 503}
"""How a message is refused for what it is, its length say, or for the moment: the session is what it was before. All others are said as well
where the session is gone (400, by servers written as the TypeScript SDK's examples are; 500), or the token has ended (403)."""
UNAVAILABLE = frozenset({502, 503})
"""Who stands before the server does not reach it: for a moment, or for good although the stream is open."""
CALL = Pattern(rb'\{"jsonrpc":"2\.0","id":([0-9]+),"method":"tools/call"')
"""Of other requests a server that is slow once, by `initialize` for one, is not known to accept them when they are done."""
MEANS_NOTHING = b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}'
"""No request of ours has this number."""
NOTIFICATION = b'{"jsonrpc":"2.0","method":'
"""How all our notifications begin."""
INITIALIZED = NOTIFICATION + b'"notifications/initialized"'
"""Without it a server takes no request. How the message begins: anybody's arguments may have the words in them."""
_REFUSED_CODE = -32000
REQUEST = Pattern(rb'\{"jsonrpc":"2\.0","id":([0-9]+),"method":')
"""How all our requests begin."""
RESPONSE = Pattern(rb'\{"jsonrpc":"2\.0","id":("(?:[^"\\]|\\.)*"|-?[0-9]+),"result":')
"""And our answers, under ids of the server's."""
HEAD_BYTES = 256


def error_to(ident: bytes, said: str) -> bytes:
    """The error that answers the request of this id, as it is spelled."""
    error = msgspec.json.encode({"code": _REFUSED_CODE, "message": said})
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (ident, error)
