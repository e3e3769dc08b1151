"""Builds the table of endpoint URLs of an HTTP gateway by name, as printed on the ready line."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

__all__ = ["urls_of"]

_ORDER = ("rpc", "rest", "docs", "health", "rooms")
"""These are said first, others behind them."""


def urls_of(
    base: str,
    profiles: Iterable[str],
    features: Iterable[Callable[[str], Mapping[str, str]]],
) -> dict[str, str]:
    """URLs by name; `base` is that of the server, without a path, `features` give theirs for that. `mcp/NAME` is the endpoint of a profile."""
    more = {name: url for one in features for name, url in one(base).items()}
    urls = {"mcp": f"{base}/mcp", "sse": f"{base}/sse"}
    urls["websocket"] = f"ws{base.removeprefix('http')}/mcp"
    urls |= {name: more[name] for name in (*_ORDER, *more) if name in more}
    return urls | {f"mcp/{name}": f"{base}/mcp/{name}" for name in profiles}
