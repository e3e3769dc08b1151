"""Wiring: makes the parts of a gateway from its settings, starts, reloads and stops them.

`gateway` starts and stops everything in order, `features` is the list of what is made, `policy_factory` puts the gates and filters of one
configuration together, `state_watcher` applies what other processes change, `worker` is what worker processes run.
"""

from gatewright.app.announce import Ready
from gatewright.app.gateway import Gateway
from gatewright.app.run import run

__all__ = ["Gateway", "Ready", "run"]
