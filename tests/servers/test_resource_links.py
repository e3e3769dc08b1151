"""What results named: one server's as long as it is the only one, bounded, and each caller's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import ANONYMOUS, Caller
from gatewright.servers.resource_links import CALLERS, CHARS, EACH, LINK_CHARS, Linked

ANN, BOB = Caller("ann"), Caller("bob")


def test_a_uri_is_whose_result_named_it_until_another_one_names_it_too() -> None:
    linked = Linked()
    assert linked.servers(ANN, "", "x://1") == ()
    assert linked.name(ANN, "", "x://1", "a")
    assert linked.name(ANN, "", "x://1", "a")
    assert linked.servers(ANN, "", "x://1") == ("a",)
    assert not linked.name(ANN, "", "x://1", "b")
    assert not linked.name(ANN, "", "x://1", "a")
    assert linked.servers(ANN, "", "x://1") == ("a", "b")


def test_a_uri_in_another_spelling_is_no_other_uri() -> None:
    linked = Linked()
    assert linked.name(ANN, "", "http://Docs.test", "a")
    assert linked.servers(ANN, "", "http://docs.test/") == ("a",)
    assert not linked.name(ANN, "", "HTTP://docs.test:80/", "b")
    assert linked.servers(ANN, "", "http://Docs.test") == ("a", "b")


def test_what_one_caller_was_shown_is_nobody_elses() -> None:
    linked = Linked()
    linked.name(ANN, "", "x://1", "a")
    assert linked.servers(BOB, "", "x://1") == ()
    assert linked.servers(ANN, "other", "x://1") == ()
    assert linked.servers(Caller("ann", "operator"), "", "x://1") == ()
    assert linked.name(BOB, "", "x://1", "b")


def test_what_one_caller_without_a_name_was_shown_leads_no_other_anywhere() -> None:
    linked = Linked()
    assert not linked.name(ANONYMOUS, "", "x://1", "evil")
    assert linked.servers(ANONYMOUS, "", "x://1") == ()


def test_a_caller_pushes_out_only_its_own_and_what_was_used_last_stays() -> None:
    linked = Linked()
    linked.name(BOB, "", "x://kept", "a")
    linked.name(ANN, "", "x://first", "a")
    for number in range(EACH - 1):
        linked.name(ANN, "", f"x://{number}", "a")
    assert linked.servers(ANN, "", "x://first") == ("a",)
    linked.name(ANN, "", "x://more", "a")
    assert linked.servers(ANN, "", "x://first") == ("a",)
    assert linked.servers(ANN, "", "x://0") == ()
    assert linked.servers(BOB, "", "x://kept") == ("a",)


@given(st.lists(st.tuples(st.integers(0, 9999), st.integers(1, LINK_CHARS + 9)), max_size=200))
def test_memory_has_a_bound_whatever_is_named(names: list[tuple[int, int]]) -> None:
    linked = Linked()
    for number, length in names:
        uri = f"{number:04}".ljust(length, "x")
        named = linked.name(ANN, "", uri, "a")
        assert named == (len(uri) <= LINK_CHARS)
        mine = next(iter(linked._callers.values()), None)
        if mine is not None:
            assert mine.chars == sum(map(len, mine.servers)) <= CHARS


def test_so_many_callers_are_remembered_and_so_many_servers_of_one_uri() -> None:
    linked = Linked()
    for number in range(CALLERS + 5):
        linked.name(Caller(str(number)), "", "x://1", "a")
    assert len(linked._callers) == CALLERS
    for number in range(50):
        linked.name(ANN, "", "x://1", str(number))
    assert len(linked.servers(ANN, "", "x://1")) < 10
