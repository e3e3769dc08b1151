"""Message formats: JSON-RPC, MCP, MGP and Groundhog messages from bytes and back. Pure, total, lossless.

Begin with `jsonrpc`, which reads a frame; `codes`, `methods` and `versions` are the tables that all other folders ask.
"""
