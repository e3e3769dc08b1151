"""Access control (MGP §5 and §3): grants, permissions, name resolution, their gates, methods and commands."""
