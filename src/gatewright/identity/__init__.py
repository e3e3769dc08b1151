"""Authentication of callers: API keys, OAuth access tokens and local identities, their claims and sessions.

`issuer` is one authorization server and what it published; `tokens` knows all of them, what each token said,
and whom that makes of its bearer. API keys are `identity.keys`, and who is asked first is `identity.gate`.
"""
