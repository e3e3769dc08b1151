from __future__ import annotations

import pytest

from gatewright.sdk.versions import is_version, precedence

# The order that Semantic Versioning 2.0.0, section 11, prints, with shorter spellings between.
ORDER = [
    "0.9",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0-rc.1",
    "1.0.0",
    "1.9.0",
    "1.10.0",
    "2",
]


def test_versions_are_ordered_as_the_specification_orders_them() -> None:
    mixed = ORDER[5:] + ORDER[:5]
    assert sorted(mixed, key=precedence) == ORDER


def test_the_build_does_not_make_a_version_newer() -> None:
    assert precedence("1.0.0+7") == precedence("1.0.0+9")


@pytest.mark.parametrize("text", ["", "v1", "1.0.0.0", "01.0.0", "1.0.0-", "one"])
def test_what_is_no_version_is_named_in_the_error(text: str) -> None:
    assert not is_version(text)
    with pytest.raises(ValueError, match="is no version"):
        precedence(text)
