"""The only folder that knows every part: settings become a running gateway."""

from gatewright.compose.gateway import Gateway, Ready
from gatewright.compose.run import run

__all__ = ["Gateway", "Ready", "run"]
