"""`RedactionFeature`: provides gate `sanitize`, filter `redact`, removal of secrets from servers' notifications; makes the marks' key."""

from __future__ import annotations

import os

from msgspec.structs import replace

from gatewright.config import Settings
from gatewright.feature import Feature, Ground, Making, Rules
from gatewright.redaction.filter import Redact
from gatewright.redaction.offload import Cleaners
from gatewright.redaction.policy import NotificationCleaner, redaction_of, wanted_of
from gatewright.redaction.sanitize_gate import Sanitize
from gatewright.servers.supervisor_dependencies import ServerSide

__all__ = ["RedactionFeature"]


class RedactionFeature(Feature):
    """The marks of what was taken out are this gateway's own."""

    name = "redaction"

    def __init__(self, ground: Ground) -> None:
        self._key = os.urandom(32)
        self._cleaners = Cleaners(ground.workers)
        self._spoken = NotificationCleaner(ground.settings, self._key)

    def side(self, side: ServerSide) -> ServerSide:
        """Cleans what servers say outside any call."""
        return replace(side, clean=self._spoken.clean)

    def rules(self, settings: Settings) -> Rules:
        """Gate and filter. An operator's rules are compiled here, beside the loop where the settings are read again."""
        if settings.redaction_rules:
            made = redaction_of(settings, self._key)
            for one in (made.default, *made.servers.values(), *made.tools.values()):
                if one is not None:
                    one.ready()
        return Rules(gates={"sanitize": self._sanitize}, filters={"redact": self._redact})

    def _sanitize(self, making: Making) -> Sanitize:
        return Sanitize(wanted_of(making.settings), self._cleaners.visible)

    def _redact(self, making: Making) -> Redact:
        return Redact(redaction_of(making.settings, self._key), self._cleaners)

    def adopt(self, settings: Settings) -> None:
        """What is said outside calls."""
        self._spoken.adopt(settings)
