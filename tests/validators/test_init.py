"""What the package offers to gates, settings and the catalogue."""

import importlib
import pkgutil

import msgspec
import pytest

import gatewright.validators as offered
from gatewright import schemas
from gatewright.validators import BUILT_IN, Checks, checks_for


def test_everything_that_is_offered_is_there() -> None:
    assert [name for name in offered.__all__ if not hasattr(offered, name)] == []


def test_the_five_standard_validators_and_paths_are_built_in() -> None:
    """MGP-4.3-4"""
    assert set(BUILT_IN) == {"sandbox", "readonly", "network_restricted", "code_safety", "paths"}
    assert isinstance(checks_for("+".join(BUILT_IN), {}, {}, "tool"), Checks)


def test_what_a_judgement_is_made_of_cannot_be_changed_afterwards() -> None:
    """A policy is one immutable whole, which calls hold on to while the next one is made."""
    modules = [
        importlib.import_module(f"{package.__name__}.{one.name}")
        for package in (offered, schemas)
        for one in pkgutil.iter_modules(package.__path__)
    ]
    kinds = {
        one
        for module in modules
        for one in vars(module).values()
        if isinstance(one, type) and issubclass(one, msgspec.Struct) and one is not msgspec.Struct
    }
    assert {one.__name__ for one in kinds} >= {"Options", "Rules", "Objection", "Violation"}
    assert [one.__qualname__ for one in kinds if not one.__struct_config__.frozen] == []


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_a_setting_that_a_validator_does_not_know_is_an_error(name: str) -> None:
    """A typing error must not leave a tool without the limit that somebody meant."""
    found = checks_for(name, {name: {"unheard_of": 1}}, {}, "tool")
    assert isinstance(found, str)
    assert "unheard_of" in found
