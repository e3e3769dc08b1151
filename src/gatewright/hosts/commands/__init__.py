"""Commands for MCP hosts: `gatewright connect`, `disconnect` and `import`, and what they share. Begin with `connect` and `imports`."""
