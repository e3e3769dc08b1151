"""`gatewright session list`: shows the sessions at the running gateway; an operator sees all of them, an agent its own."""

from __future__ import annotations

from typing import Any

from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, Url, group
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import endpoint

__all__ = ["app", "list_sessions"]

app = group("Who has a session at the running gateway.")

_METHOD = "gatewright/session/list"
_COLUMNS = ("id", "door", "user", "role", "trust", "created", "expires")


@app.callback()
def _group() -> None:
    """Who has a session at the running gateway."""


@app.command("list")
def list_sessions(
    config: Config = None, url: Url = None, key: KeyText = None, json: Json = False
) -> None:
    """List sessions: all of them for an operator, with an agent's key its own.

    Columns: the beginning of its id, door, user, role, trust, created, expires. One that ends with its
    connection has no end.
    """
    where = endpoint(config, url=url, key=key, role="operator")
    found: list[dict[str, Any]] = ask(where, _METHOD, {})["sessions"]
    if json:
        print_document(found)
        return
    print_rows(_COLUMNS, [_row(one) for one in found])
    if not found:
        note("no sessions")


def _row(one: dict[str, Any]) -> tuple[str, ...]:
    user = one["user_context"]
    return (
        one["session_id"],
        one["door"],
        user["user_id"],
        user["role"],
        user["trust_level"],
        one["created_at"],
        one["expires_at"] or "",
    )
