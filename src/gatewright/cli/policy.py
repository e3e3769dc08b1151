"""Command group `gatewright policy`: runs `explain`, which asks the running gateway for every gate's verdict; registers `simulate`, `try`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import key_names
from gatewright.cli.gateway_client import ask, unwrapped
from gatewright.cli.operators import require_operator
from gatewright.cli.options import Config, Json, KeyText, ProfileName, Url, group
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.policy_simulate import simulated
from gatewright.cli.policy_try import try_inputs
from gatewright.cli.running import Endpoint, endpoint
from gatewright.cli.unknown_agent import note_unknown
from gatewright.config import load
from gatewright.servers.commands.tool import InputJson, Pairs, ToolName, find_tool, read_arguments

__all__ = ["app", "explain"]


def explain(  # noqa: PLR0913, PLR0917 - one argument for each option
    agent: Annotated[
        str,
        typer.Argument(
            metavar="AGENT",
            help="Who would call: an agent by its key's name, a host, anonymous, or local.",
            autocompletion=key_names,
        ),
    ],
    tool: ToolName,
    arguments: Pairs = None,
    input_json: InputJson = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Show what every gate would say of a call. Nothing is called, asked, counted or used up.

    Columns: gate, verdict (pass, ask, refuse), reason, what it says or found out.
    """
    where = _as_operator(config, url, key)
    schema = (find_tool(where, tool, config) or {}).get("inputSchema")
    params = {
        "agent": agent,
        "tool": tool,
        "arguments": read_arguments(arguments or [], input_json, schema),
        "profile": profile or "",
    }
    found = unwrapped(ask(where, "gatewright/policy/explain", params))
    if json:
        print_document(found)
        return
    print_rows(("gate", "verdict", "reason", "what"), [_row(one) for one in found["gates"]])
    note(_summary(found))
    if url is None:
        note_unknown(load(config), agent)


def _as_operator(config: Path | None, url: str | None, key: str | None) -> Endpoint:
    """The gateway, spoken to by an operator. Agents are not meant to try out what passes."""
    where = endpoint(config, url=url, key=key, role="operator")
    if url is None:
        require_operator(load(config), key)
    return where


def _row(one: dict[str, Any]) -> tuple[object, ...]:
    facts = ", ".join(f"{name}: {value}" for name, value in one["facts"].items())
    return one["gate"], one["verdict"], one["reason"], one["message"] or facts


def _summary(found: dict[str, Any]) -> str:
    agent = found["agent"]
    who = f"{agent['id']} ({agent['kind']})"
    if found["verdict"] == "pass":
        return f"{who} may call {found['tool']} like this"
    if found["verdict"] == "ask":
        return f"{who} may call {found['tool']} like this if somebody agrees"
    return f"{who} may not call {found['tool']} like this: {found['decided_by']} refuses"


app = group("Ask what the rules would say, without calling anything.")


@app.callback()
def _group() -> None:
    """Ask what the rules would say, without calling anything."""


app.command("explain")(explain)
app.command("simulate")(simulated)
app.command("try")(try_inputs)
