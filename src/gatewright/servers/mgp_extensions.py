"""MGP extensions that the gateway offers to clients and servers whatever its features are; these add theirs (`Feature.extensions`)."""

__all__ = ["EXTENSIONS"]

EXTENSIONS = ("security", "access_control", "audit", "code_safety", "discovery")
