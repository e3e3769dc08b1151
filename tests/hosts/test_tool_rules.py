"""Every key of a tool's rule by somebody else: what tightens is kept, and of the rest it is said why not."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import msgspec
import pytest

from gatewright.config import ToolRule
from gatewright.config.limits import Rates
from gatewright.hosts.entry import Entry
from gatewright.hosts.model import Reading, Refused, Server, Source
from gatewright.hosts.native import read_native
from gatewright.hosts.plan import Known, make_plan
from gatewright.hosts.tool_rules import KEYS, OPTIONS, strict_rule, tightened
from gatewright.validators import BUILT_IN
from gatewright.validators.code_lists import ALLOWED_IMPORTS

CASES: dict[str, tuple[list[Any], list[Any]]] = {
    # key: values that are kept as they are, values that are not
    "enabled": ([False], ["yes", 1]),
    "risk_level": (["moderate", "dangerous"], ["safe", "harmless", 5]),
    "validator": (["readonly", "sandbox", "code_safety", "of.a.plug-in"], ["none", ""]),
    "validator_args": ([], [["/command"]]),  # without a validator; with one see below
    "validator_options": ([], [{"level": "strict"}, "strict"]),
    "permissions_required": ([["shell.execute"]], []),
    "confirmation_required": ([True], [False, 1, "true"]),
    "repeatable": ([False], [True, 0]),
    "approver": (["operator"], ["caller", "either", "nobody"]),
    "redaction": (["personal"], ["secrets", "off", "no"]),
    "hidden": (["remove"], ["keep"]),
    "injection": (["hold"], ["mark", "off", "no"]),
    "flow": (
        [["untrusted", "private", "outbound"], ["outbound", "untrusted", "private"]],
        [["outbound"], ["private", "untrusted"]],
    ),
    "calls": ([{"per_minute": 1}, {"per_second": 2, "per_day": 9}], [{"per_minute": 0}, {}, 1]),
    "result_bytes": ([1, 4096], [0, -1, 1.5, "1", True]),
    "categories": ([], [["safe"]]),
}
OF_OPTIONS: dict[str, dict[str, tuple[list[Any], list[Any]]]] = {
    "sandbox": {
        "mode": (["strict", "allow-list"], ["deny-list"]),
        "allow": ([[]], [["develop"], ["inspect"], ["network"]]),
        "pipes": ([False], [True, 0]),
        "programs": ([[]], [["rm"]]),
        "value": ([False], [True]),
    },
    "readonly": {"dialect": ([""], ["sqlite"]), "trust_name": ([False], [True])},
    "network_restricted": {"hosts": ([["a.example"]], [[], "a.example"])},
    "paths": {"root": ([""], ["/"])},
    "code_safety": {
        "level": (["standard", "strict", "readonly"], ["unrestricted", "x"]),
        "language": (["python"], ["ruby"]),
        "max_code_size_bytes": ([1, 10_000], [10_001, None, True]),
        "blocked_imports": ([["json"]], [[], "json"]),
        "blocked_patterns": ([["open("]], [[]]),
        "allowed_imports": ([[], ["json"]], ["json", [5]]),
    },
}


def test_every_key_of_a_rule_is_in_the_tables() -> None:
    assert KEYS.keys() == CASES.keys() == set(ToolRule.__struct_fields__)
    assert set(Rates.__struct_fields__) == {"per_second", "per_minute", "per_hour", "per_day"}


def test_every_option_of_a_validator_is_in_the_tables() -> None:
    has = {
        name: set(import_module(module).Options.__struct_fields__)
        for name, module in BUILT_IN.items()
    }
    assert {name: set(one) for name, one in OPTIONS.items()} == has
    assert {name: set(one) for name, one in OF_OPTIONS.items()} == has


@pytest.mark.parametrize("key", CASES)
def test_what_tightens_is_kept_and_the_rest_is_told_by_its_key(key: str) -> None:
    for value in CASES[key][0]:
        assert strict_rule("a", {key: value}, closed=False) == ({key: value}, "")
    for value in CASES[key][1]:
        kept, left = strict_rule("a", {key: value}, closed=False)
        assert kept == {}, value
        assert left.startswith(f"{key} (") or (value == {} and not left), value


@pytest.mark.parametrize(
    ("validator", "option"), [(name, one) for name, some in OF_OPTIONS.items() for one in some]
)
def test_options_of_a_validator_are_kept_where_they_tighten(validator: str, option: str) -> None:
    for value in OF_OPTIONS[validator][option][0]:
        rule = {"validator": validator, "validator_options": {option: value}}
        assert strict_rule("a", rule, closed=False) == (rule, "")
    for value in OF_OPTIONS[validator][option][1]:
        rule = {"validator": validator, "validator_options": {option: value}}
        kept, left = strict_rule("a", rule, closed=False)
        assert kept == {"validator": validator}, value
        assert left.startswith(f"validator_options ({option}: "), value


def test_a_strict_rule_is_taken_over_whole() -> None:
    rule = {
        "validator": "code_safety",
        "validator_args": ["/code"],
        "validator_options": {"level": "strict", "blocked_imports": ["json"]},
        "redaction": "personal",
        "calls": {"per_minute": 1},
    }
    entry = Entry({"command": "x", "tools": {"a": rule}})
    server, _ = read_native(entry)
    assert server.native == {"tools": {"a": rule}}
    assert entry.notes == []
    assert msgspec.convert(server.native["tools"]["a"], ToolRule).calls == Rates(per_minute=1)


def test_what_is_left_out_is_told_with_every_key_and_keeps_nothing_else_out() -> None:
    rule = {"redaction": "off", "hidden": "remove", "frob": 1, "validator": "none"}
    entry = Entry({"command": "x", "tools": {"a": rule}})
    server, _ = read_native(entry)
    assert server.native == {"tools": {"a": {"hidden": "remove"}}}
    (note,) = entry.notes
    assert note.key == "tools.a"
    assert [one in note.what for one in ("redaction (", "frob (", "validator (")] == [True] * 3
    assert "hidden" not in note.what


@pytest.mark.parametrize("name", ["run_command", "*"])
def test_no_rule_takes_away_the_validator_that_a_tool_has_by_its_name(name: str) -> None:
    rule = {"validator": "paths", "validator_args": ["/a"]}
    assert strict_rule(name, rule, closed=False)[0] == {}
    assert strict_rule("other", rule, closed=False)[0] == rule
    rule["validator"] = "sandbox"
    assert strict_rule(name, rule, closed=False)[0] == {"validator": "sandbox"}


def test_imports_that_the_level_does_not_allow_are_not_allowed() -> None:
    options = {"level": "strict", "allowed_imports": ["json", "pickle"]}
    rule = {"validator": "code_safety", "validator_options": options}
    kept, left = strict_rule("a", rule, closed=False)
    assert ("json" in ALLOWED_IMPORTS, "pickle" in ALLOWED_IMPORTS) == (True, False)
    assert kept["validator_options"] == {"level": "strict", "allowed_imports": ["json"]}
    assert "allowed_imports" in left


def test_the_tools_that_a_file_leaves_on_stay_the_only_ones() -> None:
    tools = {"*": {"enabled": False}, "a": {"enabled": True}}
    server, _ = read_native(Entry({"command": "x", "tools": tools}))
    (planned,) = make_plan([reading(server)], Known()).servers
    assert planned.table["tools"] == tools
    server, _ = read_native(Entry({"command": "x", "tools": {"a": {"enabled": True}}}))
    assert server.native == {}


@pytest.mark.parametrize("value", [{"x": 1}, [["x"]]])
def test_what_is_no_text_where_one_belongs_keeps_the_server_out(value: Any) -> None:
    options = {"hosts": [value]}
    rule = {"validator": "network_restricted", "validator_options": options}
    with pytest.raises(Refused):
        read_native(Entry({"command": "x", "tools": {"a": rule}}))


def reading(server: Server) -> Reading:
    named = msgspec.structs.replace(server, id="s", source=Source(file="f"))
    return Reading(servers=(named,))


def test_limits_of_a_rule_are_none_above_ours() -> None:
    rule = {"calls": {"per_minute": 100, "per_day": 5}, "result_bytes": 10**9}
    server, _ = read_native(Entry({"command": "x", "tools": {"a": rule}}))
    known = Known(tool_rates={"per_second": 1, "per_minute": 50}, result_bytes=1000)
    (planned,) = make_plan([reading(server)], known).servers
    assert planned.table["tools"]["a"] == {
        "calls": {"per_second": 1, "per_minute": 50, "per_day": 5},
        "result_bytes": 1000,
    }
    assert tightened({"enabled": False}, {"per_second": 1}, 1) == {"enabled": False}
