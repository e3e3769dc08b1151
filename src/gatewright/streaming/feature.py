"""`StreamingFeature`: offers MGP `streaming`: kernel hooks that follow streaming calls (MGP §12), and the method `mgp/stream/cancel`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from gatewright.feature import Around, Feature, Ground, Inside
from gatewright.kernel import Hooks
from gatewright.mcp.server.streams import CANCEL, EXTENSION, Streams
from gatewright.servers.dispatch import Builtin
from gatewright.servers.supervisor import Supervisor

__all__ = ["StreamingFeature"]


class StreamingFeature(Feature):
    """Without it nobody is offered streams, and no server is asked for one."""

    name = "streaming"
    extensions = (EXTENSION,)
    open_methods = (CANCEL,)

    def __init__(self, ground: Ground) -> None:
        self._streams = Streams(time.monotonic, ground.random)

    def around(self, servers: Supervisor) -> Around:
        """What follows every call of a client that negotiated it."""
        streams = self._streams
        return Around(
            hooks=Hooks(around=(streams.around,), sent=(streams.sent,), stands=(streams.stands,))
        )

    def methods(self, inside: Inside) -> Mapping[str, Builtin]:
        """Cancellation."""
        return {CANCEL: self._streams.cancel}
