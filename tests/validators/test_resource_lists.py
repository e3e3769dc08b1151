"""Lists in one text: none of their members passes because the whole looks like one name."""

from __future__ import annotations

from itertools import product

import pytest

from gatewright.validators.resource_lists import PARTS_MOST, Nobodys, listed
from gatewright.validators.resources import Resources
from tests.costs import DOUBLED, grows

JUDGE = Resources([["https://allowed.example/**", "/srv/data/**", "src/**", "urn:example:a/**"]])
INSIDE = ["/srv/data/x", "src/x.py", "https://allowed.example/x"]
OUTSIDE = [
    "/etc/passwd",
    "~/x",
    "../up",
    "https://evil.example/",
    "file:///etc/passwd",
    "\\\\evil\\x",
]
BETWEEN = [",", ", ", ";", "; ", "|", " | ", " ", "  ", "\t", "\n", '","', "','", ",,", " ; "]


def passes(member: str, text: str) -> bool:
    return all(JUDGE.allows(value) for _, value in JUDGE.parts({member: text}))


@pytest.mark.parametrize("member", ["path", "paths", "files", "url", "urls", "src"])
@pytest.mark.parametrize("between", [*BETWEEN, ":"])
def test_what_is_outside_is_found_behind_what_is_inside(member: str, between: str) -> None:
    found = [
        (one, other)
        for one, other in product(INSIDE, OUTSIDE)
        if not (between == ":" and "://" in one)  # which no list of paths has
        if passes(member, one + between + other)
    ]
    assert found == []


@pytest.mark.parametrize("between", [one for one in BETWEEN if one != "\n"])
def test_a_text_that_begins_with_a_path_is_taken_apart_whatever_it_is_called(between: str) -> None:
    for other in OUTSIDE:
        assert not passes("text", f"/srv/data/x{between}{other}")
        assert not passes("text", f"https://allowed.example/x{between.rstrip() or between}{other}")


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("files", "src/a,config.env,/srv/data/b"),
        ("files", "/srv/data/b,config.env"),
        ("files", "/srv/data/b;config.env;src/a"),
        ("paths", "src/a,.env,src/b"),
        ("files", "https://allowed.example/a,config.env"),
        ("urls", "https://allowed.example/a,evil.example/b"),
        ("urls", "https://allowed.example/a evil.example/b"),
        ("urls", "https://allowed.example/a evil"),
        ("urls", "evil.example/b,https://allowed.example/a"),
        ("urls", "https://allowed.example/a?x=1,evil.example/b"),
        ("urls", "https://allowed.example/a\nevil.example"),
    ],
)
def test_one_whole_name_does_not_hide_the_others(member: str, text: str) -> None:
    assert not passes(member, text)


def test_an_element_of_a_list_is_one_url() -> None:
    def all_pass(arguments: object) -> bool:
        return all(JUDGE.allows(value) for _, value in JUDGE.parts(arguments))

    assert all_pass({"urls": ["https://allowed.example/a?fields=a,b", "https://allowed.example/b"]})
    assert not all_pass({"urls": ["https://allowed.example/a,https://evil.example/"]})
    assert not all_pass({"files": ["src/a,config.env"]})


@pytest.mark.parametrize("between", [",", ";", "|", ":", "\n", " "])
def test_names_in_the_plural_are_several(between: str) -> None:
    assert not passes("files", f"src/a.py{between}etc/passwd")
    assert passes("files", f"src/a.py{between}src/b.py") or between == "\n"
    assert passes("path", f"src/a{between}etc/b") or between == "\n"
    assert not passes("hosts", f"allowed.example{between}evil.example")


@pytest.mark.parametrize("whole", ['["/etc/passwd"]', '["src/a", "/etc/passwd"]', "file=/etc/passwd", "(/etc/passwd)", "{/etc/passwd}"])  # fmt: skip
def test_json_and_other_brackets_hide_nothing(whole: str) -> None:
    assert not Resources([["**"]]).allows("/etc/passwd")
    judge = Resources([["**"]])
    assert not all(judge.allows(value) for _, value in judge.parts({"paths": whole}))


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("path", "/srv/data/my folder/a, b (1).txt"),
        ("path", "src/a: b; c|d"),
        ("files", "src/my file.py"),
        ("paths", "/srv/data/a:/srv/data/b"),
        ("paths", "/srv/data/a /srv/data/b"),
        ("urls", "https://allowed.example/a;https://allowed.example/b"),
        ("url", "https://allowed.example/a?next=/b&x=https://other.example/"),
        ("url", "https://allowed.example/a:/b"),
        ("text", "https://allowed.example/ is good, https://evil.example/ is not"),
        ("text", "and/or, see /usr"),
        ("text", "~5 minutes"),
        ("text", "~ 3.5"),
        ("sep", "/"),
        ("delimiter", "\\"),
        ("regex", "\\d+ x"),
        ("links", "see the docs"),
        ("source", "std::cout << x;"),
        ("uri", "urn:example:a/b"),
    ],
)
def test_honest_texts_pass(member: str, text: str) -> None:
    assert passes(member, text)


@pytest.mark.parametrize("text", ["~", "~root", "~/5 minutes", "~5/x", "\\\\evil\\share", "/x"])
def test_what_is_no_path_of_its_own_stays_one_elsewhere(text: str) -> None:
    assert not passes("text", text)


@pytest.mark.parametrize("member", ["path", "file", "paths", "cwd"])
@pytest.mark.parametrize("text", ["~5", "~ 5", "~5 x", "~+", "~-", "~-1", "~name", "~ name", "~name x", "~~", "~.", " ~5", "~5,~6", "~"])  # fmt: skip
def test_under_the_name_of_a_path_whatever_begins_like_a_home_is_elsewhere(
    member: str, text: str
) -> None:
    assert not passes(member, text)


def test_of_a_long_list_nobody_says_that_it_is_allowed() -> None:
    assert passes("paths", ",".join(["/srv/data/x"] * 300))
    assert not any(isinstance(one, Nobodys) for one in listed("paths", ",/x" * PARTS_MOST))
    found = listed("paths", ",".join(["/srv/data/x"] * (PARTS_MOST + 1)))
    assert len(found) == PARTS_MOST + 1
    assert isinstance(found[-1], Nobodys)
    for text in ("/srv/data/x", "src/x"):
        assert not passes("paths", ",".join([text] * 5000))


@pytest.mark.parametrize("unit", [",/", "a ", ",a/", ' "', ":", "https://a,", "\n~"])
@pytest.mark.parametrize("member", ["text", "paths", "urls"])
def test_what_a_text_names_is_found_in_linear_time(unit: str, member: str) -> None:
    small, large = ("/" + unit * (length // len(unit)) for length in (20_000, 80_000))
    ratio = grows(
        lambda: list(JUDGE.parts({member: small})), lambda: list(JUDGE.parts({member: large}))
    )
    assert ratio <= DOUBLED**2


@pytest.mark.parametrize(
    ("member", "text"),
    [
        ("repo", "gitlab:g/r.git"),
        ("repository", "gitlab.example:g/r.git"),
        ("url", "gitlab.example:g/r.git"),
        ("repo", "git@gitlab:r.git"),
        ("text", "git@gitlab:g/r.git"),
        ("text", "ext::sh -c id"),
        ("remote", "persistent-https::a"),
    ],
)
def test_what_git_would_clone_or_run_is_nobodys(member: str, text: str) -> None:
    judge = Resources([["**", "/**", "https://**"]])
    assert not all(judge.allows(value) for _, value in judge.parts({member: text}))
    assert list(judge.parts({member: text}))
