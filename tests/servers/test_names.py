"""Exposed names: unique, short, in the characters hosts take, and the same in whatever order."""

import hashlib
import random
import re
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from gatewright.call import Target
from gatewright.servers import names as names_module
from gatewright.servers.names import (
    BUDGET,
    SMALLEST_BUDGET,
    Names,
    expose_names,
    expose_uris,
    kernel_names,
    unwrap_uri,
    wrap_template,
    wrap_uri,
)
from gatewright.transport.slices import whole

ALLOWED = re.compile(r"[A-Za-z0-9_-]+")


def named_names(*given: Any, **more: Any) -> Names:
    return whole(expose_names(*given, **more))


def named_uris(*given: Any) -> Names:
    return whole(expose_uris(*given))


def digest(target: Target, digits: int = 8) -> str:
    return hashlib.sha256(f"{target.server}/{target.name}".encode()).hexdigest()[:digits]


def names_of(*targets: Target) -> list[str]:
    found = named_names(targets).exposed
    return [found[target] for target in targets]


def test_a_name_is_server_and_tool_in_characters_that_hosts_take() -> None:
    found = names_of(
        Target("files", "read"), Target("mind.cerebras", "think"), Target("web", "search.web v2")
    )
    assert found == ["files__read", "mind_cerebras__think", "web__search_web_v2"]


def test_a_name_over_budget_is_cut_and_ends_in_a_digest_of_its_canonical_id() -> None:
    target = Target("files", "x" * 100)
    (found,) = names_of(target)
    assert found == "files__" + "x" * 30 + "_" + digest(target)
    assert len(found) == BUDGET == 46


def test_a_name_that_fits_exactly_stays_whole() -> None:
    assert names_of(Target("files", "x" * 39)) == ["files__" + "x" * 39]


def test_of_two_tools_that_map_to_one_name_the_exact_one_keeps_it() -> None:
    exact, mapped = Target("web", "search_web"), Target("web", "search.web")
    assert names_of(exact, mapped) == ["web__search_web", f"web__search_web_{digest(mapped)}"]


def test_where_nobody_or_everybody_is_exact_everybody_gives_way() -> None:
    one, two = Target("web", "a.b"), Target("web", "a b")
    assert names_of(one, two) == [f"web__a_b_{digest(one)}", f"web__a_b_{digest(two)}"]
    one, two = Target("a", "b__c"), Target("a__b", "c")
    assert names_of(one, two) == [f"a__b__c_{digest(one)}", f"a__b__c_{digest(two)}"]


def test_a_tool_named_like_the_digest_name_of_another_cannot_take_it_over() -> None:
    mapped = Target("web", "search.web")
    imitation = Target("web", f"search_web_{digest(mapped)}")
    found = names_of(Target("web", "search_web"), mapped, imitation)
    assert found == [
        "web__search_web",
        f"web__search_web_{digest(mapped)}",
        f"web__search_web_{digest(mapped)}_{digest(imitation)}",
    ]


def test_a_clash_of_digests_is_settled_by_longer_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    class Weak:
        """A digest that is the same for all in its first eight digits."""

        def __init__(self, text: bytes) -> None:
            self.text = text

        def hexdigest(self) -> str:
            return "0" * 8 + real(self.text).hexdigest()

    real = hashlib.sha256
    monkeypatch.setattr("gatewright.servers.names.hashlib.sha256", Weak)
    one, two = Target("web", "a.b"), Target("web", "a b")
    found = named_names([one, two]).exposed
    ends = [real(f"web/{name}".encode()).hexdigest()[:8] for name in ("a.b", "a b")]
    assert [found[one], found[two]] == [f"web__a_b_00000000{end}" for end in ends]


def test_a_bare_server_keeps_its_names_letter_by_letter() -> None:
    long, dotted = Target("only", "x" * 120), Target("only", "test.simple/text ü")
    found = named_names([long, dotted], bare={"only"})
    assert found.exposed == {long: "x" * 120, dotted: "test.simple/text ü"}
    assert found.find("test.simple/text ü") == dotted


def test_another_prefix_replaces_the_id_in_the_name_and_nowhere_else() -> None:
    target = Target("mind.cerebras", "think")
    found = named_names([target], prefixes={"mind.cerebras": "mc"})
    assert found.exposed == {target: "mc__think"}
    assert found.find("mind.cerebras/think") == target
    assert found.find("mc/think") is None


