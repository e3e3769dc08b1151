"""`gatewright console`: asks the running gateway for a URL that opens its web console once, and hands it to the browser."""

from __future__ import annotations

import http.client
import json as json_text
import webbrowser
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json, KeyText, group
from gatewright.cli.output import is_terminal, note, print_document, print_text
from gatewright.cli.running import read_running, settings_here
from gatewright.command_text import to_type

__all__ = ["app", "console", "one_time_url"]

app = group("Open the web console of the running gateway.")

_WAIT_S = 10.0


@app.command()
def console(
    open_: Annotated[
        bool, typer.Option("--open/--no-open", help="Whether to hand the URL to the browser.")
    ] = True,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Print a URL that opens the console once within a quarter of an hour, and open it in the browser.

    On this machine it needs nothing else; where operators authenticate by keys alone, pass yours in GATEWRIGHT_KEY.
    """
    running = read_running(settings_here(config).storage.path)
    if not running.console:
        raise CliError(
            "the running gateway serves no console",
            code="not_found",
            exit_code=Exit.UNREACHABLE,
            hint="its configuration says [console] enabled = false",
        )
    url = one_time_url(running.console, key or running.operator_token)
    opened = open_ and is_terminal(1) and webbrowser.open(url)
    if json:
        print_document({"url": url, "opened": opened})
        return
    print_text(url)
    if opened:
        note("opened in the browser")


def one_time_url(base: str, key: str) -> str:
    """A URL that opens the console at `base` once, for whom `key` belongs to. Raises `CliError`."""
    where = urlsplit(base)
    secure = where.scheme == "https"
    kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
    line = kind(where.hostname or "", where.port, timeout=_WAIT_S)
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    try:
        line.request("POST", "/api/v1/sign-in-urls", b"{}", headers)
        answer = line.getresponse()
        said: Any = json_text.loads(answer.read())
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise CliError(
            f"the console at {base} does not answer: {problem}",
            code="unreachable",
            exit_code=Exit.UNREACHABLE,
            hint=f"`{to_type('doctor')}` says how the gateway does",
        ) from None
    finally:
        line.close()
    if answer.status != http.client.OK:
        raise CliError(
            str(said.get("message", "the console refused")),
            code="permission_denied",
            exit_code=Exit.DENIED,
            hint=str(said.get("hint", "")) or "pass an operator's key in GATEWRIGHT_KEY",
        )
    return str(said["url"])
