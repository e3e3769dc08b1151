"""Extracts the URL elicitations in error -32042 (MCP 2025-11-25), so that their completion can be notified to the client."""

from __future__ import annotations

from gatewright.call import Failure, Outcome, Question
from gatewright.mcp.wire import jsonrpc

__all__ = ["URL_NEEDED", "pages"]

URL_NEEDED = -32042
_MARK = b"elicitationId"
_MOST = 16


def pages(outcome: Outcome) -> list[Question]:
    """One for each page that has an id, by which its server says later that it is done; the first 16. Ids of servers begin with the
    server's name and a slash (`servers.elicitation`)."""
    # A plain search rules out nearly every outcome before anything is decoded.
    if type(outcome) is not Failure or outcome.error is None or _MARK not in outcome.error:
        return []
    try:
        error = jsonrpc.decode(outcome.error)
        said = error["data"]["elicitations"] if error["code"] == URL_NEEDED else []
    except (ValueError, KeyError, TypeError):
        return []
    if not isinstance(said, list):
        return []
    idents = [one.get("elicitationId") for one in said[:_MOST] if isinstance(one, dict)]
    return [
        Question("elicitation/create", {"elicitationId": one}, server=one.partition("/")[0])
        for one in idents
        if isinstance(one, str)
    ]
