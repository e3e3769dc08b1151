"""docs/messages.md, the table of forms and ids: drawn from what is expected at every door (`test_messages`, `test_messages_servers`)."""

from __future__ import annotations

from collections.abc import Callable

from gatewright.mcp.wire.versions import LATEST_MODERN, LEGACY
from tests.behaviour.gateway import ROOT
from tests.behaviour.messages import FORMS, IDS, PAGE, Case
from tests.behaviour.test_messages import becomes, passes
from tests.behaviour.test_messages_servers import ANSWERED, TO_US, asked_of, told

EVERY = (*LEGACY, LATEST_MODERN)
OF_CLIENTS = {
    "own": "{answered} methods, answered",
    "foreign": "{answered} methods, answered as if it never was",
    "forged": "{answered} methods, answered as if it never was",
}
"""Of requests, by the id that they name; `test_messages.of_others` holds the answers of the last two against each other."""


def _methods(holds: Callable[[Case], bool], form: str, ident: str) -> list[str]:
    return [one.method for one in PAGE if holds(Case(one, form, ident))]


def _within(holds: Callable[[Case, str], bool]) -> Callable[[Case], bool]:
    return lambda case: any(holds(case, one) for one in EVERY)


def _heard(case: Case) -> bool:
    return any(told(case, server, client) for server in EVERY for client in EVERY)


def _asked(case: Case, revision: str) -> bool:
    passed = asked_of(case.row, revision) == "answered"
    return passed and case.row.method in ANSWERED - {"ping"}


def _spelled(methods: list[str]) -> str:
    return ", ".join(f"`{one}`" for one in methods) or "nothing"


def _of_client(form: str, ident: str) -> str:
    if form == "request":
        answered = _methods(
            _within(lambda case, one: becomes(case, one) == "answered"), form, ident
        )
        return OF_CLIENTS[ident].format(answered=len(answered))
    if form == "response":
        return "the answer to what it was asked, once" if ident == "own" else "nothing"
    return _spelled(_methods(_within(passes), form, ident))


def _of_server(form: str, ident: str) -> str:
    if form == "request":
        return _spelled(_methods(_within(_asked), form, ident))
    if form == "response":
        return "the answer to a call, once" if ident == "own" else "nothing"
    return _spelled(_methods(_heard, form, ident))


def row(form: str, ident: str) -> str:
    """One line of the table."""
    return f"| {form} | {ident} | {_of_client(form, ident)} | {_of_server(form, ident)} |"


def test_every_form_with_every_id_has_its_row() -> None:
    _, _, rest = (ROOT / "docs" / "messages.md").read_text().partition("## Forms and ids")
    table = rest.partition("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("| ")]
    assert rows[2:] == [row(form, ident) for form in FORMS for ident in reversed(IDS)]


def test_what_servers_ask_the_gateway_itself_stands_in_the_table_of_messages() -> None:
    """The rest of what is answered to them, which reaches no caller."""
    ours = [one.method for one in PAGE if one.server == "passes" and not one.notification]
    assert set(ours) == ANSWERED | {one for one in ours if one.startswith(TO_US)}
