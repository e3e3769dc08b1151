"""`gatewright tool`: the command group; lists, describes and calls tools through every gate, and puts a server's questions to the user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.cli.argument_types import SINGLE, typed
from gatewright.cli.completion_names import tool_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask, ask_all
from gatewright.cli.options import Config, Json, KeyText, ProfileName, Timeout, Url, group
from gatewright.cli.output import note, print_document, print_rows, print_text
from gatewright.cli.questions import ROUNDS, answer_all, capabilities
from gatewright.cli.running import Endpoint, endpoint
from gatewright.cli.tool_names import listed, shown_by
from gatewright.command_text import to_type
from gatewright.discovery.commands import index, search, tokens
from gatewright.mcp.wire import jsonrpc
from gatewright.mcp.wire.headers_and_meta import param_headers
from gatewright.servers.commands.edit import disable_tool, enable_tool
from gatewright.servers.commands.tool_export import export

__all__ = [
    "InputJson",
    "Pairs",
    "ToolName",
    "app",
    "call",
    "find_tool",
    "list_tools",
    "read_arguments",
    "show",
]

app = group("List, show and call tools; calls go through policy like any other.")


ToolName = Annotated[
    str,
    typer.Argument(
        metavar="NAME",
        help="As listed, or SERVER/TOOL.",
        autocompletion=tool_names,
    ),
]


Pairs = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[KEY=VALUE]...", help="KEY=TEXT, read as the tool's schema says; KEY:=JSON."
    ),
]
InputJson = Annotated[
    str | None,
    typer.Option("--input-json", metavar="JSON", help="The arguments; @FILE or - to read."),
]


@app.callback()
def _group() -> None:
    """List, show and call tools."""


@app.command("list")
def list_tools(
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """List the tools that you may call.

    Columns: name, risk, first line of the description.
    """
    tools = ask_all(endpoint(config, url=url, key=key, profile=profile), "tools/list", "tools")
    if json:
        print_document(tools)
        return
    rows = [(tool.get("name"), _risk(tool), _first_line(tool)) for tool in tools]
    print_rows(("name", "risk", "description"), rows)
    if not tools:
        note(
            f"no tool may be called: `{to_type('grant add AGENT SERVER')}` lets an agent, "
            f"and `{to_type('server list')}` shows the servers"
        )


@app.command()
def show(
    name: ToolName,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Show one tool: what it does and which arguments it takes."""
    tool = find_tool(endpoint(config, url=url, key=key, profile=profile), name, config)
    if tool is None:
        raise CliError(
            f"no tool {name!r} that you may call",
            code="tool_not_found",
            exit_code=Exit.USAGE,
            hint=f"`{to_type('tool list')}` shows what there is",
        )
    if json:
        print_document(tool)
        return
    print_text(f"{tool.get('name')}\n\n{tool.get('description') or 'no description'}")
    rows = _argument_rows(tool.get("inputSchema"))
    if rows:
        print_text("")
        print_rows(("argument", "type", "needed", "description"), rows)


@app.command()
def call(  # noqa: PLR0913, PLR0917 - one argument for each option
    name: ToolName,
    arguments: Pairs = None,
    input_json: InputJson = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    timeout: Timeout = 120.0,
    json: Json = False,
) -> None:
    """Call a tool and print what it says.

    Exit codes: 2 wrong arguments, 4 unreachable, 5 the tool failed, 6 refused by policy.
    """
    where = endpoint(config, url=url, key=key, profile=profile)
    tool = find_tool(where, name, config) or {}
    schema = tool.get("inputSchema")
    given = read_arguments(arguments or [], input_json, schema)
    params = {"name": name, "arguments": given}
    try:
        result = _converse(where, params, _headers(schema), timeout)
    except CliError as problem:
        if problem.code == "invalid_args":
            problem.hint = f"`{to_type('tool show {}', name)}` shows the arguments it takes"
        raise
    if json:
        print_document(result)
    else:
        _print_result(result)
    if result.get("isError") is True:
        raise CliError(
            f"{name} says that it failed",
            code="tool_failed",
            exit_code=Exit.TOOL_ERROR,
            hint=f"what it said is above; `{to_type('tool show {}', name)}` shows its arguments",
        )


def _converse(
    where: Endpoint, params: dict[str, Any], headers: dict[tuple[str, ...], str], timeout_s: float
) -> dict[str, Any]:
    """Call, and answer what is asked on the way, as often as it takes."""
    asked: dict[str, Any] = {}
    for _ in range(ROUNDS):
        result = ask(
            where,
            "tools/call",
            {**params, **asked},
            headers=headers,
            capabilities=capabilities(),
            timeout_s=timeout_s,
        )
        if result.get("resultType") != "input_required":
            return result
        # MCP 2026-07-28: the same request once more, with the answers and the server's state.
        asked = {"inputResponses": answer_all(result.get("inputRequests"))}
        if "requestState" in result:
            asked["requestState"] = result["requestState"]
    raise CliError(
        f"the tool asked {ROUNDS} times and did not end",
        code="upstream_error",
        exit_code=Exit.TOOL_ERROR,
        hint=f"`{to_type('server list')}` shows whose tool it is",
    )


