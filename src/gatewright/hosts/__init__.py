"""Configuration files of MCP hosts (Cursor, Claude Code, VS Code, …): locating, reading, editing, importing and connecting.

A library of its own, of no use to the running gateway: `import`, `connect` and `doctor` use it.
"""
