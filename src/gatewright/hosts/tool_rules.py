"""Tool rules of a foreign `mgp.toml`: keeps keys that tighten policy, says why others are dropped; lowers limits to the gateway's own.

Every key of a rule, and every option of a built-in validator, stands in one of the tables here. What is kept leaves no tool
with less than it has where there is no rule; for everything else there is a reason, which is told.
Limits that replace ours are kept as well, and held against ours where those are known (`tightened`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gatewright.hosts.entry import Entry, plain_text
from gatewright.secret_scanning.credentials import mask
from gatewright.validators.code_lists import ALLOWED_IMPORTS
from gatewright.validators.shell_by_name import runs_commands

__all__ = ["KEYS", "OPTIONS", "strict_rule", "tightened"]

_MOST = 2**40
_SPANS = ("per_second", "per_minute", "per_hour", "per_day")
_MARKS = {"untrusted", "private", "outbound"}
_CODE_BYTES = 10_000
_ON_COMMANDS = ("sandbox", "readonly")
"""Validators that judge commands as strictly as the one that a tool has by its name."""
_UNUSABLE = "it cannot be used as it stands"
_TOLD = 10


class _Rule(NamedTuple):
    """A rule, with the name of its tool; `closed` where the file switches off all tools that it does not name."""

    name: str
    entry: Entry
    closed: bool

    @property
    def commands(self) -> bool:
        """Whether it is, or may be, of a tool that has the validator `sandbox` without any rule."""
        return self.name == "*" or runs_commands(self.name)


class _Found(NamedTuple):
    """What is kept of a key (None: nothing), and why something is not, where that is to be told."""

    kept: Any = None
    why: str = ""


def strict_rule(name: str, rule: Mapping[str, Any], *, closed: bool) -> tuple[dict[str, Any], str]:
    """The parts of a rule that forbid, or ask for more; and what was left out of it and why, in one line."""
    one = _Rule(name, Entry(rule), closed)
    found = {key: judge(one) for key, judge in KEYS.items() if one.entry.has(key)}
    if found.get("validator", _Found()).kept is None:
        # Those of a validator that is not taken over go with it.
        alone = {"validator_args", "validator_options"} & found.keys()
        found |= {key: _Found(why="its validator is not taken over") for key in alone}
    strange = [str(key) for key in rule if key not in KEYS][:_TOLD]
    left = [f"{key} ({judged.why})" for key, judged in found.items() if judged.why]
    left += [f"{mask(key)} (no rule has such a key)" for key in strange]
    kept = {key: judged.kept for key, judged in found.items() if judged.kept is not None}
    return kept, "; ".join(left)


def tightened(
    rule: Mapping[str, Any], rates: Mapping[str, int], result_bytes: int
) -> dict[str, Any]:
    """A rule under our own limits, which its limits would replace: of each the lower one."""
    found = dict(rule)
    if isinstance(calls := rule.get("calls"), dict):
        found["calls"] = {
            span: min(one[span] for one in (calls, rates) if span in one)
            for span in _SPANS
            if span in calls or span in rates
        }
    if "result_bytes" in rule:
        found["result_bytes"] = min(rule["result_bytes"], result_bytes)
    return found


# -- keys


def _only(key: str, wanted: Any, why: str) -> Callable[[_Rule], _Found]:
    """A key of which one value is stricter than any other, and than none."""

    def judge(rule: _Rule) -> _Found:
        said = rule.entry.raw(key)
        same = type(said) is type(wanted) and said == wanted
        return _Found(wanted) if same else _Found(why=why)

    return judge


def _enabled(rule: _Rule) -> _Found:
    said = rule.entry.flag("enabled")
    if said is None:
        return _Found(why=_UNUSABLE)
    # `enabled = true` says nothing that the absence of the rule does not say, unless all others are off.
    return _Found(said if not said or rule.closed else None)


def _risk(rule: _Rule) -> _Found:
    said = rule.entry.raw("risk_level")
    # What is declared counts beside it, and of what declares nothing the risk is `moderate`.
    if said in ("moderate", "dangerous"):
        return _Found(said)
    return _Found(why="its risk may be higher")


def _permissions(rule: _Rule) -> _Found:
    return _Found(list(rule.entry.words("permissions_required")) or None)


def _validator(rule: _Rule) -> _Found:
    said = rule.entry.word("validator")
    if said in ("", "none"):
        return _Found(why="a validator that it has by its name would be gone")
    if rule.commands and said not in _ON_COMMANDS:
        return _Found(why="it would take the place of sandbox, which tools that run commands have")
    return _Found(said)


def _pointers(rule: _Rule) -> _Found:
    if rule.commands:
        return _Found(why="commands in other arguments would not be judged")
    return _Found(list(rule.entry.words("validator_args")) or None)


def _options(rule: _Rule) -> _Found:
    said, validator = rule.entry.raw("validator_options"), rule.entry.word("validator")
    if not isinstance(said, dict):
        return _Found(why=_UNUSABLE)
    known = OPTIONS.get(validator)
    if known is None:
        return _Found(why="what the options of this plug-in do is not known") if said else _Found()
    kept: dict[str, Any] = {}
    left: list[str] = []
    for option, value in said.items():
        found = known[option](value) if option in known else None
        if found is not None:
            kept[option] = found
        if found is None or found != value:
            left.append(mask(str(option)))
    why = f"{', '.join(left[:_TOLD])}: it would let more pass" if left else ""
    return _Found(kept or None, why)


def _flow(rule: _Rule) -> _Found:
    said = rule.entry.words("flow")
    if set(said) == _MARKS:
        return _Found(list(said))
    return _Found(why="it replaces what its server declares, which may be more")


def _calls(rule: _Rule) -> _Found:
    said = rule.entry.raw("calls")
    if not isinstance(said, dict):
        return _Found(why=_UNUSABLE)
    kept = {span: said[span] for span in _SPANS if _counts(said.get(span))}
    return _Found(kept or None, _UNUSABLE if len(kept) < len(said) else "")


def _bytes(rule: _Rule) -> _Found:
    said = rule.entry.raw("result_bytes")
    return _Found(said) if _counts(said) else _Found(why=_UNUSABLE)


def _counts(value: Any) -> bool:
    return type(value) is int and 1 <= value <= _MOST


KEYS: Mapping[str, Callable[[_Rule], _Found]] = {
    "enabled": _enabled,
    "risk_level": _risk,
    "validator": _validator,
    "validator_args": _pointers,
    "validator_options": _options,
    "permissions_required": _permissions,
    "confirmation_required": _only("confirmation_required", True, "a person may have to confirm"),
    "repeatable": _only("repeatable", False, "a call could run twice"),
    "approver": _only("approver", "operator", "an operator may have to agree"),
    "redaction": _only("redaction", "personal", "more may be removed here"),
    "hidden": _only("hidden", "remove", "they may be removed here"),
    "injection": _only("injection", "hold", "less may pass here"),
    "flow": _flow,
    "calls": _calls,
    "result_bytes": _bytes,
    "categories": _only("categories", None, "they limit nothing; its author's hold"),
}
"""Every key of a tool's rule."""


