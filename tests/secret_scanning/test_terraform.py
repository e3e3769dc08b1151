"""Defaults of variables in Terraform files."""

from __future__ import annotations

import pytest

from gatewright.secret_scanning.terraform import defaults

VALUE = "a01206475cf346f7ac132830078d3a0b"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('variable "algolia_admin_key" { default = "@" }', True),
        ('variable "session_secret" {\n  type = string\n  default = "@"\n}', True),
        ('variable \\"db_password\\" { default = \\"@\\" }', True),
        ('variable "region" { default = "@" }', False),
        ('variable "db_password" { type = string }\nvariable "region" { default = "@" }', False),
    ],
)
def test_the_default_of_a_secret_is_one(text: str, found: bool) -> None:
    said = text.replace("@", VALUE).encode()
    assert [said[start:end].decode() for start, end, _ in defaults(said)] == [VALUE] * found


def test_a_placeholder_is_none() -> None:
    assert list(defaults(b'variable "db_password" { default = "changeme" }')) == []
