"""Protocols besides MCP for calling tools (ggen JSON-RPC, REST, Groundhog), and the gateway's own `gatewright/…` methods."""
