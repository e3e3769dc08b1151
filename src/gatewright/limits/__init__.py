"""Rate limits and quotas on callers, servers and tools, allowances of free polls and lists, and the size limit of results.

Begin with `gate` and `tool_gate`, which refuse calls; `rules` builds what they ask from the settings, `meters` counts by
subject, `usage` is the counter of one subject. `polls` and `list_allowance` say what is not counted, `size_filter` bounds
results.
"""
