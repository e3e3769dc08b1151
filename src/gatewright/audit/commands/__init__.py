"""Commands of the audit trail: `gatewright audit` and its subcommands."""
