"""`gatewright tool search`, `tool tokens`, `tool index`: search as an agent would; what each server costs in a context; one entry of the index."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from gatewright.cli.completion_names import tool_names
from gatewright.cli.gateway_client import ask
from gatewright.cli.options import Config, Json, KeyText, ProfileName, Url
from gatewright.cli.output import note, print_document, print_rows
from gatewright.cli.running import endpoint
from gatewright.command_text import to_type
from gatewright.discovery.costs import INDEX, TOKENS

__all__ = ["Strategy", "index", "search", "tokens", "would_pay"]


class Strategy(enum.StrEnum):
    """How tools are found."""

    AUTO = "auto"
    KEYWORD = "keyword"
    SEMANTIC = "semantic"
    CATEGORY = "category"


def search(  # noqa: PLR0913, PLR0917 - one argument for each option
    query: Annotated[
        str, typer.Argument(metavar="QUERY", help="The capability that is looked for.")
    ],
    strategy: Annotated[
        Strategy, typer.Option("--strategy", help="How tools are found.")
    ] = Strategy.AUTO,
    limit: Annotated[int, typer.Option("--limit", min=1, max=50, help="So many at most.")] = 5,
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

    Columns: name, score, risk, first line of the description.
    """
    params = {
        "query": query,
        "strategy": strategy.value,
        "max_results": limit,
        "filter": {"categories": category or []},
    }
    where = endpoint(config, url=url, key=key, profile=profile)
    found = ask(where, "mgp/tools/discover", params)
    if json:
        print_document(_own(found))
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
    found = _own(ask(where, TOKENS))
    if json:
        print_document(found)
        return
    rows = [(one["server_id"], one["tools"], one["tokens"]) for one in found["servers"]]
    print_rows(("server", "tools", "tokens"), rows)
    searching = found["meta_tokens"] + found["answer_tokens"]
    note(
        f"all {found['tools']} tools: {found['tokens']:,} tokens; the gateway's three tools with one answer of a search: "
        f"{searching:,}, which saves {found['saved']:.1%}"
    )
    if found["pays"]:
        note(would_pay(found))


def would_pay(found: Mapping[str, Any]) -> str:
    """What to do where search costs less than a whole list."""
    searching = found["meta_tokens"] + found["answer_tokens"]
    return (
        f'with expose = "discover" in [discovery] or a profile, hosts would have {searching:,} tokens of tools in their context '
        f"instead of {found['tokens']:,}"
    )


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
    print_document(_own(ask(where, INDEX, {"tool": name})))


def _own(result: Mapping[str, Any]) -> dict[str, Any]:
    """Without what the protocol puts around it."""
    return {key: one for key, one in result.items() if key not in {"_meta", "resultType"}}
