"""Tool discovery: search and ranking in `tools/list`, and resolution of a tool id with a version.

What is there and who may see it is the catalogue's to say (`Offer`); here it is only chosen from.
"""
