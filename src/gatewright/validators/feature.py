"""`ValidatorsFeature`: gate `validators`, which judges costly arguments in worker processes; compiles patterns in the background."""

from __future__ import annotations

from gatewright.config import Settings
from gatewright.feature import Feature, GatewayParts, Ground, Making, Rules, Serving
from gatewright.transport.safe_fetch import addresses_of
from gatewright.validators.gate import Validators
from gatewright.validators.offload import Judges
from gatewright.validators.precompile import prepare_slowly

__all__ = ["ValidatorsFeature"]


class ValidatorsFeature(Feature):
    """The named checks of arguments."""

    name = "validators"

    def __init__(self, ground: Ground) -> None:
        self._judges = Judges(ground.workers)

    def rules(self, settings: Settings) -> Rules:
        """The gate."""
        return Rules(gates={"validators": self._gate})

    def _gate(self, making: Making) -> Validators:
        return Validators(addresses_of, self._judges.judge)

    def serve(self, parts: GatewayParts) -> Serving:
        """Patterns are ready before calls need them."""
        return Serving(work=(prepare_slowly,))
