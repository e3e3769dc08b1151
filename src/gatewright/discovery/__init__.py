"""Tool discovery: search and ranking in `tools/list`, and resolution of a tool id with a version.

Begin with `search`. Which tools there are and who may see them is the catalogue's to say (`search.Offer`).
"""
