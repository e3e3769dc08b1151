"""Audit sinks: deliver the records to files, HTTP, syslog, SQL databases or an MGP server, from the SQLite rows; no call waits.

Begin with `runner`, which runs them, and `follow`, which delivers to one; `positions` remembers how far each is, the others are the sinks.
"""

from gatewright.audit.sinks.follow import Sink, SinkFailed
from gatewright.audit.sinks.positions import SinkPositions
from gatewright.audit.sinks.runner import Sinks, State

__all__ = ["Sink", "SinkFailed", "SinkPositions", "Sinks", "State"]
