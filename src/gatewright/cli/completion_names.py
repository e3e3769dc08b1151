"""Shell completion of servers, tools, grant targets, profiles, keys, secrets, from running gateway or files; nothing on failure.

The running gateway is asked first, then the configuration. Whoever presses Tab waits, so a second is
the most; and nothing may ever be written into the prompt, so every failure is an empty list.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gatewright.cli.gateway_client import ask, ask_all
from gatewright.cli.running import endpoint
from gatewright.config import load

if TYPE_CHECKING:
    from gatewright.identity.keys import Key

__all__ = [
    "grant_targets",
    "key_ids",
    "key_names",
    "profile_names",
    "secret_names",
    "server_names",
    "tool_names",
]

# The person has pressed Tab and waits.
_MOST_S = 1.0


def server_names(incomplete: str) -> list[str]:
    """Ids of servers, of the running gateway or else of the configuration."""
    return _fitting(incomplete, _running_servers, lambda: (one.id for one in load().servers))


def tool_names(incomplete: str) -> list[str]:
    """Names of tools; none where no gateway runs, because only a running one knows them."""
    return _fitting(incomplete, _tools)


def grant_targets(incomplete: str) -> list[str]:
    """What can be granted: servers, and with a slash behind one its tools by its own names."""
    server, slash, _ = incomplete.partition("/")
    if not slash:
        return server_names(incomplete)
    return _fitting(incomplete, lambda: _tools_of(server))


def key_ids(incomplete: str) -> list[str]:
    """Ids of the API keys that are in force."""
    return _fitting(incomplete, lambda: (one.id for one in _keys() if one.revoked is None))


def key_names(incomplete: str) -> list[str]:
    """Names of agents that have a key."""
    return _fitting(incomplete, lambda: {one.name for one in _keys()})


def profile_names(incomplete: str) -> list[str]:
    """Profiles of the configuration."""
    return _fitting(incomplete, lambda: load().profiles)


def secret_names(incomplete: str) -> list[str]:
    """Names of secrets that are kept."""
    return _fitting(incomplete, _secrets)


def _fitting(incomplete: str, *sources: Callable[[], Iterable[object]]) -> list[str]:
    """The names of the first source that has any."""
    for source in sources:
        try:
            found = sorted({name for name in source() if isinstance(name, str)})
        except Exception:  # noqa: BLE001, S112 - a completion must never write into the prompt
            continue
        if found:
            return [name for name in found if name.startswith(incomplete)]
    return []


def _running_servers() -> Iterable[object]:
    return [one.get("id") for one in _discovered()]


def _discovered() -> Sequence[Mapping[str, Any]]:
    where = endpoint(role="operator")
    servers: Sequence[Mapping[str, Any]] = ask(where, "mgp/discovery/list", timeout_s=_MOST_S)[
        "servers"
    ]
    return servers


def _tools() -> Iterable[object]:
    tools = ask_all(endpoint(), "tools/list", "tools", timeout_s=_MOST_S)
    return [one.get("name") for one in tools]


def _tools_of(server: str) -> Iterable[object]:
    """By the server's own names, as far as the exposed ones show them."""
    # Only who completes a tool pays for the rules of names.
    from gatewright.cli.tool_names import shown_by  # noqa: PLC0415
    from gatewright.servers.names import prefixes_of  # noqa: PLC0415

    # Whose a tool is says the gateway: no name does (`a__b__read` is a tool of `a` or of `a__b`).
    tools = next(one["tools"] for one in _discovered() if one.get("id") == server)
    shown = shown_by(None)
    # Longest first: a prefix may begin with the id.
    begins = sorted(prefixes_of(server, shown.prefixes.get(server)), key=len, reverse=True)
    begins += [""] if server in shown.bare else []
    found = []
    for name in tools:
        begin = next((one for one in begins if name.startswith(one)), None)
        if begin is not None:
            found.append(f"{server}/{name.removeprefix(begin)}")
    return found


def _secrets() -> Iterable[object]:
    # Only who completes a secret opens the store of them.
    from gatewright.config.secrets import open_secrets  # noqa: PLC0415

    settings = load()
    place = settings.secrets
    return open_secrets(settings.storage.path, place.store, key_file=place.key_file).names()


def _keys() -> Sequence[Key]:
    # Only who completes a key opens the store.
    from gatewright.cli.state_access import seen  # noqa: PLC0415
    from gatewright.identity.keys import KeyStore  # noqa: PLC0415

    with seen(load().storage.path) as state:
        return KeyStore(state, clock=time.time, random=os.urandom).keys()
