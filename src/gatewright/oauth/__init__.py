"""OAuth 2.1 client logic as MCP requires it, without I/O: metadata documents, client registration, login, tokens."""
