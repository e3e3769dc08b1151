"""Access control (MGP §5 and §3): grants, permissions, name resolution, their gates, methods and commands.

Begin with `grants`, the table and the decision, and `gate`, which asks it for calls and lists. Permissions of tool servers are
`permission_policy` and `permission_gate`.
"""
