"""Audit sinks: deliver the records to files, HTTP, syslog, SQL databases or an MGP server. The journal is the queue; no call waits."""

from gatewright.audit.sinks.follow import Sink, SinkFailed
from gatewright.audit.sinks.positions import SinkPositions
from gatewright.audit.sinks.runner import Sinks, State

__all__ = ["Sink", "SinkFailed", "SinkPositions", "Sinks", "State"]
