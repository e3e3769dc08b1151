"""Configuration: reads `mgp.toml` into frozen settings with the origin of each value; validation, editing and reload sources.

`load` is the way in. The file is a strict superset of MGP §15.2: a file written for another MGP
kernel runs unchanged, and what we do not know is a warning. Reading order for a newcomer:
`model` (what others see) → `shapes` (what a hand may write) → `build`.
"""

from gatewright.config.build import is_loopback, override
from gatewright.config.lookup import find, load, state_directory
from gatewright.config.model import (
    Auth,
    Calls,
    Gateway,
    Grant,
    Limits,
    Mgp,
    Profile,
    Rates,
    Redaction,
    RedactionLevel,
    Restart,
    SecretsPlace,
    Server,
    Settings,
    Storage,
    ToolRule,
)
from gatewright.config.oversight import Audit
from gatewright.config.problems import Origin, Problem, SettingsError
from gatewright.config.source import FileSource

__all__ = [
    "Audit",
    "Auth",
    "Calls",
    "FileSource",
    "Gateway",
    "Grant",
    "Limits",
    "Mgp",
    "Origin",
    "Problem",
    "Profile",
    "Rates",
    "Redaction",
    "RedactionLevel",
    "Restart",
    "SecretsPlace",
    "Server",
    "Settings",
    "SettingsError",
    "Storage",
    "ToolRule",
    "find",
    "is_loopback",
    "load",
    "override",
    "state_directory",
]
