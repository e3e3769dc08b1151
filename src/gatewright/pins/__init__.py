"""Pinned tool definitions: a tool that describes itself otherwise than when it was accepted is held back."""
