"""Reads commands that take a script or text into effects: sed, awk, jq, yq, echo, printf, less; refuses scripts that run programs or write."""

from __future__ import annotations

from collections.abc import Callable

from gatewright.patterns import DOTALL, Pattern
from gatewright.validators.shell.call import Call
from gatewright.validators.shell.script_capabilities import awk_needs, jq_rule, sed_needs, yq_rule
from gatewright.validators.shell.sed_awk_scripts import awk_rule, sed_rule
from gatewright.validators.shell.words import Refused
from gatewright.validators.shell_pipelines import MARKS
from gatewright.validators.shell_syntax import Word

__all__ = ["awk", "echo", "jq", "less", "named_values", "printf", "sed", "yq"]


_SET = Pattern(r"[A-Za-z_]\w*=.*", DOTALL)


def sed(call: Call) -> list[Word]:
    """Its scripts only transform."""
    operands = list(call.given.operands)
    scripts = [one.value.text for one in call.given.options if one.name in {"-e", "--expression"} and one.value]  # fmt: skip
    filed = call.has("-f", "--file")
    if not scripts and not filed:
        scripts = [operands.pop(0).text] if operands else []
    for script in scripts:
        call.hold(Word(script))
        rule = sed_rule(script)
        if rule is not None:
            raise Refused(rule, "sed")
        if sed_needs(script):
            call.add("endless", None, "", "script")
    return operands


def awk(call: Call) -> list[Word]:
    """Its programs only compute and print."""
    operands = list(call.given.operands)
    scripts = [one.value.text for one in call.given.options if one.name in {"-e", "--source"} and one.value]  # fmt: skip
    if not scripts and not call.has("-f", "--file"):
        scripts = [operands.pop(0).text] if operands else []
    for script in scripts:
        call.hold(Word(script))
        rule = awk_rule(script)
        if rule is not None or "ARGV" in script or "ARGC" in script:
            raise Refused(rule or "script", "awk")
        for need in awk_needs(script):
            call.add(need, None, "", "script")
    return [one for one in operands if not _SET.fits(one.text)]


def jq(call: Call) -> list[Word]:
    """Its filter reads what it is given, and nothing else."""
    return _filtered(call, jq_rule)


def yq(call: Call) -> list[Word]:
    """The same of YAML."""
    operands = list(call.given.operands)
    if operands and operands[0].text in {"e", "eval", "ea", "eval-all"}:
        del operands[0]
    call.given = call.given._replace(operands=operands)
    # Alone it may be a file.
    if len(operands) == 1 and not call.at.fed and not call.has("-n", "--null-input"):
        call.add_paths("reads", operands[0], "operand")
    return _filtered(call, yq_rule)


def _filtered(call: Call, judged: Callable[[str], tuple[str, ...]]) -> list[Word]:
    operands = list(call.given.operands)
    if not call.has("-f", "--from-file") and operands:
        call.hold(operands[0])
        for need in judged(operands.pop(0).text):
            if need == "script":
                raise Refused("script", call.name)
            call.add(need, None, "", "script")
    if call.has("--args", "--jsonargs"):
        return []
    return operands


def echo(call: Call) -> bool:
    """What it prints is text."""
    if call.words[:1] and call.words[0].text == "-v":
        raise Refused("option", f"{call.name} -v")
    return True


def printf(call: Call) -> list[Word]:
    """A text with others put in. Its first word could be the option that sets a variable to the others."""
    first, texts = call.words[:1], [one.text for one in call.given.operands]
    if any(map(_COUNTS.within, texts[:1])) or any(map(_EVALUATED.within, texts[1:])):
        raise Refused("operand", call.name)
    if first and (first[0].bare or len(call.words) > 1) and MARKS.fits(first[0].text):
        call.hold(*first)
    return call.given.operands


def less(call: Call) -> list[Word]:
    """A command behind `+` only goes to a place."""
    left = [one for one in call.given.operands if not one.text.startswith("+")]
    for one in call.given.operands:
        if one.text.startswith("+"):
            if not _PLUS.fits(one.text):
                raise Refused("operand", f"{call.name} {one.text}")
            if "F" in one.text:
                call.add("endless", None, "", one.text)
    return left


_COUNTS = Pattern(r"%[^%a-zA-Z\\]*n")
"""What sets a variable to how much was printed."""
_EVALUATED = Pattern(r"\[.*(?:\$\(|`)")
"""What some shells run where a number is printed: the subscript of a name."""
_PLUS = Pattern(r"\+\+?(?:\d+|G|F|/[\w ]*)?")


_NAMED = {"--arg": "text", "--argjson": "text", "--slurpfile": "reads", "--rawfile": "reads", "--argfile": "reads"}  # fmt: skip


def named_values(call: Call) -> list[Word]:
    """The words of `jq` without options that have a name and a value."""
    left, at, words = list[Word](), 0, call.words
    while at < len(words):
        kind = _NAMED.get(words[at].text)
        if kind is None:
            left.append(words[at])
            at += 1
            continue
        if at + 2 >= len(words):
            raise Refused("option", f"{call.name} {words[at].text}")
        if kind == "reads":
            call.add_paths("reads", words[at + 2], words[at].text)
        at += 3
    return left
