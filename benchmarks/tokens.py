"""Token cost of tool lists: a whole catalogue against meta tools, pinned tools and five results, by a real tokenizer, and our counter beside it.

    python -m benchmarks.tokens tools.jsonl

Tools are JSON lines with `name`, `description`, `inputSchema`. Five results are the five of middling size, in full and compact (name
and first line of the description). The tokenizer is o200k_base, of the package `bpe-openai`.
"""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from gatewright.discovery.batch import records
from gatewright.discovery.meta_tools import meta_tools
from gatewright.discovery.methods import MetaTools
from gatewright.discovery.tokens import count
from gatewright.servers.names import meta_tool

__all__ = ["compact", "definition", "main", "reduction"]

RESULTS = 5


def definition(tool: Mapping[str, Any]) -> str:
    """A tool as a host has it in its context."""
    members = {key: tool[key] for key in ("name", "description", "inputSchema") if tool.get(key)}
    return json.dumps(members, ensure_ascii=False, separators=(",", ":"))


def compact(tool: Mapping[str, Any]) -> str:
    """A tool in one line."""
    said = str(tool.get("description") or "").strip().partition("\n")[0][:120]
    return json.dumps({"name": tool["name"], "description": said}, ensure_ascii=False)


def reduction(
    tools: Sequence[Mapping[str, Any]],
    meta: str,
    form: Callable[[Mapping[str, Any]], str],
    tokens: Callable[[str], int],
) -> float:
    """What is saved, of 1, where a context has the meta tools and five results instead of every definition."""
    whole = sum(tokens(definition(one)) for one in tools)
    sizes = sorted(tokens(form(one)) for one in tools)
    middle = len(sizes) // 2
    results = sum(sizes[max(0, middle - 2) : middle + 3])
    return 1 - (tokens(meta) + results) / whole


def _report(tools: Sequence[Mapping[str, Any]], tokens: Callable[[str], int]) -> None:
    texts = [definition(tool) for tool in tools]
    sizes = [tokens(text) for text in texts]
    shares = [count(text) / size for text, size in zip(texts, sizes, strict=True) if size >= 60]
    near = statistics.fmean(0.9 <= share <= 1.1 for share in shares)
    print(f"{len(tools)} tools: {sum(sizes):,} tokens; by our counter {sum(map(count, texts)):,}")
    print(
        f"our counter within 10 % for {near:.1%} of {len(shares)} definitions of 60 tokens or more"
    )
    three = _meta("mgp_tools_discover", "mgp_tools_describe", "mgp_tools_call")
    for what, text in (
        ("search, describe, call", three),
        ("search alone", _meta("mgp_tools_discover")),
    ):
        print(f"{what}: {tokens(text):,} tokens")
        for name, form in (("full", definition), ("compact", compact)):
            print(f"  with five results, {name}: {reduction(tools, text, form, tokens):.2%} saved")


def _meta(*names: str) -> str:
    """What a host has of these meta tools."""
    told = meta_tools(cast("MetaTools", None))  # only the definitions are read
    held = [{"name": name, **told[meta_tool(name.removeprefix("mgp_tools_"))][0]} for name in names]
    return json.dumps(held, ensure_ascii=False, separators=(",", ":"))


def main(arguments: Sequence[str]) -> int:
    """Print what is saved."""
    if len(arguments) != 1:
        print(__doc__)
        return 2
    try:
        encoding = import_module("bpe_openai").get_encoding("o200k_base")
    except ImportError:
        print("pip install bpe-openai", file=sys.stderr)
        return 2
    _report(records(Path(arguments[0])), lambda text: len(encoding.encode(text)))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
