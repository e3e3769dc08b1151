"""Web formats without I/O: URLs, IP addresses, server-sent events, UTF-8. Begin with `sse`; the files do not need each other."""
