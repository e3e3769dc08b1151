"""`gatewright server login` and `logout`: a person obtains or deletes the gateway's OAuth token for a protected server.

The URL to open goes to standard error, so that standard output stays for the result. The browser comes
back to an address on this machine; where the browser runs on another one, the address that it was sent
to can be typed instead. A running gateway notices by itself what is kept here.
"""

from __future__ import annotations

import asyncio
import os
import webbrowser
from typing import TYPE_CHECKING, Annotated
from urllib.parse import parse_qs, urlsplit

import typer

from gatewright.cli.completion_names import server_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json
from gatewright.cli.output import is_terminal, note, print_document, print_line
from gatewright.command_text import to_type
from gatewright.config import Server, Settings, load
from gatewright.timestamps import as_shown

if TYPE_CHECKING:
    from gatewright.oauth.client import Grant
    from gatewright.transport.oauth_callback import Landing

__all__ = ["login", "logout"]

_PORT = 8425

Name = Annotated[
    str,
    typer.Argument(
        metavar="ID", help="The id of the server in mgp.toml.", autocompletion=server_names
    ),
]


def login(
    name: Name,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the URL, or only print it.")
    ] = True,
    port: Annotated[
        int | None,
        typer.Option(
            "--port",
            min=0,
            max=65535,
            help=f"Where the browser comes back to; {_PORT} unless given.",
        ),
    ] = None,
    timeout: Annotated[
        float, typer.Option("--timeout", min=1, metavar="SECONDS", help="How long to wait for you.")
    ] = 300.0,
    config: Config = None,
    json: Json = False,
) -> None:
    """Log in at a protected HTTP server, so that the gateway may use it.

    Prints the server, the issuer that let us in, the scopes and when the access ends.
    """
    settings = load(config)
    server = _protected(settings, name)
    grant = asyncio.run(_bounded(settings, server, _port_of(server, port), timeout, opens=browser))
    scopes = list(grant.scopes)
    renewed = grant.refresh_token is not None
    ends = as_shown(grant.expires_at)
    if json:
        found = {"server": name, "issuer": grant.client.issuer, "scopes": scopes}
        print_document({**found, "expires": ends or None, "renewed": renewed})
        return
    print_line((name, grant.client.issuer, scopes, ends))
    if ends and not renewed:
        note("this server gives no way to renew the access; log in again when it has ended")


def logout(name: Name, config: Config = None, json: Json = False) -> None:
    """Forget what a login left. The issuer is not told: what it gave out ends when it says so."""
    from gatewright.servers.login_store import Logins  # noqa: PLC0415 - only who logs out

    forgotten = Logins(load(config).storage.path).forget(name)
    if json:
        print_document({"server": name, "forgotten": forgotten})
    else:
        note(f"{name}: logged out" if forgotten else f"{name}: there was no login")


def _protected(settings: Settings, name: str) -> Server:
    """The server, if a login can mean anything to it. Raises `CliError`."""
    server = settings.server(name)
    if server is None:
        raise _unusable(f"there is no server {name!r}", _known(settings))
    if server.problem is not None:
        raise _unusable(f"server {name} cannot be used: {server.problem.what}", _hint())
    if server.transport in {"stdio", "python"}:
        raise _unusable(f"server {name} is a program, not an HTTP server", "give it secrets in env")
    if server.auth.type != "oauth" or server.transport == "openapi":
        raise _unusable(f"server {name} is let in by its configuration, not by a login", _hint())
    return server


def _port_of(server: Server, said: int | None) -> int:
    """That of the redirect URI where one is registered. Raises `CliError` where another one was asked for."""
    fixed = urlsplit(server.auth.redirect_uri).port if server.auth.redirect_uri else None
    if fixed is not None and said not in (None, fixed):
        hint = "leave --port out, or remove redirect_uri from [servers.auth]"
        raise _unusable(f"the redirect URI {server.auth.redirect_uri} has port {fixed}", hint)
    return fixed or (_PORT if said is None else said)


def _known(settings: Settings) -> str:
    if settings.servers:
        return f"servers in mgp.toml: {', '.join(one.id for one in settings.servers)}"
    where = "no servers in it" if settings.files else "no mgp.toml was found here"
    return f"{where}; name the file that the gateway runs with: --config FILE"


