"""Where else the record goes: files, HTTP, syslog, PostgreSQL. The journal is the queue; no call waits."""

from gatewright.audit.sinks.follow import Sink, SinkFailed
from gatewright.audit.sinks.positions import SinkPositions
from gatewright.audit.sinks.runner import Sinks, State

__all__ = ["Sink", "SinkFailed", "SinkPositions", "Sinks", "State"]
