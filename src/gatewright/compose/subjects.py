"""The catalogue in the words of the gate that resolves names."""

from __future__ import annotations

from collections.abc import Iterable

from gatewright.call import Call, Caller, Refusal, Target, Tool
from gatewright.settings import Settings
from gatewright.upstream.supervisor import Supervisor

__all__ = ["Subjects"]


class Subjects:
    """The catalogue in the words of the gate that resolves names."""

    def __init__(self, supervisor: Supervisor, settings: Settings) -> None:
        self._supervisor = supervisor
        self._catalogue = supervisor.catalogue
        self._prefixes = {server.prefix + "__": server.id for server in settings.servers}

    def tool(self, profile: str, name: str) -> Tool | None:
        """A tool by any of its names."""
        return self._catalogue.tool(profile, name)

    def prompt(self, profile: str, name: str) -> Target | None:
        """A prompt by any of its names."""
        return self._catalogue.prompt(profile, name)

    def resource(self, profile: str, uri: str, caller: Caller) -> Target | None:
        """The owner of a URI, among the servers the caller may reach."""
        return self._catalogue.resource(profile, uri, caller)

    def method(self, call: Call) -> Target | None:
        """Dispatch asks only servers that the caller may reach."""
        return None

    def tools(self, profile: str) -> Iterable[Tool]:
        """Everything that `tool` finds."""
        return self._catalogue.view(profile).tools.values()

    def absent(self, call: Call) -> Refusal | None:
        """A server that never said what it offers may still come to own the name."""
        states = self._supervisor.states
        for prefix, server in self._prefixes.items():
            state = states.get(server, "registered")
            known = self._catalogue.listing(server).hello.revision
            if known or state == "connected" or not call.name.startswith(prefix):
                continue
            reason = "server_not_ready" if state != "error" else "upstream_unavailable"
            return Refusal(
                reason,
                f"server {server} is not connected ({state}); `gatewright server list` says why",
                {"server": server, "state": state},
                1000,
            )
        return None
