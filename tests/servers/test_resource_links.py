"""What results named: one server's as long as it is the only one, bounded, and each caller's own."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import ANONYMOUS, Caller
from gatewright.servers.resource_links import CALLERS, CHARS, EACH, LINK_CHARS, SHARE, Linked

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


def test_no_server_takes_over_what_another_one_named_however_much_it_names() -> None:
    """What there is no room for is shown in qualified form; what is remembered stays."""
    linked = Linked()
    assert linked.name(ANN, "", "doc://1", "a")
    shown = [linked.name(ANN, "", f"x://{number}", "b") for number in range(EACH)]
    assert shown.count(True) == EACH // SHARE
    assert not linked.name(ANN, "", "doc://1", "b")
    assert linked.name(ANN, "", "doc://1", "a"), "a name that is not claimed is no other's"
    assert linked.servers(ANN, "", "doc://1") == ("a",)
    assert linked.name(ANN, "", "doc://2", "a"), "one server leaves room to the others"
    assert not linked.name(ANN, "", "x://0", "a")
    assert linked.servers(ANN, "", "x://0") == ("b", "a")


def test_who_comes_when_all_places_are_taken_pushes_nobody_out() -> None:
    linked = Linked()
    for number in range(CALLERS):
        assert linked.name(Caller(str(number)), "", "x://1", "a")
    assert not linked.name(ANN, "", "x://1", "a")
    assert linked.servers(ANN, "", "x://1") == ()
    assert linked.servers(Caller("0"), "", "x://1") == ("a",)
    assert not linked.name(Caller("0"), "", "x://1", "b")
    assert len(linked._callers) == CALLERS


@given(
    st.lists(
        st.tuples(st.integers(0, 9999), st.integers(1, LINK_CHARS + 9), st.sampled_from("abcdef")),
        max_size=200,
    )
)
def test_memory_has_a_bound_whatever_is_named(names: list[tuple[int, int, str]]) -> None:
    linked = Linked()
    for number, length, server in names:
        uri = f"{number:04}".ljust(length, "x")
        if linked.name(ANN, "", uri, server):
            assert linked.servers(ANN, "", uri) == (server,)
        mine = next(iter(linked._callers.values()), None)
        if mine is not None:
            named = [(len(uri), one) for uri, claims in mine.servers.items() for one in claims]
            assert mine.all.chars == sum(chars for chars, _ in named) <= CHARS
            for one, room in mine.each.items():
                assert room.chars == sum(chars for chars, who in named if who == one)
                assert room.chars <= CHARS // SHARE


def test_so_many_servers_of_one_uri_are_told_apart() -> None:
    linked = Linked()
    for number in range(50):
        linked.name(ANN, "", "x://1", str(number))
    assert len(linked.servers(ANN, "", "x://1")) < 10
