"""Access control (MGP §5 and §3): which caller may use which server and tool, and which permissions servers and callers hold."""
