"""Rate limits and quotas: how often callers, servers and tools may be used, and how large an answer may be."""
