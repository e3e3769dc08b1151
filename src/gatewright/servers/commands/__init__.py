"""Commands about tool servers and tools: `gatewright server` and `gatewright tool`, one module for a few subcommands.

Begin with `server` and `tool`, which have the command groups.
"""
