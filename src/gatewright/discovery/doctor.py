"""`gatewright doctor` checks of tool search: embedder answers, its key goes by TLS; context tokens of all tools, if search would pay."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

from gatewright.call import Tool
from gatewright.cli.finding import Finding
from gatewright.config import Settings

__all__ = ["check_context", "check_embedder", "cost"]

_MANY = 40
"""Tools. Some hosts take no more, and none finds its way among more as well as among few."""


def cost(tools: Sequence[Tool]) -> int:
    """Tokens of the definitions of some tools."""
    # Loads the servers, which the help of a command does without.
    from gatewright.discovery.lookup import tokens_of  # noqa: PLC0415

    return sum(map(tokens_of, tools))


def check_embedder(settings: Settings) -> Iterator[Finding]:
    """Whether the embedder of the search answers; nothing where it is the built-in one."""
    if settings.discovery.embedder.type == "built-in":
        return
    import asyncio  # noqa: PLC0415 - as above

    from gatewright.discovery.embedders.embedder import EmbeddingFailed  # noqa: PLC0415 - as above
    from gatewright.discovery.embedders.embedder_settings import key_in_clear_text  # noqa: PLC0415 - as above
    from gatewright.discovery.embedding import made  # noqa: PLC0415 - as above

    async def answers() -> str:
        embedder = made(settings)
        if embedder is None:
            return ""
        try:
            await embedder.identity()
            found = await embedder.embed(["list files"], asked=False)
            begun = time.perf_counter()
            await embedder.embed(["find a file"], asked=True)
            spent = (time.perf_counter() - begun) * 1000
        finally:
            await embedder.close()
        return f"answers a query with {found.shape[1]} components in {spent:.0f} ms"

    said = settings.discovery.embedder
    if clear := key_in_clear_text(said):
        yield Finding(
            check="discovery",
            subject="embedder key",
            level="warning",
            what="is sent in clear text",
            why=clear,
            fix="write an https URL in [discovery.embedder], or have it listen on this machine alone",
        )
    try:
        what, why = asyncio.run(answers()), ""
    except EmbeddingFailed as problem:
        what, why = "makes no vectors", str(problem)
    yield Finding(
        check="discovery",
        subject=f"embedder {said.type}",
        level="warning" if why else "ok",
        what=what,
        why=why,
        fix="until it does, tools are found by the built-in vectors; see [discovery.embedder]"
        if why
        else "",
    )


def check_context(settings: Settings, tools: Sequence[Tool]) -> Iterator[Finding]:
    """What the tools of all servers take together; nothing where there are none."""
    if not tools:
        return
    total, most = cost(tools), settings.discovery.max_tokens
    profiles = settings.profiles.values()
    searches = settings.discovery.expose != "all" or any(
        one.expose not in {None, "all"} for one in profiles
    )
    heavy = not searches and (total > most or len(tools) > _MANY)
    yield Finding(
        check="context",
        subject="tools",
        level="warning" if heavy else "ok",
        what=f"{len(tools):,} tools, {total:,} tokens in the context of a host that lists them all",
        fix='write expose = "discover" in [discovery] or a profile: hosts list three tools and search for the others (docs/discovery.md)'
        if heavy
        else "",
    )
