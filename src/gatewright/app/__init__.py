"""The only folder that knows every part: settings become a running gateway."""

from gatewright.app.gateway import Gateway, Ready
from gatewright.app.run import run

__all__ = ["Gateway", "Ready", "run"]
