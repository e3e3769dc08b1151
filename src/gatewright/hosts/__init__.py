"""The configuration files of MCP hosts: where they are, what they say, and how one entry is written.

A library of its own, of no use to the running gateway: `import`, `connect` and `doctor` use it.
"""
