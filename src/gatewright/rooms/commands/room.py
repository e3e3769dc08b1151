"""`gatewright room`: commands to list participants, post, propose, fulfil, watch or join, and to seat a stdio server or bridge a host."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import AsyncIterator, Coroutine
from typing import Annotated, Any, TypeVar

import typer

from gatewright import __version__
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.options import Config, Json, KeyText, Url, group
from gatewright.cli.output import is_terminal, note, print_document, print_line
from gatewright.command_text import to_type
from gatewright.mcpx.payload import Proposed, Said
from gatewright.rooms.commands.chat_input import HELP, obey
from gatewright.rooms.commands.terminal import cells, one_line, room, run
from gatewright.rooms.participants import (
    NotFulfillableError,
    Participant,
    RoomError,
    RoomRefusedError,
)
from gatewright.rooms.participants.bridge import HostSeat, ServerSeat
from gatewright.rooms.participants.participant import Heard
from gatewright.servers.commands.tool import Pairs, read_arguments
from gatewright.transport.base import FROM_SERVERS
from gatewright.transport.launch import CannotStart
from gatewright.transport.process import spawn
from gatewright.transport.stdio import open_stdio

__all__ = ["app", "bridge", "fulfil", "join", "post", "propose", "serve", "watch", "who"]

app = group("Rooms: agents and people at one table.")

Topic = Annotated[str, typer.Argument(metavar="TOPIC", help="The room.")]
To = Annotated[
    list[str] | None, typer.Option("--to", metavar="NAME", help="For whom; else everybody.")
]
Wait = Annotated[
    float, typer.Option("--wait", metavar="SECONDS", min=0, help="How long to wait for an outcome.")
]
_WIDTHS = (36, 24, 9)
_ECHO_S = 2.0
_T = TypeVar("_T")


@app.command()
def who(
    topic: Topic,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Say who is in a room, and who you are there."""

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            others = sorted(me.roster.others.items())
            if json:
                you = {"id": me.id, "capabilities": me.capabilities.patterns}
                listed = [{"id": name, "capabilities": said} for name, said in others]
                print_document({"you": you, "participants": listed})
                return
            print_line((f"{me.id} (you)", me.capabilities.patterns))
            for name, said in others:
                print_line((name, said))

    run(work())


