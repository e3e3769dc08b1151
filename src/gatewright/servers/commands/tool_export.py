"""`gatewright tool export`: prints tools of the gateway, or of Python modules that it imports, as JSON for model APIs or catalogues."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Sequence
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import tool_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask_all
from gatewright.cli.options import Config, Json, KeyText, ProfileName, Url
from gatewright.cli.output import note, print_document
from gatewright.cli.running import endpoint
from gatewright.cli.tool_names import Shown, listed, shown_by
from gatewright.command_text import to_type
from gatewright.sdk.export import FORMS, catalogue, tool_document
from gatewright.sdk.export.catalogue import Exportable, definition_of

__all__ = ["Form", "export"]


class Form(enum.StrEnum):
    """What is written."""

    CATALOGUE = "catalogue"
    TOOL = "tool"
    MCP = "mcp"
    OPENAI = "openai"
    ANTHROPIC = "anthropic"
    GEMINI = "gemini"


def export(  # noqa: PLR0917 - one argument for each option
    name: Annotated[
        str | None,
        typer.Argument(metavar="[NAME]", help="Only this tool.", autocompletion=tool_names),
    ] = None,
    form: Annotated[
        Form,
        typer.Option(
            "--form",
            help="catalogue: all, with tags; tool: one, with examples; mcp, openai, anthropic, gemini: "
            "the list that such an API takes.",
        ),
    ] = Form.CATALOGUE,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="WHERE", help="A Python module, package or folder; without a gateway."
        ),
    ] = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Print the tools that you may call, or those of a module, as one JSON document.

    `--from` runs the code of the modules that it names.
    """
    del json  # it is JSON in any case
    tools: Sequence[Exportable]
    if from_ is None:
        where = endpoint(config, url=url, key=key, profile=profile)
        tools = ask_all(where, "tools/list", "tools")
    else:
        tools = _declared(from_)
    if name is not None:
        tools = _named(tools, name, shown_by(config) if from_ is None else Shown())
    if not tools or (form is Form.TOOL and len(tools) > 1):
        raise _wanting(name, tools)
    print_document(_written(form, tools))


def _named(tools: Sequence[Exportable], name: str, shown: Shown) -> Sequence[Exportable]:
    found = listed([definition_of(one) for one in tools], name, shown)
    return [one for one in tools if found is not None and definition_of(one) == found]


def _written(form: Form, tools: Sequence[Exportable]) -> Any:
    if form is Form.CATALOGUE:
        return catalogue(tools, now=dt.datetime.now(dt.UTC))
    if form is Form.TOOL:
        return tool_document(tools[0])
    return FORMS[form.value](tools)


def _declared(where: str) -> Sequence[Exportable]:
    """The tools below a module, package or folder; what is wrong there is said on standard error."""
    from gatewright.sdk.discovery import Discovery  # noqa: PLC0415 - only for --from

    found = Discovery(where).scan()
    for problem in found.problems:
        note(f"left out: {problem}")
    return found.tools


def _wanting(name: str | None, tools: Sequence[Exportable]) -> CliError:
    if tools:
        return CliError(
            f"--form tool is about one tool, and there are {len(tools)}",
            code="usage",
            exit_code=Exit.USAGE,
            hint=f"name one, for example {definition_of(tools[0])['name']}",
        )
    return CliError(
        "there are no tools" if name is None else f"there is no tool {name!r}",
        code="tool_not_found",
        exit_code=Exit.USAGE,
        hint=f"`{to_type('tool list')}` shows what there is; with --from, decorate functions with @mcp_tool",
    )
