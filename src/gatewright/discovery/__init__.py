"""Finding tools: which of those that a caller may use fit what it looks for, and which one a name means.

What is there and who may see it is the catalogue's to say (`Offer`); here it is only chosen from.
"""