@app.command()
def post(  # noqa: PLR0917 - one for each option
    topic: Topic,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to say.")],
    to: To = None,
    about: Annotated[
        str | None, typer.Option("--about", metavar="ID", help="The message that it is about.")
    ] = None,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Say something to people in a room."""

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            id = me.chat(text, to=to or (), about=about)
            await _passed(me, id)
            if json:
                print_document({"id": id})
            else:
                note(f"said as {me.id}")

    run(work())


@app.command()
def propose(  # noqa: PLR0913, PLR0917 - one for each option
    topic: Topic,
    target: Annotated[str, typer.Argument(metavar="TARGET", help="Who shall do it.")],
    tool: Annotated[str, typer.Argument(metavar="TOOL", help="The tool to call.")],
    arguments: Pairs = None,
    wait: Wait = 300.0,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Propose a tool call, and wait for somebody to fulfil it.

    Exit codes: 4 nobody did in time, and it is withdrawn; 2 it was rejected; 5 it failed.
    """
    params = {"name": tool, "arguments": read_arguments(arguments or [], None, {})}

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            pending = me.propose("tools/call", params, to=[target])
            note(f"proposed as {pending.id}")
            result = await pending.outcome(timeout_s=wait)
            _print_result(pending.id, result, json=json)

    run(work())


@app.command()
def fulfil(  # noqa: PLR0917 - one for each option
    topic: Topic,
    id: Annotated[
        str | None,
        typer.Argument(
            metavar="ID", help="One proposal; without it, each that comes is asked about."
        ),
    ] = None,
    orchestrator: Annotated[
        str,
        typer.Option("--orchestrator", metavar="NAME", help="Who knows what was proposed before."),
    ] = "orchestrator",
    target: Annotated[
        str | None, typer.Option("--target", metavar="NAME", help="Who shall do it, if not said.")
    ] = None,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Fulfil a proposal.

    Rooms forget: a proposal made before you came is known to the room's orchestrator alone, which fulfils it for you.
    Without an ID you stay, and are asked about each proposal that comes.
    """
    if id is None and not is_terminal(0):
        raise CliError(
            "without a terminal name the proposal",
            code="usage",
            exit_code=Exit.USAGE,
            hint=to_type("room fulfil {} ID", topic),
        )

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            if id is None:
                await _each(me, target)
                return
            if orchestrator not in me.roster.others:
                raise NotFulfillableError(
                    f"nobody called {orchestrator!r} is in the room, and rooms keep no history; stay with "
                    f"`{to_type('room join {}', topic)}` and fulfil what comes"
                )
            given = {"proposal": id} | ({} if target is None else {"to": target})
            params = {"name": "approve", "arguments": given}
            said = await me.request(orchestrator, "tools/call", params, timeout_s=300)
            _print_result(id, _fulfilled(said), json=json)

    run(work())


@app.command()
def watch(
    topic: Topic,
    seconds: Annotated[
        float | None, typer.Option("--seconds", metavar="N", min=0, help="End after so long.")
    ] = None,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
    json: Json = False,
) -> None:
    """Show what is said in a room, a line a message, until you stop it."""

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    async for heard in _heard(me):
                        _show(heard, json=json)

    run(work())


@app.command()
def join(topic: Topic, url: Url = None, key: KeyText = None, config: Config = None) -> None:
    """Sit in a room: see everything, chat, propose, fulfil and reject."""

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key) as me:
            me.watchers.append(lambda heard: _show(heard, json=False))
            note(f"you are {me.id}, and may send {', '.join(me.capabilities.patterns)}")
            note(HELP)
            lines = await _typed()
            while (line := await _unless_lost(me, lines.readline())) and line.strip() != b"/quit":
                try:
                    await obey(me, line.decode("utf-8", "replace").strip())
                except (RoomError, ValueError) as problem:
                    note(str(problem))

    run(work())


@app.command()
def serve(
    topic: Topic,
    command: Annotated[list[str], typer.Argument(metavar="COMMAND…", help="A stdio MCP server.")],
    wait: Annotated[
        float,
        typer.Option(
            "--wait", metavar="SECONDS", min=1, help="How long a call of the server may take."
        ),
    ] = 300.0,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
) -> None:
    """Let a tool server sit in a room: `gatewright room serve TOPIC -- COMMAND…`.

    It is not behind the gateway's policy there; `[rooms.kernel]` offers what is.
    """
    seat = ServerSeat(answer_s=wait)

    async def work() -> None:
        try:
            child = await spawn(command[0], command[1:], receiver=seat, stderr=note)
        except CannotStart as problem:
            raise CliError(str(problem), code="usage", exit_code=Exit.USAGE) from None
        try:
            seat.attach(child)
            await seat.greet({"name": "gatewright-room", "version": __version__})
            async with room(topic, config=config, url=url, key=key, responder=seat) as me:
                seat.participant = me
                note(f"{command[0]} sits in {topic} as {me.id}")
                await _unless_lost(me, seat.ended.wait())
        finally:
            await child.stop(2.0)

    run(work())


@app.command()
def bridge(
    topic: Topic,
    server: Annotated[
        str,
        typer.Argument(metavar="NAME", help="The participant that the host sees as its server."),
    ],
    wait: Wait = 300.0,
    url: Url = None,
    key: KeyText = None,
    config: Config = None,
) -> None:
    """Let a stdio MCP host sit in a room: it sees one participant as its server.

    What it may not request is proposed instead, and answered when somebody fulfils it.
    """
    seat = HostSeat(server=server, outcome_s=wait)

    async def work() -> None:
        async with room(topic, config=config, url=url, key=key, responder=seat.respond) as me:
            seat.participant = me
            pipe = await open_stdio(seat, FROM_SERVERS)
            seat.attach(pipe)
            await _unless_lost(me, seat.ended.wait())
            await pipe.stop(2.0)

    run(work())


# -- what the commands share


async def _passed(me: Participant, id: str) -> None:
    """Wait until the gateway has passed a message on, or refused it: then it says so, or echoes it where this
    participant hears itself. Raises `RoomRefusedError`."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(_ECHO_S):
            async for heard in _heard(me):
                said, about = heard.content, heard.envelope.correlation_id
                if isinstance(said, Said) and said.what == "error" and about == id:
                    problem = said.payload
                    raise RoomRefusedError(str(problem.get("error")), str(problem.get("message")))
                if heard.envelope.id == id:
                    return


async def _heard(me: Participant) -> AsyncIterator[Heard]:
    """Everything that comes from now on. Raises `GoneError` once the place is lost."""
    queue: asyncio.Queue[Heard] = asyncio.Queue()
    me.watchers.append(queue.put_nowait)
    while True:
        yield await _unless_lost(me, queue.get())


async def _unless_lost(me: Participant, work: Coroutine[Any, Any, _T]) -> _T:
    """The result of something that waits. Raises `GoneError` where the place is lost meanwhile."""
    waited, lost = asyncio.ensure_future(work), asyncio.ensure_future(me.until_lost())
    try:
        await asyncio.wait((waited, lost), return_when=asyncio.FIRST_COMPLETED)
        return waited.result() if waited.done() else await _never(lost)
    finally:
        waited.cancel()
        lost.cancel()


async def _never(lost: asyncio.Future[None]) -> Any:
    return await lost


def _show(heard: Heard, *, json: bool) -> None:
    if json:
        sys.stdout.write(one_line(heard.envelope.text) + "\n")
        sys.stdout.flush()
    else:
        print_line(cells(heard), _WIDTHS, one_line=True)


def _fulfilled(said: Any) -> Any:
    """The result of what was proposed, in what `approve` answers. Whoever is called as the orchestrator may answer anything."""
    done = isinstance(said, dict) and not said.get("isError") and "structuredContent" in said
    return said["structuredContent"] if done else said


def _print_result(id: str, result: Any, *, json: bool) -> None:
    failed = isinstance(result, dict) and bool(result.get("isError"))
    if json:
        print_document({"proposal": id, "result": result})
    else:
        content = result.get("content", []) if isinstance(result, dict) else []
        for one in content:
            print_line((one.get("text", one.get("type", "")) if isinstance(one, dict) else one,))
    if failed:
        raise CliError(
            "the tool failed", code="tool_error", exit_code=Exit.TOOL_ERROR, hint="see above"
        )


async def _each(me: Participant, target: str | None) -> None:
    """Ask about each proposal that comes."""
    note(f"you are {me.id}; waiting for proposals, Ctrl-C ends it")
    # Not `input` in a thread: nothing could end that, and the command would wait for a line after Ctrl-C.
    lines = await _typed()
    async for heard in _heard(me):
        if not isinstance(heard.content, Proposed) or heard.envelope.sender == me.id:
            continue
        _show(heard, json=False)
        sys.stderr.write("fulfil it? [y/N] ")
        sys.stderr.flush()
        said = await _unless_lost(me, lines.readline())
        if not said:  # Ctrl-D: neither yes nor no, and the proposal stays for others
            note("")
            return
        try:
            if said.strip().lower() in (b"y", b"yes"):
                result = await me.fulfil(heard.envelope.id, to=target)
                _print_result(heard.envelope.id, result, json=False)
            else:
                me.decline(heard.envelope.id)
        except (RoomError, CliError) as problem:
            note(str(problem))


async def _typed() -> asyncio.StreamReader:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    return reader
