"""Web formats without I/O: URLs, IP addresses, server-sent events, UTF-8."""
