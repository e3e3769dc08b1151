"""Protocol state machines and rules without I/O: MCP server and client, eras, tasks, recovery, MGP negotiation, ggen."""
