"""Joining what server, operator and name say about a tool: the strictest wins."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import Security
from gatewright.validators.effective_security import effective_security, problems


class Word(msgspec.Struct, frozen=True):
    """An operator's word about one tool."""

    risk_level: str | None = None
    permissions_required: tuple[str, ...] | None = None
    validator: str | None = None
    validator_args: tuple[str, ...] = ()
    validator_options: dict[str, Any] = {}
    confirmation_required: bool | None = None


FULL = {
    "risk_level": "dangerous",
    "permissions_required": ["shell.execute"],
    "side_effects": ["filesystem", "process"],
    "validator": "sandbox",
    "reversible": False,
    "confirmation_required": True,
}


def test_a_plain_tool_of_which_nobody_says_anything_is_moderate() -> None:
    assert effective_security(None, None, "echo") == Security()


def test_a_plain_tool_that_runs_commands_by_its_name_gets_the_sandbox() -> None:
    """MGP-8.2-1"""
    assert effective_security(None, None, "execute_command") == Security(validator="sandbox")


def test_the_operator_can_lift_what_only_the_name_suggests() -> None:
    """MGP-4.5-5: `none` is a word, and not the want of one."""
    found = effective_security(None, Word(validator="none"), "execute_command")
    assert found.validator == "none"


def test_the_name_is_not_lifted_by_the_server() -> None:
    found = effective_security({"risk_level": "safe", "validator": "none"}, None, "run_command")
    assert found.validator == "sandbox"


def test_a_full_declaration_is_taken_as_it_is() -> None:
    """MGP-4.2-1: the example of the specification is understood in every field."""
    assert problems(FULL) == ()
    assert effective_security(FULL, None, "execute_command") == Security(
        "dangerous", ("shell.execute",), "sandbox", True, True
    )


@pytest.mark.parametrize(
    ("server", "operator", "effective"),
    [
        ("none", "sandbox", "sandbox"),
        ("sandbox", "none", "sandbox"),
        ("sandbox", None, "sandbox"),
        ("none", "none", "none"),
        ("sandbox", "sandbox", "sandbox"),
        ("readonly", "sandbox", "readonly+sandbox"),
    ],
)
def test_a_server_cannot_weaken_a_validator(
    server: str, operator: str | None, effective: str
) -> None:
    """MGP-4.5-7"""
    declared = {"risk_level": "safe", "validator": server}
    assert effective_security(declared, Word(validator=operator), "x").validator == effective


@pytest.mark.parametrize(
    ("server", "operator", "effective"),
    [
        ("safe", None, "safe"),
        ("safe", "dangerous", "dangerous"),
        ("dangerous", "safe", "dangerous"),
        ("moderate", "safe", "moderate"),
        (None, "safe", "safe"),
        (None, "dangerous", "dangerous"),
    ],
)
def test_the_higher_risk_holds(server: str | None, operator: str | None, effective: str) -> None:
    declared = None if server is None else {"risk_level": server}
    found = effective_security(declared, Word(risk_level=operator), "x", believed=True)
    assert found.risk_level == effective


@pytest.mark.parametrize("operator", [None, Word(), Word(validator="none")])
@pytest.mark.parametrize(
    ("server", "effective"),
    [("safe", "moderate"), ("moderate", "moderate"), ("dangerous", "dangerous")],
)
def test_a_server_that_nobody_trusts_may_raise_the_risk_of_its_tool_and_never_lower_it(
    server: str, effective: str, operator: Word | None
) -> None:
    found = effective_security({"risk_level": server}, operator, "x")
    assert found.risk_level == effective


def test_the_operator_alone_calls_the_tool_of_such_a_server_safe() -> None:
    found = effective_security({"risk_level": "safe"}, Word(risk_level="safe"), "x")
    assert found.risk_level == "safe"


def test_permissions_are_joined_under_their_standard_names() -> None:
    declared = {"risk_level": "safe", "permissions_required": ["shell", "com.example.x.y", "odd"]}
    found = effective_security(
        declared, Word(permissions_required=("network", "shell.execute")), "x"
    )
    assert found.permissions_required == (
        "shell.execute",
        "com.example.x.y",
        "odd",
        "network.outbound",
    )


@pytest.mark.parametrize("said", [True, False, None])
def test_confirmation_is_needed_when_either_wants_it(said: bool | None) -> None:
    wants = {"risk_level": "safe", "confirmation_required": True}
    silent = {"risk_level": "safe"}
    assert effective_security(wants, Word(confirmation_required=said), "x").confirmation_required
    found = effective_security(silent, Word(confirmation_required=said), "x")
    assert found.confirmation_required is (said is True)


