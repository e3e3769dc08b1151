"""Keys that check signed tokens, as a configuration holds them."""

from __future__ import annotations

import pytest

from gatewright.config.signing_keys import read_key

SECRET = "a-shared-secret-of-32-bytes-or-more"


def test_a_shared_secret_must_be_long_and_is_for_its_algorithms_alone() -> None:
    read_key(SECRET, ["HS256", "HS512"])
    with pytest.raises(ValueError, match="32 bytes"):
        read_key("short", ["HS256"])
    with pytest.raises(ValueError, match="do not mix"):
        read_key(SECRET, ["HS256", "RS256"])
    for text in ("nonsense", "{}", '{"keys": 1}', "[]"):
        with pytest.raises(ValueError, match="public key"):
            read_key(text, ["RS256"])