def read_arguments(pairs: list[str], text: str | None, schema: Any) -> dict[str, Any]:
    """The arguments of a call from `KEY=VALUE` pairs over a JSON object.

    `text` is JSON, `@FILE`, or `-` for standard input. Raises `CliError` (exit code 2).
    """
    found: dict[str, Any] = {}
    if text is not None:
        value = _json(_read(text), "--input-json")
        if not isinstance(value, dict):
            raise _usage("--input-json is not a JSON object", 'write it like \'{"key": "value"}\'')
        found = value
    for pair in pairs:
        key, sign, value = pair.partition("=")
        if not sign or not key.removesuffix(":"):
            raise _usage(f"{pair!r} is not KEY=VALUE", 'write it like text="hello", or n:=5')
        if key.endswith(":"):
            found[key[:-1]] = _json(value, pair)
        else:
            found[key] = _typed(value, key, schema, pair)
    return found


def _read(text: str) -> str:
    try:
        if text == "-":
            return sys.stdin.read()
        return Path(text[1:]).read_text("utf-8") if text.startswith("@") else text
    except (OSError, UnicodeDecodeError) as problem:
        raise _usage(f"{text} cannot be read: {problem}", "check the path") from None


def _json(text: str, where: str, hint: str = "mind the shell's quotes") -> Any:
    try:
        return jsonrpc.decode_whole(text.encode(errors="surrogateescape"))
    except ValueError as problem:
        raise _usage(f"{where} is not JSON ({problem})", hint) from None


def _typed(text: str, key: str, schema: Any, pair: str) -> Any:
    """The text as the type its schema names; as what the schema takes where it names none, or several."""
    member = _property(schema, key)
    kind = member.get("type") if isinstance(member, dict) else None
    if isinstance(kind, str) and kind in SINGLE:
        return _json(text, pair, f"{key} takes {_SAID[kind]}")
    return text if kind == "string" else typed(text, key, schema)


_SAID = {
    "integer": "a whole number, like 5",
    "number": "a number, like 2.5",
    "boolean": "true or false",
    "object": """an object, like '{"key": "value"}'""",
    "array": """a list, like '["one", 2]'""",
    "null": "null",
}
"""What is written for a value of each type of `SINGLE`."""


def _property(schema: Any, key: str) -> Any:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return properties.get(key) if isinstance(properties, dict) else None


def _headers(schema: Any) -> dict[tuple[str, ...], str]:
    try:
        return param_headers(schema)
    except ValueError:
        return {}  # a flawed annotation is not mirrored by anybody


def find_tool(where: Endpoint, name: str, config: Path | None) -> dict[str, Any] | None:
    """The definition of a tool, by any of its names, as the gateway lists it to whoever asks; None where it does not."""
    found = listed(ask_all(where, "tools/list", "tools"), name, shown_by(config))
    return None if found is None else dict(found)


def _print_result(result: dict[str, Any]) -> None:
    content = result.get("content")
    blocks = [one for one in content if isinstance(one, dict)] if isinstance(content, list) else []
    texts = [block for block in blocks if isinstance(block.get("text"), str)]
    if not texts and "structuredContent" in result:
        print_document(result["structuredContent"])
    for block in texts:
        print_text(block["text"])
    for block in blocks:
        if block not in texts:
            note(f"[{block.get('type')} {block.get('mimeType', '')}: see --json]")


def _argument_rows(schema: Any) -> list[tuple[object, ...]]:
    properties = schema.get("properties") if isinstance(schema, dict) else None
    if not isinstance(properties, dict):
        return []
    required = schema.get("required")
    needed = required if isinstance(required, list) else []
    return [
        (
            name,
            one.get("type") if isinstance(one, dict) else "",
            "yes" if name in needed else "no",
            one.get("description") if isinstance(one, dict) else "",
        )
        for name, one in properties.items()
    ]


def _risk(tool: dict[str, Any]) -> object:
    security = tool.get("security")
    return security.get("risk_level") if isinstance(security, dict) else None


def _first_line(tool: dict[str, Any]) -> str:
    text = tool.get("description")
    lines = text.strip().splitlines() if isinstance(text, str) else []
    return lines[0] if lines else ""


def _usage(message: str, hint: str) -> CliError:
    return CliError(message, code="usage", exit_code=Exit.USAGE, hint=hint)


app.command("search")(search)
app.command("tokens")(tokens)
app.command("index")(index)
app.command("enable")(enable_tool)
app.command("export")(export)
app.command("disable")(disable_tool)
