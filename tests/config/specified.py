"""The file of MGP §15.2, as the section has it."""

__all__ = ["SPECIFIED"]

SPECIFIED = """\
[[servers]]
id = "mind.cerebras"
command = "python"
args = ["mcp-servers/cerebras/server.py"]
transport = "stdio"

[servers.mgp]
extensions = ["security", "lifecycle", "streaming"]
permissions_required = ["network.outbound"]
trust_level = "standard"
restart_policy = "on_failure"

[servers.env]
CEREBRAS_API_KEY = "${CEREBRAS_API_KEY}"
"""
