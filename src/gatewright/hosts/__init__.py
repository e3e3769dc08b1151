"""MCP hosts (Claude Desktop, Cursor, …): finds, reads and edits their configuration files, imports their servers, names them as agents.

`host_table` is the table of hosts and `entries` spells one entry for each; `read` is the one reader of what others wrote, `plan` works out
what an import would do. `edit` changes a file as text and checks itself, with `json_edit` (on `json_spans`), `toml_edit` and
`yaml_edit`; `entry_splices` takes it back, `records` remembers, `whole_file` reads and replaces. `local_agents` are the hosts of this machine
as agents, `other_servers` the servers that a host has beside the gateway. The running gateway needs `local_agents` alone.
"""