@pytest.mark.parametrize(
    ("declared", "field"),
    [
        ({}, "risk_level"),
        ({"risk_level": "low"}, "risk_level"),
        ({"risk_level": ["safe"]}, "risk_level"),
        ({"risk_level": "safe", "permissions_required": "shell"}, "permissions_required"),
        ({"risk_level": "safe", "permissions_required": [1]}, "permissions_required"),
        ({"risk_level": "safe", "side_effects": ["teleport"]}, "side_effects"),
        ({"risk_level": "safe", "side_effects": [["x"]]}, "side_effects"),
        ({"risk_level": "safe", "validator": "strong"}, "validator"),
        ({"risk_level": "safe", "validator": 7}, "validator"),
        ({"risk_level": "safe", "reversible": "yes"}, "reversible"),
        ({"risk_level": "safe", "confirmation_required": 1}, "confirmation_required"),
    ],
)
def test_what_cannot_be_understood_is_named_and_counts_as_dangerous(
    declared: Any, field: str
) -> None:
    """MGP-4.3-1 and MGP-4.3-3, as far as reading goes."""
    (sentence,) = problems(declared)
    assert sentence.startswith(f"security.{field} must be ")
    assert effective_security(declared, None, "x").risk_level == "dangerous"


def test_a_security_member_that_is_no_object_counts_as_dangerous() -> None:
    assert problems(["safe"]) == ("security must be an object",)
    assert effective_security(["safe"], None, "x").risk_level == "dangerous"


@pytest.mark.parametrize(
    "validator", ["sandbox", "readonly", "network_restricted", "code_safety", "none"]
)
def test_the_five_standard_validators_are_known_names(validator: str) -> None:
    """MGP-4.3-4: accepted as declarations, whether this version can run them or not."""
    assert problems({"risk_level": "safe", "validator": validator}) == ()


@pytest.mark.parametrize(
    ("annotations", "risk"),
    [
        ({"readOnlyHint": False}, "moderate"),
        ({"destructiveHint": True}, "moderate"),
        ({"readOnlyHint": True}, "safe"),
        ({}, "safe"),
        (None, "safe"),
        ("x", "safe"),
    ],
)
def test_a_tool_that_calls_itself_safe_is_contradicted_by_its_own_hints(
    annotations: Any, risk: str
) -> None:
    found = effective_security({"risk_level": "safe"}, None, "x", annotations, believed=True)
    assert found.risk_level == risk


def test_hints_never_lower_the_risk() -> None:
    found = effective_security({"risk_level": "dangerous"}, None, "x", {"readOnlyHint": True})
    assert found.risk_level == "dangerous"


RISKS = ["safe", "moderate", "dangerous"]
ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.sampled_from([*RISKS, "sandbox"]),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(sorted(FULL)), inner),
)
WORDS = st.none() | st.builds(
    Word,
    risk_level=st.none() | st.sampled_from(RISKS),
    permissions_required=st.none() | st.just(("camera",)),
    validator=st.none() | st.sampled_from(["none", "sandbox", "readonly"]),
    confirmation_required=st.none() | st.booleans(),
)


@given(ANYTHING, WORDS, st.text(), ANYTHING, st.booleans())
def test_no_declaration_makes_a_tool_milder_than_the_operator_says(
    declared: Any, operator: Word | None, name: str, annotations: Any, believed: bool
) -> None:
    found = effective_security(declared, operator, name, annotations, believed=believed)
    # Of its own accord nobody is safe.
    word = operator is not None and operator.risk_level is not None
    assert believed or word or found.risk_level != "safe"
    assert not problems(declared) or found.risk_level == "dangerous"
    if operator is None:
        return
    assert RISKS.index(found.risk_level) >= RISKS.index(operator.risk_level or "safe")
    assert set(operator.permissions_required or ()) <= set(found.permissions_required)
    assert operator.validator in {None, "none"} or operator.validator in found.validator.split("+")
    assert found.confirmation_required or not operator.confirmation_required


def test_every_side_effect_of_the_specification_may_be_declared() -> None:
    """MGP-4.3-3"""
    every = ["filesystem", "network", "process", "database", "notification"]
    declared = {"risk_level": "safe", "side_effects": every}
    assert problems(declared) == ()
    assert len(problems({**declared, "side_effects": [*every, "weather"]})) == 1


@pytest.mark.parametrize(
    ("hints", "risk"),
    [
        ({"readOnlyHint": False}, "moderate"),
        ({"destructiveHint": True}, "moderate"),
        ({"readOnlyHint": True, "destructiveHint": False}, "safe"),
        ({"readOnlyHint": 0, "destructiveHint": 1}, "safe"),
        ({}, "safe"),
        (["destructiveHint"], "safe"),
    ],
)
def test_hints_that_a_tool_writes_raise_its_risk(hints: Any, risk: str) -> None:
    found = effective_security({"risk_level": "safe"}, None, "x", hints, believed=True)
    assert found.risk_level == risk
