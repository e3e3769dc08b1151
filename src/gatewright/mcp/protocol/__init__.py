"""Protocol state machines and rules without I/O: MCP server and client, translation of revisions, tasks, recovery, MGP offers, ggen.

Begin with `mcp_server` (towards hosts) or `mcp_client` (towards tool servers); `eras` is what lies between the two.
"""
