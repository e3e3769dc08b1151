"""`gatewright tool search` (also offline, from files), `tool tokens` (context cost by server), `tool index` (one tool's index entry)."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer

from gatewright.cli.completion_names import tool_names
from gatewright.cli.errors import CliError, Exit
from gatewright.cli.gateway_client import ask, unwrapped
from gatewright.cli.options import Config, Json, KeyText, ProfileName, Url
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import endpoint
from gatewright.command_text import to_type
from gatewright.discovery.method_names import INDEX, TOKENS

__all__ = ["Strategy", "index", "search", "tokens", "would_pay"]


class Strategy(enum.StrEnum):
    """How tools are found."""

    AUTO = "auto"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    CATEGORY = "category"


def search(  # noqa: PLR0913, PLR0917 - one argument for each option
    query: Annotated[
        str | None,
        typer.Argument(metavar="[QUERY]", help="The capability that is looked for."),
    ] = None,
    strategy: Annotated[
        Strategy, typer.Option("--strategy", help="How tools are found.")
    ] = Strategy.AUTO,
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="So many at most.")] = 5,
    catalogue: Annotated[
        Path | None,
        typer.Option("--catalogue", metavar="FILE", help="Tools as JSON lines; without a gateway."),
    ] = None,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            metavar="FILE",
            help="Queries for --catalogue as JSON lines; ten tools each.",
        ),
    ] = None,
    category: Annotated[
        list[str] | None, typer.Option("--category", help="Only tools in it or below it.")
    ] = None,
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Search among the tools that you may call, as an agent does (mgp/tools/discover).

    With --catalogue and --queries: one line for each query, with query_id and tool_ids.

    Columns: name, score, risk, first line of the description.
    """
    if catalogue is not None or queries is not None:
        _batch(query, catalogue, queries, strategy)
        return
    if query is None:
        raise CliError(
            "QUERY is missing", code="usage", exit_code=Exit.USAGE, hint="what is looked for?"
        )
    params = {
        "query": query,
        "strategy": strategy.value,
        "max_results": limit,
        "filter": {"categories": category or []},
    }
    where = endpoint(config, url=url, key=key, profile=profile)
    found = ask(where, "mgp/tools/discover", params)
    if json:
        print_document(unwrapped(found))
        return
    rows = [
        (
            one.get("name"),
            one.get("relevance_score"),
            (one.get("security") or {}).get("risk_level"),
            str(one.get("description") or "").partition("\n")[0],
        )
        for one in found.get("tools", [])
    ]
    print_rows(("name", "score", "risk", "description"), rows)
    total, how = found.get("total_available", 0), found.get("search_strategy")
    note(f"{len(rows)} of {total} tools that fit, by {how}, {found.get('query_time_ms')} ms")
    if not rows:
        note(f"`{to_type('tool list')}` shows what there is")


def _batch(
    query: str | None, catalogue: Path | None, queries: Path | None, strategy: Strategy
) -> None:
    """Answer a file of queries over a file of tools."""
    if catalogue is None or queries is None or query is not None:
        raise CliError(
            "--catalogue and --queries go together, without a QUERY",
            code="usage",
            exit_code=Exit.USAGE,
            hint="both are files of JSON lines",
        )
    from gatewright.discovery import batch  # noqa: PLC0415 - numpy and the table of vectors, for this alone

    try:
        index = batch.indexed(batch.records(catalogue))
        for line in batch.ranked_ids(index, batch.records(queries), strategy.value):
            print(msgspec.json.encode(line).decode())
    except (OSError, ValueError) as problem:
        raise CliError(str(problem), code="usage", exit_code=Exit.USAGE) from problem


def tokens(
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Show what the tools of each server cost in the context of a host that lists them all, and what search saves.

    Columns: server, tools, tokens.
    """
    where = endpoint(config, url=url, key=key, profile=profile, role="operator")
    found = unwrapped(ask(where, TOKENS))
    if json:
        print_document(found)
        return
    rows = [(one["server_id"], one["tools"], one["tokens"]) for one in found["servers"]]
    print_rows(("server", "tools", "tokens"), rows)
    note(
        f"all {found['tools']} tools: {found['tokens']:,} tokens; the gateway's three tools, pinned ones and one answer of a search: "
        f"{_searching(found):,}, which saves {found['saved']:.1%}"
    )
    if found["pays"]:
        note(would_pay(found))


def would_pay(found: Mapping[str, Any]) -> str:
    """What to do where search costs less than a whole list."""
    return (
        f'with expose = "discover" in [discovery] or a profile, hosts would have {_searching(found):,} tokens of tools in their context '
        f"instead of {found['tokens']:,}"
    )


def _searching(found: Mapping[str, Any]) -> int:
    """What a host has in its context that searches."""
    told = (
        found["meta_tokens"],
        found.get("pinned_tokens", 0),
        found["answer_tokens"],
    )  # an older gateway counts no pins
    return int(sum(told))


def index(
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME", help="As listed, or SERVER/TOOL.", autocompletion=tool_names
        ),
    ],
    config: Config = None,
    url: Url = None,
    key: KeyText = None,
    profile: ProfileName = None,
    json: Json = False,
) -> None:
    """Show what the index of the search holds of a tool (MGP §16.4)."""
    del json  # it is JSON in any case
    where = endpoint(config, url=url, key=key, profile=profile, role="operator")
    print_document(unwrapped(ask(where, INDEX, {"tool": name})))
