"""Commands `restart`, `drain`, `start`, `stop` and `logs` of `gatewright server`: control a server of the running gateway."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, Url
from gatewright.cli.output import note, print_document, print_rows, print_text
from gatewright.cli.running import Endpoint, endpoint
from gatewright.cli.tool_names import absent

__all__ = ["drain", "logs", "restart", "start", "stop"]

_LOOK_S = 0.5
_STARTING_S = 660.0
"""A gateway answers when the server is up or had its time (`startup_wait_s`, at most 600)."""

Id = Annotated[str, typer.Argument(metavar="ID", help="As listed.", autocompletion=server_names)]


def restart(
    id: Id, config: Config = None, url: Url = None, key: KeyText = None, json: Json = False
) -> None:
    """Start a server anew. Calls that run end with the old one, new ones go to the new one.

    Columns: id, status. The exit code is 4 where it does not come up.
    """
    _act("restart", id, endpoint(config, url=url, key=key, role="operator"), json=json)


def drain(
    id: Id,
    *,
    timeout: Annotated[
        float, typer.Option("--timeout", min=0, max=3600, help="Seconds that calls have to end.")
    ] = 30.0,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """Shut a server down gracefully: calls that run come to their end, new ones are refused, and it stays down until it is started.

    Columns: id, whether it was accepted, calls in flight, milliseconds until they should have ended.
    """
    where = endpoint(config, url=url, key=key, role="operator")
    params = {"reason": "operator_request", "timeout_ms": round(timeout * 1000)}
    found = _asked(where, "mgp/lifecycle/shutdown", id, {"server_id": id, **params})
    names = ("accepted", "pending_requests", "estimated_drain_ms")
    shown = {name: found.get(name) for name in names}
    if json:
        print_document({"id": id, **shown})
    else:
        accepted = "yes" if shown["accepted"] else "no"
        print_rows(("id", *names), [(id, accepted, *list(shown.values())[1:])])
    if found.get("note"):
        note(f"{id}: {found['note']}")


def start(
    id: Id, config: Config = None, url: Url = None, key: KeyText = None, json: Json = False
) -> None:
    """Start a server that was stopped, or that gave up.

    Columns: id, status. The exit code is 4 where it does not come up.
    """
    _act("start", id, endpoint(config, url=url, key=key, role="operator"), json=json)


def stop(
    id: Id, config: Config = None, url: Url = None, key: KeyText = None, json: Json = False
) -> None:
    """Stop a server until it is started again, also over a restart of the gateway. Its calls that run have their time limit to end.

    Columns: id, status: `draining` where they take longer than three seconds, or its process does.
    """
    _act("stop", id, endpoint(config, url=url, key=key, role="operator"), json=json)


def logs(
    id: Id,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes; Ctrl-C ends it.")
    ] = False,
    count: Annotated[
        int, typer.Option("--count", "-n", min=1, max=1000, help="How many to begin with.")
    ] = 50,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    json: Json = False,
) -> None:
    """Show what a server last wrote to its standard error."""
    where = endpoint(config, url=url, key=key, role="operator")
    found = _ask(where, "logs", id, lines=count)
    while True:
        for line in found.get("lines", ()):
            if json:
                print_document({"id": id, "line": line})
            else:
                print_text(line)
        if not follow:
            return
        time.sleep(_LOOK_S)
        # `next` counts lines, so a line that comes twice in the log is not taken for one that was shown.
        found = _ask(where, "logs", id, lines=1000, after=found.get("next", 0))


def _act(verb: str, server: str, where: Endpoint, *, json: bool) -> None:
    found = _ask(where, verb, server)
    status, reason = found.get("status", ""), found.get("reason", "")
    if json:
        print_document({"id": server, "status": status, "reason": reason})
    else:
        print_rows(("id", "status"), [(server, status)])
    if status == ("disconnected" if verb == "stop" else "connected"):
        return
    if reason:
        note(f"{server}: {reason}")
    if verb != "stop":
        raise typer.Exit(Exit.UNREACHABLE)


def _ask(where: Endpoint, verb: str, server: str, **more: Any) -> dict[str, Any]:
    return _asked(where, f"gatewright/server/{verb}", server, {"server": server, **more})


def _asked(where: Endpoint, method: str, server: str, params: dict[str, Any]) -> dict[str, Any]:
    try:
        return ask(where, method, params, timeout_s=_STARTING_S)
    except CliError as problem:
        if problem.code == "method_not_found":
            problem.hint = "only operators may; leave --key out, or use an operator's key"
        elif problem.code == "not_found":
            problem.hint = absent(where, server)
        raise
