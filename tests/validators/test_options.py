"""Options of a validator: what cannot be used is an error, never a guess."""

import msgspec
import pytest

from gatewright.validators.options import BadOptions, read_options


class Two(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Options as a validator has them."""

    name: str = "x"
    many: tuple[str, ...] = ()


def test_options_become_what_the_validator_expects() -> None:
    assert read_options(Two, {"many": ["a"]}) == Two("x", ("a",))
    assert read_options(Two, {}) == Two()


@pytest.mark.parametrize("options", [{"nam": "y"}, {"name": 1}, {"many": "a"}])
def test_what_cannot_be_used_is_named(options: dict[str, object]) -> None:
    with pytest.raises(BadOptions, match=next(iter(options))):
        read_options(Two, options)
