"""Does one caller, server or text stop the others? Hostile inputs of every kind, each while somebody else calls at a steady pace."""

__all__: list[str] = []
