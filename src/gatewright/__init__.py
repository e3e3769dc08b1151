"""Gatewright: a governed MCP gateway, one safe endpoint for all the tools of all agents.

Importing the package is cheap on purpose: it holds the version and nothing else, so that a tool author who
imports one part of `gatewright` does not pay for the gateway.
"""

__all__ = ["__version__"]

__version__ = "0.1.0"