def test_a_fixed_name_is_given_away_first() -> None:
    kernel = Target("mgp", "tools.discover")
    mine = Target("only", "mgp_tools_discover")
    found = named_names([mine, kernel], bare={"only"}, fixed={kernel: "mgp_tools_discover"})
    assert found.exposed == {
        kernel: "mgp_tools_discover",
        mine: f"mgp_tools_discover_{digest(mine)}",
    }
    assert found.find("mgp.tools.discover") == kernel


def test_a_target_is_found_by_all_three_spellings() -> None:
    target = Target("mind.cerebras", "think.hard")
    found = named_names([target])
    for name in (
        "mind_cerebras__think_hard",
        "mind.cerebras/think.hard",
        "mind.cerebras.think.hard",
    ):
        assert found.find(name) == target
    assert found.find("think.hard") is None
    assert found.find("") is None


def test_a_dotted_spelling_that_two_targets_share_is_nobodys() -> None:
    one, two = Target("a", "b.c"), Target("a.b", "c")
    found = named_names([one, two])
    assert found.find("a.b.c") is None
    assert found.find("a/b.c") == one
    assert found.find("a.b/c") == two


@pytest.mark.parametrize("budget", [SMALLEST_BUDGET - 1, 0, -5])
def test_a_budget_without_room_for_a_digest_is_refused(budget: int) -> None:
    with pytest.raises(ValueError, match="below 34"):
        named_names([], budget=budget)


def test_one_fixed_name_for_two_is_refused() -> None:
    with pytest.raises(ValueError, match="one fixed name"):
        named_names([], fixed={Target("a", "b"): "x", Target("a", "c"): "x"})


_servers = st.sampled_from(["a", "b", "a.b", "a_b", "a__b", "A", "x" * 64, "x" * 63 + "y"])
_tools = st.one_of(
    st.text(alphabet="ab_.-/ é", max_size=6),
    st.text(max_size=8),
    st.sampled_from(["c", "b__c", "y" * 60, "y" * 60 + ".", "y" * 60 + "_", "\ud800"]),
)
_targets = st.lists(st.builds(Target, _servers, _tools), max_size=12, unique=True)


@given(_targets, st.integers(SMALLEST_BUDGET, 64), st.randoms(use_true_random=False))
@example([Target("a", "b__c"), Target("a__b", "c"), Target("a.b", "c")], BUDGET, random.Random(1))
def test_names_are_unique_short_allowed_reversible_and_the_same_in_any_order(
    targets: list[Target], budget: int, order: random.Random
) -> None:
    found = named_names(targets, budget=budget)
    assert set(found.exposed) == set(targets)
    assert len(set(found.exposed.values())) == len(targets)
    for target, name in found.exposed.items():
        assert ALLOWED.fullmatch(name)
        assert len(name) <= budget
        assert found.find(name) == target
        assert found.find(f"{target.server}/{target.name}") == target
    shuffled = list(targets)
    order.shuffle(shuffled)
    assert named_names(shuffled, budget=budget) == found


@given(_targets)
def test_any_spelling_leads_to_the_target_it_names_or_nowhere(targets: list[Target]) -> None:
    found = named_names(targets)
    for target in targets:
        dotted = found.find(f"{target.server}.{target.name}")
        assert (
            dotted is None or f"{dotted.server}.{dotted.name}" == f"{target.server}.{target.name}"
        )


@given(_targets, _targets)
def test_bare_names_stay_whole_whatever_the_other_servers_are_called(
    targets: list[Target], others: list[Target]
) -> None:
    own = [Target("only", target.name) for target in targets]
    assume(len(set(own)) == len(own))
    found = named_names([*own, *others], bare={"only"})
    assert len(set(found.exposed.values())) == len(found.exposed)
    shown = {name for target, name in found.exposed.items() if target.server != "only"}
    for target in own:
        assert (
            found.exposed[target] == target.name
            or target.name
            in {re.sub(r"[^A-Za-z0-9_-]", "_", f"{other.server}__{other.name}") for other in others}
            | {f"{other.server}/{other.name}" for other in others}
            | shown
        )


def test_a_uri_that_one_server_has_stays_and_a_shared_one_is_wrapped_for_each() -> None:
    alone, first, second = (
        Target("a", "file:///only.txt"),
        Target("a", "file:///both.txt"),
        Target("b", "file:///both.txt"),
    )
    found = named_uris([alone, first, second])
    assert found.exposed == {
        alone: "file:///only.txt",
        first: "gatewright://a/file%3A%2F%2F%2Fboth.txt",
        second: "gatewright://b/file%3A%2F%2F%2Fboth.txt",
    }
    assert [found.find(uri) for uri in found.exposed.values()] == [alone, first, second]
    assert found.find("file:///both.txt") is None


