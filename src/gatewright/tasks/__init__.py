"""MCP tasks for calls that wait for an operator: store, and execution after approval. The caller polls the task."""
