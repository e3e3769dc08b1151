"""Commands about MCP hosts: `gatewright connect`, `disconnect` and `import`."""
