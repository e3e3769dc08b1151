"""What a line has done before an effect decides of it: a file that it has made is not run, one that it has typed is tested only."""

from gatewright.validators.shell.effects import Effect
from gatewright.validators.shell.line_state import Said
from gatewright.validators.shell.places import HERE, resolve
from gatewright.validators.shell.policy import rule_of

PATH = resolve(HERE, "tests/test_a.py")
SAID = Said(frozenset(), writes=True)


def _run(of: str, said: Said) -> str | None:
    return rule_of(Effect("run", PATH, "tests/test_a.py", "operand", of), said)


def test_what_a_line_has_made_is_not_run_by_it() -> None:
    made = SAID._replace(made=frozenset({PATH.parts}))
    assert _run("python", SAID) is None
    assert _run("python", made) == _run("pytest", made) == "program_name"


def test_what_a_line_has_typed_is_tested_only() -> None:
    typed = SAID._replace(typed=frozenset({PATH.parts}))
    assert _run("pytest", typed) is None
    assert _run("python", typed) == "program_name"
