"""`Numbers`: reads counts of servers, calls, sessions, audit and features when a key is looked up, for `/metrics`, `/readyz` and OTLP."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import chain
from typing import Any

import msgspec

from gatewright.audit.trail import AuditLog
from gatewright.kernel import Kernel
from gatewright.mcp.server.server_context import ServerContext
from gatewright.servers.supervisor import Supervisor

__all__ = ["Numbers"]


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """`telemetry.endpoint.Numbers` of one gateway. `parts` are those of features, `missing` the features that are not there."""

    kernel: Kernel
    supervisor: Supervisor
    front: ServerContext
    audit: AuditLog
    parts: Sequence[Callable[[], Mapping[str, Any]]]
    missing: Sequence[str] = ()

    def __call__(self) -> Mapping[str, Any]:
        """All of them. The gateway's own are counted when they are asked for, those of features with the first of them: readiness,
        which anybody may ask for, pays for no more than it says, and telemetry asks from a thread of its own."""
        audit, standing = self.audit, self.front.standing
        supervisor, kernel, missing = self.supervisor, self.kernel, self.missing
        return _OnDemand(
            {
                "servers": lambda: dict(supervisor.states),
                "in_flight": lambda: kernel.in_flight,
                "sessions": lambda: sum(one.door == "http" for one in list(standing.values())),
                "audit_ok": lambda: audit.fault is None,
                "audit_written": lambda: audit.written,
                "audit_lag": lambda: audit.lag,
                "missing": lambda: missing,
            },
            self.parts,
        )


class _OnDemand(Mapping[str, Any]):
    """Values that are made when they are asked for."""

    def __init__(
        self,
        own: Mapping[str, Callable[[], Any]],
        parts: Sequence[Callable[[], Mapping[str, Any]]],
    ) -> None:
        self._own = own
        self._parts = parts

    @cached_property
    def _of_features(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {"waiting": 0, "audit_sinks": {}}  # without the features that count
        for part in self._parts:
            found |= part()
        return found

    def __getitem__(self, name: str) -> Any:
        made = self._own.get(name)
        return self._of_features[name] if made is None else made()

    def __iter__(self) -> Iterator[str]:
        return chain(self._own, self._of_features)

    def __len__(self) -> int:
        return len(self._own) + len(self._of_features)
