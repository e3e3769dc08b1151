"""Protocol state machines and rules without I/O: MCP server and client, eras, tasks, recovery, MGP negotiation, ggen.

Begin with `mcp_server` (towards hosts) or `mcp_client` (towards tool servers); `eras` is what lies between the two.
"""
