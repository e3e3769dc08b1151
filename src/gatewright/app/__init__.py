"""The only folder that knows every part: settings become a running gateway."""

from gatewright.app.announce import Ready
from gatewright.app.gateway import Gateway
from gatewright.app.run import run

__all__ = ["Gateway", "Ready", "run"]
