"""Tool discovery: MGP §16 methods and meta tools over an index of all tools, session caches within a budget, and search in `tools/list`.

Begin with `feature`, then `methods`. Which tools there are and who may see them is the catalogue's to say (`lookup`).
"""
