"""Callers whom somebody else knows: access tokens of OAuth issuers, checked and turned into callers.

`issuer` is one authorization server and what it published; `tokens` knows all of them, what each token said,
and whom that makes of its bearer. API keys are `stores.callers`, and who is asked first is `gates.authenticate`.
"""

from __future__ import annotations

from gatewright.identity.issuer import Introspection, Issuer, Trusted, Unreachable
from gatewright.identity.tokens import Tokens

__all__ = ["Introspection", "Issuer", "Tokens", "Trusted", "Unreachable"]
