"""`policy explain`: what would be, as it then is, with nothing used up, for operators alone."""

from collections.abc import Iterator

import pytest

from tests.cli.gateways import DEMO, serving
from tests.cli.shell import Shell

CONFIG = f"""\
[gateway]
anonymous = "allow"
[limits]
calls_per_minute = 1000
[approvals]
hold_s = 0.5
{DEMO}[servers.tools.delete_all_notes]
risk_level = "dangerous"
[servers.tools.echo]
validator = "sandbox"
[[grants]]
agent = "ann"
server = "demo"
[[grants]]
agent = "ann"
server = "demo"
tool = "now"
permission = "deny"
"""


@pytest.fixture(scope="module")
def beside(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Shell, str, str]]:
    """A shell beside a gateway, an operator's key and an agent's."""
    shell = Shell(tmp_path_factory.mktemp("explain"))
    shell.write("mgp.toml", CONFIG)
    operator = shell.run("key", "create", "root", "--operator").out.strip()
    agent = shell.run("key", "create", "ann", "--key", operator).out.strip()
    with serving(shell):
        yield shell, operator, agent


@pytest.mark.parametrize(
    ("words", "verdict", "by", "reason"),
    [
        (("ann", "demo__add", "a=1", "b=2"), "pass", None, None),
        (("ann", "demo/add", "a=1", "b=2"), "pass", None, None),
        (("ann", "demo__add", "a=1"), "refuse", "schema", "invalid_args"),
        (("ann", "demo__now"), "refuse", "access", "access_denied"),
        (("bob", "demo__add", "a=1", "b=2"), "refuse", "access", "access_denied"),
        (("ann", "demo__nothing"), "refuse", "resolve", "access_denied"),
        (("local", "demo__nothing"), "refuse", "resolve", "tool_not_found"),
        (("ann", "demo__delete_all_notes"), "ask", "confirm", "confirmation_required"),
        (("ann", "demo__echo", "text=a;b"), "refuse", "validators", "validation_blocked"),
        (("local", "demo__add", "a=1", "b=2"), "pass", None, None),
        (("anonymous", "demo__add", "a=1", "b=2"), "refuse", "access", "access_denied"),
    ],
)
def test_the_verdict_is_that_of_the_gate_that_decides(
    beside: tuple[Shell, str, str],
    words: tuple[str, ...],
    verdict: str,
    by: str | None,
    reason: str | None,
) -> None:
    shell, operator, agent = beside
    found = shell.run("policy", "explain", *words, "--json", "--key", operator).document
    assert (found["verdict"], found["decided_by"]) == (verdict, by)
    said = {one["gate"]: one["reason"] for one in found["gates"]}
    assert by is None or said[by] == reason
    if words[0] == "ann":  # the same as what then happens
        called = shell.run("tool", "call", *words[1:], "--key", agent)
        assert (called.code == 0) is (verdict == "pass")
        # Whoever can be asked is asked; what nobody has decided is told to come back.
        happens = "permission_deferred" if verdict == "ask" else reason
        assert called.code == 0 or called.error["code"] == happens


def test_gates_are_rows_and_the_sum_of_them_a_sentence(beside: tuple[Shell, str, str]) -> None:
    shell, operator, _ = beside
    done = shell.run("policy", "explain", "ann", "demo__now", "--key", operator)
    assert done.code == 0
    assert [row[0] for row in done.rows][:6] == [
        "authenticate",
        "session",
        "draining",
        "rate",
        "resolve",
        "access",
    ]
    assert done.rows[5][1:3] == ["refuse", "access_denied"]
    assert "ann (agent) may not call demo__now like this: access refuses" in done.err
    passed = shell.run("policy", "explain", "ann", "demo__echo", "text=x", "--key", operator)
    facts = {row[0]: row[3] for row in passed.rows}
    assert facts["access"] == "access: server_grant"
    assert facts["validators"] == "validator_applied: sandbox"


def test_nothing_is_recorded_as_called_or_counted(beside: tuple[Shell, str, str]) -> None:
    shell, operator, _ = beside

    def calls() -> int:
        return len(shell.run("audit", "query", "--tool", "echo", "--limit", "1000").rows)

    before = calls()
    for _ in range(3):
        shell.run("policy", "explain", "ann", "demo__echo", "text=x", "--key", operator)
    assert calls() == before


def test_an_agent_with_a_shell_cannot_try_out_what_passes(
    beside: tuple[Shell, str, str],
) -> None:
    shell, _, agent = beside
    for more in ((), ("--key", agent), ("--key", "gw_invented")):
        done = shell.run("policy", "explain", "ann", "demo__add", *more)
        assert (done.code, done.out) == (6, "")
        assert done.error["code"] == "permission_denied"
    done = shell.run_at_terminal("policy", "explain", "ann", "demo__now")
    assert (done.code, "access_denied" in done.out) == (0, True)
