"""Redaction of what travels back to callers, and of hidden characters in arguments. What a secret looks like is `secret_scanning`."""