# -- options of validators: what of a value makes a validator stricter than without it; None: nothing


def _one_of(*wanted: Any) -> Callable[[Any], Any]:
    return lambda value: next((one for one in wanted if one is value or one == value), None)


def _no(value: Any) -> Any:
    return False if value is False else None


def _empty(value: Any) -> Any:
    return [] if value == [] else None


def _texts(value: Any) -> Any:
    if not isinstance(value, list) or not value:
        return None
    return [plain_text(one, "validator_options") for one in value]


def _code_size(value: Any) -> Any:
    return value if _counts(value) and value <= _CODE_BYTES else None


def _imports(value: Any) -> Any:
    # The list takes the place of the usual one: those of both.
    good = isinstance(value, list) and all(isinstance(one, str) for one in value)
    return [one for one in value if one in ALLOWED_IMPORTS] if good else None


OPTIONS: Mapping[str, Mapping[str, Callable[[Any], Any]]] = {
    "sandbox": {
        "mode": _one_of("strict", "allow-list"),
        "allow": _empty,
        "pipes": _no,
        "programs": _empty,
        # As one value, a line is not looked at as a command.
        "value": _no,
    },
    "readonly": {"dialect": _one_of(""), "trust_name": _no},
    "network_restricted": {"hosts": _texts},
    # Below a root absolute paths pass, which do not without one.
    "paths": {"root": _one_of("")},
    "code_safety": {
        "level": _one_of("standard", "strict", "readonly"),
        "language": _one_of("python"),
        "max_code_size_bytes": _code_size,
        "blocked_imports": _texts,
        "blocked_patterns": _texts,
        "allowed_imports": _imports,
    },
}
"""Validator → every option that it has."""
