"""Rate limits and quotas on callers, servers and tools, poll allowances, and the size limit of results."""
