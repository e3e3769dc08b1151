"""Application wiring: builds a running gateway from settings; the only folder that imports every part."""

from gatewright.app.gateway import Gateway, Ready
from gatewright.app.run import run

__all__ = ["Gateway", "Ready", "run"]
