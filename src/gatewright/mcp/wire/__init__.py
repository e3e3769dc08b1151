"""Message formats: JSON-RPC, MCP, MGP and Groundhog messages from bytes and back. Pure, total, lossless."""
