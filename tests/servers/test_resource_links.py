"""What results named: one server's as long as it is the only one, bounded, and each caller's own."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.call import ANONYMOUS, Caller
from gatewright.servers import resource_links as module
from gatewright.servers.resource_links import EACH, LINK_CHARS, Linked

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


def test_a_server_that_names_without_end_stays_plain_and_displaces_its_own_alone() -> None:
    """Bounded, and yet what somebody was shown last is always readable; what another one named stays that one's."""
    linked = Linked()
    assert linked.name(ANN, "", "doc://1", "a")
    assert all(linked.name(ANN, "", f"x://{number}", "b") for number in range(3 * EACH))
    assert linked.servers(ANN, "", f"x://{3 * EACH - 1}") == ("b",)
    assert linked.servers(ANN, "", f"x://{2 * EACH + 9}") == ("b",)
    assert linked.servers(ANN, "", "x://0") == ()
    assert linked.servers(ANN, "", "doc://1") == ("a",)
    assert not linked.name(ANN, "", "doc://1", "b")
    assert not linked.name(ANN, "", f"x://{3 * EACH - 1}", "a")


def test_a_server_that_comes_late_has_its_share() -> None:
    linked = Linked()
    for number in range(EACH):
        linked.name(ANN, "", f"x://{number}", "b")
    assert all(linked.name(ANN, "", f"doc://{number}", "a") for number in range(EACH))
    mine = next(iter(linked._callers.values()))
    assert {one: len(named) for one, named in mine.each.items()} == {"a": EACH // 2, "b": EACH // 2}


def test_what_is_named_again_is_not_the_oldest() -> None:
    linked = Linked()
    for number in range(2 * EACH):
        linked.name(ANN, "", f"x://{number}", "b")
        assert linked.name(ANN, "", "x://kept", "b")
    assert linked.servers(ANN, "", "x://kept") == ("b",)


def test_what_two_named_stays_nobodys_until_both_have_forgotten_it() -> None:
    """Else whoever names it last would have what the other one's result showed."""
    linked = Linked()
    linked.name(ANN, "", "doc://1", "a")
    linked.name(ANN, "", "doc://1", "b")
    for number in range(EACH):
        linked.name(ANN, "", f"x://{number}", "a")
    assert linked.servers(ANN, "", "doc://1") == ("a", "b")
    assert not linked.name(ANN, "", "doc://1", "b")
    assert not linked.name(ANN, "", "doc://1", "a")


def test_another_caller_is_remembered_and_who_was_silent_longest_is_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "CALLERS", 50)
    monkeypatch.setattr(module, "TOTAL", 80)
    monkeypatch.setattr(module, "EACH", 70)
    linked = Linked()
    for number in range(50):
        assert linked.name(Caller(str(number)), "", "x://1", "a")
    assert linked.servers(Caller("0"), "", "x://1") == ("a",)
    assert linked.name(ANN, "", "x://1", "a")
    assert linked.servers(ANN, "", "x://1") == linked.servers(Caller("0"), "", "x://1") == ("a",)
    assert linked.servers(Caller("1"), "", "x://1") == ()
    for number in range(200):
        assert linked.name(ANN, "", f"x://{number}", "a")
        assert linked._size == sum(mine.size for mine in linked._callers.values()) <= 80
    assert [key[1] for key in linked._callers][-1] == "ann"
    assert len(linked._callers) == 11


@given(
    st.lists(st.tuples(st.integers(0, 12), st.sampled_from("abcd")), max_size=120),
    st.integers(1, 9),
)
def test_memory_has_a_bound_whatever_is_named(names: list[tuple[int, str]], most: int) -> None:
    linked = Linked()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EACH", most)
        for number, server in names:
            uri = f"x://{number}"
            plain = linked.name(ANN, "", uri, server)
            mine = next(iter(linked._callers.values()))
            assert plain == (linked.servers(ANN, "", uri) == (server,))
            assert server in linked.servers(ANN, "", uri)
            assert mine.size == sum(map(len, mine.each.values())) == linked._size <= most
            assert set(mine.servers) == {one for named in mine.each.values() for one in named}
    assert not linked.name(ANN, "", "x" * (LINK_CHARS + 1), "a")


def test_so_many_servers_of_one_uri_are_told_apart() -> None:
    linked = Linked()
    for number in range(50):
        linked.name(ANN, "", "x://1", str(number))
    assert len(linked.servers(ANN, "", "x://1")) < 10
