"""All checks of `gatewright doctor`, one function a subject: those of the features, and those of machine, listeners and state.

A check reads and never changes anything. Where a finding can be mended without a decision of a person
(a mode, a file that a dead process left), it carries the `mend` that `doctor --fix` runs.
"""

from gatewright.audit.doctor import check_anchors
from gatewright.cli.checks.groundhog_tls import check_protocol
from gatewright.cli.checks.machine import check_clock, check_config, check_environment
from gatewright.cli.checks.state import (
    check_audit,
    check_folder,
    check_gateway,
    check_store,
    key_names,
)
from gatewright.cli.finding import Finding, Level
from gatewright.hosts.doctor import check_hosts
from gatewright.identity.doctor import check_identity, check_operators
from gatewright.pins.doctor import check_pins
from gatewright.servers.doctor import check_isolation, check_servers

__all__ = [
    "Finding",
    "Level",
    "check_anchors",
    "check_audit",
    "check_clock",
    "check_config",
    "check_environment",
    "check_folder",
    "check_gateway",
    "check_hosts",
    "check_identity",
    "check_isolation",
    "check_operators",
    "check_pins",
    "check_protocol",
    "check_servers",
    "check_store",
    "key_names",
]