def test_a_uri_that_imitates_a_wrapped_one_is_wrapped_itself() -> None:
    victim = Target("a", "file:///both.txt")
    imitation = Target("evil", "gatewright://a/file%3A%2F%2F%2Fboth.txt")
    found = named_uris([victim, Target("b", "file:///both.txt"), imitation])
    assert found.find("gatewright://a/file%3A%2F%2F%2Fboth.txt") == victim
    assert found.exposed[imitation].startswith("gatewright://evil/gatewright%3A%2F%2Fa")


def test_an_expanded_template_leads_to_the_server_and_its_own_uri() -> None:
    wrapped = wrap_template(Target("a", "db://{table}/{+path}?q={q}"))
    assert wrapped == "gatewright://a/db://{table}/{+path}?q={q}"
    expanded = "gatewright://a/db://t%2Fx/y/z?q=1#f"
    assert unwrap_uri(expanded) == Target("a", "db://t%2Fx/y/z?q=1#f")


@pytest.mark.parametrize(
    "uri",
    ["", "file:///x", "gatewright://", "gatewright://a", "gatewright://a/", "gatewright:///x"],
)
def test_what_is_not_wrapped_is_not_unwrapped(uri: str) -> None:
    assert unwrap_uri(uri) is None


@given(_servers, st.text(min_size=1))
@example("a", "urn:x:%41%zz é")
def test_wrapping_loses_nothing_and_is_ascii(server: str, uri: str) -> None:
    wrapped = wrap_uri(Target(server, uri))
    assert wrapped.isascii()
    assert unwrap_uri(wrapped) == Target(server, uri)


@given(st.lists(st.builds(Target, _servers, st.text(max_size=5)), max_size=10, unique=True))
def test_uris_are_unique_and_reversible_in_any_order(resources: list[Target]) -> None:
    found = named_uris(resources)
    assert {found.find(uri) for uri in found.exposed.values()} == set(resources)
    assert len(set(found.exposed.values())) == len(resources)
    assert named_uris(reversed(resources)) == found


def test_a_tool_of_the_kernel_is_spelled_for_hosts_and_like_its_method() -> None:
    assert kernel_names("access.query") == ("mgp_access_query", "mgp/access/query")


@pytest.mark.parametrize("bare", [(), ("s",)])
@pytest.mark.parametrize("size", [10, 100, 100_000])
def test_no_more_of_a_name_is_mapped_than_is_shown(
    size: int, bare: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    mapped: list[int] = []

    class Counted:
        def sub(self, by: str, text: str) -> str:
            mapped.append(len(text))
            return real.sub(by, text)

    real = names_module._FOREIGN
    targets = [Target("s", "é" * size + end) for end in ("a", "b", "a€")]
    plain = named_names(targets, bare=bare)
    monkeypatch.setattr(names_module, "_FOREIGN", Counted())
    assert named_names(targets, bare=bare) == plain
    assert max(mapped, default=0) <= BUDGET + 1
    assert len(set(plain.exposed.values())) == 3


@pytest.mark.parametrize(
    "name", ["other/read", "other.read", "mgp/access.query", "mgp.access.query"]
)
def test_a_bare_name_that_is_the_id_of_another_servers_tool_gives_way(name: str) -> None:
    """Whoever calls that tool by its canonical or dotted id gets it, and no other one."""
    mine, theirs = Target("only", name), Target("other", "read")
    kernel = Target("mgp", "access.query")
    found = named_names([mine, theirs], bare={"only"}, fixed={kernel: "mgp_access_query"})
    assert found.find(name) in (theirs, kernel)
    assert found.exposed[mine].endswith(digest(mine))
    own = Target("only", "only.read")
    assert named_names([own, Target("only", "read")], bare={"only"}).exposed[own] == "only.read"


@pytest.mark.parametrize("scheme", ["GATEWRIGHT", "Gatewright", "gateWright"])
def test_a_qualified_uri_is_one_in_whatever_case_its_scheme_is_written(scheme: str) -> None:
    """Clients that parse a URI write its scheme small."""
    wrapped = wrap_uri(Target("files", "file:///a"))
    spelled = wrapped.replace("gatewright", scheme, 1)
    assert unwrap_uri(spelled) == Target("files", "file:///a")
    imitating = Target("evil", spelled)
    assert named_uris([imitating]).exposed[imitating] == wrap_uri(imitating)


def test_what_stands_apart_is_wrapped_and_changes_nothing_for_others() -> None:
    one, two = Target("one", "a://r"), Target("two", "a://r")
    names = whole(expose_uris([one, two], apart={"two"}))
    assert names.exposed == {one: "a://r", two: wrap_uri(two)}
    assert names.find("a://r") == one
