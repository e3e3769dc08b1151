"""Authentication of callers: API keys, OAuth access tokens and local identities, their claims and sessions.

`issuer` is one authorization server and what it published; `tokens` knows all of them, what each token said,
and whom that makes of its bearer. API keys are `identity.keys`, and who is asked first is `identity.gate`.
"""

from __future__ import annotations

from gatewright.identity.issuer import Introspection, Issuer, Trusted, Unreachable
from gatewright.identity.tokens import Tokens

__all__ = ["Introspection", "Issuer", "Tokens", "Trusted", "Unreachable"]
