"""Protocols besides MCP through which tools are called: ggen, REST, Groundhog; and MGP methods that are about the gateway
as a whole."""