def _unusable(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)


def _hint() -> str:
    return f"`{to_type('config check')}` looks at the file; [servers.auth] is where it is set"


async def _bounded(
    settings: Settings, server: Server, port: int, timeout_s: float, *, opens: bool
) -> Grant:
    # Imported here: HTTP and OAuth are for those who log in.
    from gatewright.mcp.client.authorization import NotAuthorized  # noqa: PLC0415
    from gatewright.mcp.client.link import ServerFailed  # noqa: PLC0415
    from gatewright.transport.oauth_callback import LandingTaken  # noqa: PLC0415

    try:
        async with asyncio.timeout(timeout_s):
            return await _log_in(settings, server, port, opens=opens)
    except LandingTaken as taken:
        why, code, hint = str(taken.strerror), Exit.USAGE, "choose another one with --port"
    except TimeoutError:
        why, code = f"nobody logged in within {timeout_s:g} s", Exit.AUTHENTICATION
        hint = "run it again, or give yourself more with --timeout"
    except NotAuthorized as problem:
        why, code, hint = str(problem), Exit.AUTHENTICATION, _hint()
    except ServerFailed as problem:
        why, code, hint = f"server {server.id}: {problem}", Exit.UNREACHABLE, "is its url right?"
    raise CliError(why, code="login_failed", exit_code=code, hint=hint)


async def _log_in(settings: Settings, server: Server, port: int, *, opens: bool) -> Grant:
    from gatewright.servers.authorize import Browser  # noqa: PLC0415
    from gatewright.servers.login import log_in  # noqa: PLC0415
    from gatewright.servers.login_store import Logins  # noqa: PLC0415
    from gatewright.servers.settings_adapters import spec_of  # noqa: PLC0415
    from gatewright.transport.oauth_callback import Landing  # noqa: PLC0415

    back = urlsplit(server.auth.redirect_uri).hostname
    async with Landing(port, back or "127.0.0.1") as landing:

        async def open_url(url: str) -> str:
            _registered(server, url)
            return await _visit(landing, url, opens=opens)

        info = {"name": settings.gateway.name, "version": _version()}
        logins = Logins(settings.storage.path)
        ours = Browser(open_url, landing.url)
        return await log_in(spec_of(settings, server), info, logins, ours)


def _registered(server: Server, url: str) -> None:
    """Say which redirect URI a client that a person registered has to have: each issuer has one of its own."""
    asked = parse_qs(urlsplit(url).query)
    client, back = asked.get("client_id", [""])[0], asked.get("redirect_uri", [""])[0]
    auth = server.auth
    if auth.redirect_uri == back or client not in (auth.client_id, auth.client_metadata_url):
        return
    if client != auth.client_id:
        note(
            f"the redirect URI of logins with a document is {back}; see that the document at client_metadata_url lists it, and none "
            "that ends in the digits of an issuer"
        )
        return
    note(
        f"the redirect URI of this issuer is {back}; see that client {client} has it (one that was registered before, "
        "without the last part, goes on with redirect_uri in [servers.auth])"
    )


async def _visit(landing: Landing, url: str, *, opens: bool) -> str:
    """Show the URL, and wait for the browser to come back or for its address to be typed."""
    arrival = landing.expect(url)
    note(f"open this in a browser and log in:\n\n  {url}\n")
    loop = asyncio.get_running_loop()
    if opens and await loop.run_in_executor(None, webbrowser.open, url):
        note("it should be open already; waiting for you")
    if not is_terminal(0):
        return await arrival
    note("on another machine? paste the address that the browser was sent to, and press Enter")
    # Not a thread: one that waits for a line could not be ended when the browser comes back.
    loop.add_reader(0, _typed, arrival)
    try:
        return await arrival
    finally:
        loop.remove_reader(0)


def _typed(arrival: asyncio.Future[str]) -> None:
    """Take a line from the terminal, which hands over whole lines only."""
    line = os.read(0, 65536).decode(errors="replace").strip()
    if line and not arrival.done():
        arrival.set_result(line)


def _version() -> str:
    from gatewright import __version__  # noqa: PLC0415 - with the rest of what a login needs

    return __version__
