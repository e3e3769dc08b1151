"""Who may register what, under which id."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gatewright.call import Caller, UserContext
from gatewright.registration.rules import (
    Denied,
    Rules,
    barred,
    configured,
    isolation_flaw,
    needs_script,
    not_permitted,
)
from tests.registration.parts import AGENT, OPERATOR, calling, registered, settings, wanted

FILES = '[[servers]]\nid = "files"\ncommand = "x"\ntool_prefix = "fs"\n'


def reason(rules: Rules, caller: Caller = AGENT, session: str | None = "s1", **more: Any) -> str:
    with pytest.raises(Denied) as caught:
        rules.registered(wanted(**more), calling(caller, session), 1.0)
    return caught.value.outcome.reason


def test_operators_may_and_agents_with_the_permission() -> None:
    assert not_permitted(OPERATOR) is None
    said = UserContext(permissions=("kernel.registry.write",))
    assert not_permitted(Caller("bob", user=(said,))) is None
    refusal = not_permitted(AGENT)
    assert refusal is not None
    assert "--permission kernel.registry.write" in refusal.message
    assert not_permitted(Caller("me", "owner")) is not None


def test_of_an_agent_it_is_sandboxed_ends_with_the_session_and_says_who(tmp_path: Path) -> None:
    one = Rules(settings(tmp_path), {}, {}).registered(
        wanted(created_by="somebody"), calling(), 5.0
    )
    assert (one.trust_level, one.lifetime, one.session) == ("sandboxed", "session", "s1")
    assert (one.who, one.created_by, one.at) == (("agent", "ann"), "ann", 5.0)
    assert needs_script(one, ())


def test_of_an_operator_it_is_what_the_operator_says(tmp_path: Path) -> None:
    rules = Rules(settings(tmp_path), {}, {})
    call = calling(OPERATOR, None)
    one = rules.registered(wanted(id="tools", command="node", created_by="ann"), call, 1.0)
    assert (one.trust_level, one.lifetime, one.session) == ("standard", "persistent", None)
    assert (one.who, one.created_by) == (("operator", "root"), "ann")
    assert not needs_script(one, ())
    asked = wanted(id="tools", mgp={"trust_level": "sandboxed"})
    assert needs_script(rules.registered(asked, call, 1.0), ())


@pytest.mark.parametrize(
    ("id", "expected"),
    [
        ("files", "registration_conflict"),
        ("Files", "registration_conflict"),
        ("fi1es", "registration_conflict"),
        ("fs", "registration_conflict"),
        ("files.more", "registration_conflict"),
        ("fs__more", "registration_conflict"),
        ("taken", "registration_conflict"),
        ("mgp", "registration_conflict"),
    ],
)
def test_no_name_is_anybody_elses_nor_reads_like_it(tmp_path: Path, id: str, expected: str) -> None:
    rules = Rules(settings(tmp_path, FILES), {"taken": registered(id="taken")}, {})
    assert reason(rules, OPERATOR, id=id) == expected


def test_look_alikes_of_registered_ones_are_found_as_the_configuration_in_force_has_them(
    tmp_path: Path,
) -> None:
    said = settings(tmp_path, '[[servers]]\nid = "dynamic.abc"\ncommand = "x"\n')
    rules = Rules(said, {}, {})
    assert reason(rules, id="dynamic.ABC") == "registration_conflict"
    assert reason(rules, id="dynamic.abc.d") == "registration_conflict"
    assert reason(rules, id="dynamic.ABC.d") == "registration_conflict"
    # Its tool `x` would be called as the other one's `_x`.
    assert reason(rules, id="dynamic.abc_") == "registration_conflict"
    assert reason(rules, id="dynamic_abc") == "invalid_params"


def test_an_id_stays_whose_it_was(tmp_path: Path) -> None:
    named = {"dynamic.x": ("agent", "bob"), "dynamic.y": ("agent", "ann")}
    rules = Rules(settings(tmp_path), {}, named)
    assert reason(rules) == "registration_conflict"
    rules.registered(wanted(id="dynamic.y"), calling(), 1.0)
    rules.registered(wanted(), calling(OPERATOR), 1.0)


def test_ids_of_agents_are_in_their_namespace(tmp_path: Path) -> None:
    rules = Rules(settings(tmp_path, '[registration]\nnamespace = "made-"\n'), {}, {})
    assert reason(rules) == "invalid_params"
    assert reason(rules, id="made-") == "invalid_params"
    assert rules.registered(wanted(id="made-x"), calling(), 1.0).id == "made-x"


def test_beside_a_server_without_prefix_there_is_no_room(tmp_path: Path) -> None:
    rules = Rules(settings(tmp_path, "[gateway]\nunprefixed = true\n"), {}, {})
    assert reason(rules) == "registration_conflict"


def test_bounds_count_those_of_the_caller_and_all(tmp_path: Path) -> None:
    said = settings(tmp_path, "[registration]\nper_caller = 1\ntotal = 2\n")
    mine, theirs = registered(id="dynamic.a"), registered(id="dynamic.b", by="bob")
    assert reason(Rules(said, {"dynamic.a": mine}, {})) == "resource_exhausted"
    both = {"dynamic.a": mine, "dynamic.b": theirs}
    assert reason(Rules(said, both, {}), Caller("eve")) == "resource_exhausted"
    Rules(said, {"dynamic.b": theirs}, {}).registered(wanted(), calling(), 1.0)


@pytest.mark.parametrize(
    ("text", "more", "expected"),
    [
        ("", {"mgp": {"trust_level": "standard"}}, "permission_denied"),
        ("", {"mgp": {"trust_level": "trusted"}}, "permission_denied"),
        ('trust_level = "standard"', {"mgp": {"trust_level": "trusted"}}, "permission_denied"),
        ("", {"lifetime": "persistent"}, "permission_denied"),
        ("", {"command": "node"}, "permission_denied"),
        ("", {"command": "/usr/bin/python"}, "permission_denied"),
        ("folders = []", {}, "permission_denied"),
    ],
)
def test_what_is_the_operators_to_say_no_agent_says(
    tmp_path: Path, text: str, more: dict[str, Any], expected: str
) -> None:
    rules = Rules(settings(tmp_path, f"[registration]\n{text}\n"), {}, {})
    assert reason(rules, **more) == expected


def test_what_the_operator_lists_an_agent_may_have(tmp_path: Path) -> None:
    text = (
        '[registration]\ncommands = ["node"]\ntrust_level = "standard"\nlifetime = "persistent"\n'
    )
    rules = Rules(settings(tmp_path, text), {}, {})
    asked = wanted(command="node", lifetime="session", mgp={"trust_level": "standard"})
    one = rules.registered(asked, calling(), 1.0)
    assert (one.trust_level, one.lifetime) == ("standard", "session")
    assert not needs_script(one, ("node",))


def test_without_a_session_nothing_ends_with_it(tmp_path: Path) -> None:
    rules = Rules(settings(tmp_path), {}, {})
    assert reason(rules, session=None) == "invalid_params"


def test_what_is_sandboxed_is_isolated_or_not_started(tmp_path: Path) -> None:
    one = registered()
    rules = Rules(settings(tmp_path), {}, {}, lambda: "no bubblewrap")
    with pytest.raises(Denied) as caught:
        rules.check_isolation(one)
    assert caught.value.outcome.details["rule"] == "isolation_unavailable"
    rules.check_isolation(registered(trust_level="standard"))
    assert isinstance(isolation_flaw(), str)


def test_a_configuration_can_take_back_what_it_let_be_registered(tmp_path: Path) -> None:
    said = settings(tmp_path, '[registration]\ncommands = ["node"]\n')
    assert "no bubblewrap" in barred(registered(), said, lambda: "no bubblewrap")
    assert barred(registered(), said, str) == ""
    assert barred(registered(code=None, command="node"), said, str) == ""
    assert barred(registered(code=None, command="deno"), said, str)
    assert barred(registered(trust_level="standard"), said, str)
    assert barred(registered(trust_level="trusted", kind="operator"), said, str) == ""


def test_scripts_of_agents_end_with_the_folders_that_they_came_from(tmp_path: Path) -> None:
    emptied = settings(tmp_path, "[registration]\nfolders = []\n")
    assert "folders names none" in barred(registered(), emptied, str)
    assert barred(registered(kind="operator"), emptied, str) == ""


@pytest.mark.parametrize("by", ["agent", "operator"])
@pytest.mark.parametrize(
    "table", ['id = "Dynamic.Calc"', 'id = "dynamic"', 'id = "other"\ntool_prefix = "dynamic.ca1c"']
)
def test_what_could_be_taken_for_a_server_that_is_configured_by_now_does_not_run(
    tmp_path: Path, by: Any, table: str
) -> None:
    said = settings(tmp_path, f'[[servers]]\n{table}\ncommand = "x"\n')
    one = registered(id="dynamic.calc", kind=by)
    assert "dynamic.calc" in barred(one, said, str)
    assert barred(one, settings(tmp_path, FILES), str) == ""


def test_what_is_configured_is_told_from_what_was_registered(tmp_path: Path) -> None:
    said = settings(tmp_path, FILES)
    assert configured(said, "files")
    assert not configured(said, "dynamic.x")


SECRET = '[[servers]]\nid = "dynamic.pay"\ncommand = "x"\n'


@pytest.mark.parametrize("id", ["dynamic.pay", "dynamic.PAY", "dynamic.pay.x", "dynamic.there"])
def test_who_may_not_see_a_server_is_not_told_that_there_is_one(tmp_path: Path, id: str) -> None:
    there = {"dynamic.there": registered(id="dynamic.there")}

    def said(caller: Caller, *known: str) -> str:
        rules = Rules(
            settings(tmp_path, SECRET), there, {}, knows=lambda _, server: server in known
        )
        with pytest.raises(Denied) as caught:
            rules.registered(wanted(id=id), calling(caller), 1.0)
        return str(caught.value)

    assert said(AGENT) == "this id is taken: choose another id"
    assert "pay" in said(AGENT, "dynamic.pay") or "there" in said(AGENT, "dynamic.there")
    assert said(OPERATOR) == said(AGENT, "dynamic.pay", "dynamic.there")
    assert "taken" not in said(OPERATOR)


@pytest.mark.parametrize("id", ["files", "fi1es", "fs", "nobodys"])
def test_an_id_outside_of_its_namespace_tells_an_agent_nothing(tmp_path: Path, id: str) -> None:
    rules = Rules(settings(tmp_path, FILES), {"taken": registered(id="taken")}, {})
    with pytest.raises(Denied) as caught:
        rules.registered(wanted(id=id), calling(), 1.0)
    assert str(caught.value) == "the ids of servers that agents register begin with 'dynamic.'"


def test_that_somebody_else_had_an_id_sounds_like_one_that_is_hidden(tmp_path: Path) -> None:
    rules = Rules(settings(tmp_path), {}, {"dynamic.x": ("agent", "bob")})
    with pytest.raises(Denied, match=r"^this id is taken: choose another id$"):
        rules.registered(wanted(id="dynamic.x"), calling(), 1.0)
