"""Redaction of secrets in what travels back to callers, and of hidden characters in arguments. The rules are in `secret_scanning`.

Begin with `filter`, which cleans what comes back; `policy` says which rules hold for what.
"""
