"""`SinksFeature`: starts the configured audit sinks (files, HTTP, syslog, databases, MGP servers), reports their states; closes them last."""

from __future__ import annotations

from gatewright.audit.sink_builder import sinks_of
from gatewright.feature import Around, Feature, Ground
from gatewright.servers.supervisor import Supervisor

__all__ = ["SinksFeature"]


class SinksFeature(Feature):
    """Sinks are closed last: what others do until then is sent, too."""

    name = "sinks"

    def __init__(self, ground: Ground) -> None:
        self._settings = ground.settings
        self._positions = ground.positions

    def around(self, servers: Supervisor) -> Around:
        """Some of them are tool servers."""
        sinks = sinks_of(self._settings, self._positions, servers.tell_audit)
        return Around(
            begin=sinks.start,
            numbers=lambda: {"audit_sinks": sinks.states()},
            close=sinks.close,
        )
