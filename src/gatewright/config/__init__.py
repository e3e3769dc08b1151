"""Configuration: `mgp.toml` read once into frozen values, each with the place where it was written.

`lookup` finds the files, `build` makes the model of them (`documents`, `check`, `file_tables`, one module a table), `substitute` fills
values in. `draft` and `edit` change a file for commands; `schema` is the JSON Schema for editors; `changes` compares two
configurations. `trust` says which files that were found are accepted, and keeps that, `review` lists what one would do,
`secret_users` which configuration may use a secret. `secrets` holds what `${secret:NAME}` stands for, in `keyring_secrets` or
`sealed_file`.
"""

from gatewright.config.build import is_loopback, override
from gatewright.config.limits import Calls, Discovery, Limits, Rates
from gatewright.config.lookup import find, load, state_directory
from gatewright.config.model import (
    Auth,
    Gateway,
    Grant,
    Mgp,
    Profile,
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
    "Discovery",
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
