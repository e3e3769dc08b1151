"""MCP tasks for calls that wait for an operator: the caller polls a task while the call waits."""
