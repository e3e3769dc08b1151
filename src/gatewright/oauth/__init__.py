"""OAuth 2.1 as an MCP client needs it, without I/O: published documents, client identity, login."""
