"""The resources that servers of the two-sided model write in their logs when they are asked for word of them, and who may read that.

A server logs a subscription as it comes, also where the gateway asks once more for all who wait: so its line names a resource of
somebody who has no call there.
"""

from __future__ import annotations

import re
from typing import Any

from gatewright.call import Target
from gatewright.servers.names import unwrap_uri
from tests.behaviour.two_sided_clients import Client

__all__ = ["Watched"]

_WATCHED = re.compile(r"\bwatches-(\w+)\|([^|]*)\|")


class Watched:
    """Part of the judge."""

    def fault(self, what: str, message: Any) -> None:
        """Write down what should not have been."""
        raise NotImplementedError

    def judge_watched(self, client: Client, said: Any, text: str) -> None:
        """Of a resource that is waited for hears who waits for it."""
        for server, uri in _WATCHED.findall(text):
            if not any(
                server in whose and _leads(name, Target(server, uri))
                for name, whose in client.wants.items()
            ):
                self.fault(f"{client.name} heard which resources others wait for", said)


def _leads(name: str, resource: Target) -> bool:
    target = unwrap_uri(name)
    return name == resource.name if target is None else target == resource
