"""Allowed resources: which paths and URIs fit a pattern, whoever spells them how."""

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.schemas.json_pointers import pointer
from gatewright.validators.resources import Host, Resources, flaw_of_pattern


def _allows(text: str, *patterns: str, folder: str | None = None) -> bool:
    return Resources([patterns], folder).allows(text)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/srv/data", "/srv/data"),
        ("/srv/data", "/srv/data/deep/file.txt"),
        ("/srv/data/", "/srv/data/file.txt"),
        ("/srv/data/**", "/srv/data"),
        ("/srv/data/**", "/srv/data/a/../b"),
        ("/srv/*/public", "/srv/ann/public"),
        ("/srv/**/x.txt", "/srv/a/b/x.txt"),
        ("/srv/data/*.csv", "/srv/data/a.csv"),
        ("src", "./src/main.rs"),
        ("./src/**", "src/main.rs"),
        ("**", "any/where"),
        (".", "any/where"),
        ("file:///srv/data/**", "/srv/data/x"),
        ("/srv/data/**", "file:///srv/data/x"),
        ("https://api.example/v1/*", "https://API.example:443/v1/items?limit=3"),
        ("https://api.example", "https://api.example/any/thing#part"),
        ("/a/**/b", "/a/b"),
        ("**/b", "b"),
        ("/**/b", "/b"),
        ("https://api.example/**/b", "https://api.example/b"),
        ("asker:///alpha", "asker:///alpha"),
        ("urn:isbn:1", "urn:isbn:1"),
    ],
)
def test_what_a_pattern_means_fits_it(pattern: str, text: str) -> None:
    """GRH-sec-5"""
    assert flaw_of_pattern(pattern) == ""
    assert _allows(text, pattern)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("/srv/data", "/srv/database"),
        ("/srv/data/**", "/srv/data/../secret"),
        ("/srv/data/**", "/srv/data/%2e%2e/secret"),
        ("/srv/data/**", "/srv/data/..%2fsecret"),
        ("/srv/data/**", "/srv/data/\uff0e\uff0e/secret"),
        ("/srv/data/**", "file:///srv/data/%2e%2e/%2e%2e/etc/passwd"),
        ("/srv/data/**", "file://elsewhere/srv/data/x"),
        ("/srv/data/**", "file:/etc/passwd"),
        ("/srv/data/**", "~/x"),
        ("/srv/data/**", "c:/srv/data/x"),
        ("/srv/data/**", ""),
        ("/srv/data/**", "/srv/data/a\0b"),
        ("/srv/data/**", "relative.txt"),
        ("/srv/*/public", "/srv/a/b/public"),
        ("**", "../outside"),
        ("**", "/absolute"),
        ("**", "https://example.org/"),
        (".", "../outside"),
        ("*/x", "../x"),
        ("https://api.example/v1/*", "https://api.example/v1/../admin"),
        ("https://api.example/v1/*", "https://api.example/v1/%2e%2e/admin"),
        ("https://api.example/**", "https://api.example.evil/x"),
        ("https://api.example/**", "https://api.example@evil.example/x"),
        ("https://api.example/**", "http://api.example/x"),
        ("https://api.example/**", "https://api.example:8443/x"),
        ("https://api.example/**", "https://"),
        ("asker:///alpha", "asker:///alphabet"),
        ("https://api.example/**", "https://api.example/x/..%2fadmin"),
        ("https://**/b", "https://b"),
        ("https://**/b", "https://b/"),
        ("/a/**b/c", "/a/c"),
    ],
)
def test_what_only_looks_like_it_does_not_fit(pattern: str, text: str) -> None:
    """GRH-sec-5: a path outside, however it is spelled."""
    assert not _allows(text, pattern)


def test_a_host_may_be_reached_by_any_scheme_of_the_web() -> None:
    for scheme in ("https", "http"):
        judge = Resources([[f"{scheme}://api.example/**"]])
        assert judge.allows(Host("//api.example/x"))
        assert not judge.allows(Host("//evil.example/x"))
        assert not judge.allows("//api.example/x"), "which is a file to Linux"


def test_every_group_has_to_allow() -> None:
    both = Resources([["/srv/**"], ["/srv/a/**", "/tmp/**"]])
    assert both.allows("/srv/a/x")
    assert not both.allows("/srv/b/x")
    assert not both.allows("/tmp/x")


def test_a_relative_path_means_one_in_the_folder_of_the_server(tmp_path: Path) -> None:
    """Decision C-55: relative paths are resolved, then looked at."""
    inside = tmp_path / "src"
    inside.mkdir()
    assert _allows("./src/main.rs", f"{inside}/**", folder=str(tmp_path))
    assert not _allows("./other/main.rs", f"{inside}/**", folder=str(tmp_path))
    assert _allows("../src/main.rs", f"{inside}/**", folder=str(inside))


def test_a_link_that_leads_outside_is_outside(tmp_path: Path) -> None:
    data, secret = tmp_path / "data", tmp_path / "secret"
    data.mkdir()
    secret.mkdir()
    (data / "way").symlink_to(secret)
    (data / "near").symlink_to(data)
    folder = str(tmp_path)
    assert _allows(f"{data}/near/x", f"{data}/**", folder=folder)
    assert not _allows(f"{data}/way/x", f"{data}/**", folder=folder)
    assert not _allows("data/way/x", "data/**", folder=folder)
    (secret / "deep").mkdir()
    (data / "far").symlink_to(secret / "deep")
    assert not _allows(f"{data}/far/../x", f"{data}/**", folder=folder), "up from where it leads"
    assert not _allows(f"//{data}/far/../x", f"{data}/**", folder=folder)
    assert not _allows("data/far/../x", "data/**", folder=folder)
    assert _allows(f"{data}/near/../data/x", f"{data}/**", folder=folder)
    (tmp_path / "alias").symlink_to(data)
    assert _allows(f"{tmp_path}/alias/x", f"{tmp_path}/alias/**", folder=folder)


@pytest.mark.parametrize(
    "pattern",
    ["", " ", "a\nb", "~/x", "a\\b", "../x", "https://", "https://a.example/?q=1", "db://a/#b"],
)
def test_what_cannot_be_a_pattern_is_named(pattern: str) -> None:
    assert flaw_of_pattern(pattern)
    with pytest.raises(ValueError, match=r"pattern|URI|query|path|folder"):
        Resources([[pattern]])


def _named(arguments: Any) -> dict[str, Any]:
    found = Resources([["/x"]]).parts(arguments)
    return {pointer(place.path() if place else ()): value for place, value in found}


def test_arguments_are_judged_by_their_form_and_by_the_name_of_their_member() -> None:
    arguments = {
        "path": "notes.txt",
        "text": "see /etc/passwd and https://example.org",
        "source": " /etc/passwd",
        "deep": [{"file_name": "a"}, "../up", "plain words"],
        "link": "https://example.org/x",
        "host": "example.org",
        "blank": "/srv/my folder/../../etc/passwd",
        "lines": "/* a comment\nof two lines */",
        "contents": {"/etc/motd": "hello", "plain": "hello", "https://x.example/a": 1},
        "count": 3,
        "empty": "",
    }
    assert list(Resources([["/x"]]).parts("/etc/passwd")) == [(None, "/etc/passwd")]
    assert len(list(Resources([["/x"]]).parts(arguments))) == 9
    assert _named(arguments) == {
        "/path": "notes.txt",
        "/source": "/etc/passwd",
        "/deep/0/file_name": "a",
        "/deep/1": "../up",
        "/link": "https://example.org/x",
        "/host": "//example.org",
        "/blank": "/srv/my folder/../../etc/passwd",
        "/contents/~1etc~1motd": "/etc/motd",
        "/contents/https:~1~1x.example~1a": "https://x.example/a",
    }


def test_what_is_outside_is_told_and_cut_short() -> None:
    found = Resources([["/x"]]).judge("/" + "y" * 1000)
    assert found is not None
    assert found.rule == "not_allowed"
    assert len(found.details["requested_path"]) == 256
    assert Resources([["/x"]]).judge("/x/1") is None
    assert Resources([["/x"]]).judge(7) is not None


@given(st.text(max_size=40))
def test_no_text_gets_out_of_a_folder(text: str) -> None:
    """Whatever is allowed below a folder is, read plainly, below it."""
    import posixpath  # noqa: PLC0415 - for this oracle alone

    if _allows(f"/srv/data/{text}", "/srv/data/**"):
        assert (posixpath.normpath(f"/srv/data/{text}") + "/").startswith("/srv/data/")


@pytest.mark.parametrize(
    "url",
    [
        "https://ann@a.example/x",
        "https://ann:secret@a.example/x",
        "https://:secret@a.example/x",
        "https://a.example/x\u200b",
    ],
)
def test_a_uri_that_shows_one_thing_and_carries_another_fits_nothing(url: str) -> None:
    assert not _allows(url, "https://**/**")
    assert _allows("https://a.example/x", "https://**/**")


def test_a_path_is_looked_up_once_whatever_the_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = Resources([["**"], ["a/**"], [f"{tmp_path}/**"]], str(tmp_path))
    looked: list[str] = []
    real = os.path.realpath

    def counted(path: str) -> str:
        looked.append(path)
        return real(path)

    monkeypatch.setattr(os.path, "realpath", counted)
    assert judge.allows("a/b")
    assert looked == [str(tmp_path), f"{tmp_path}/a/b"], "the folder, and the path"


def test_a_path_costs_what_the_file_system_is_asked() -> None:
    here, elsewhere = Resources([["**"]], "/srv"), Resources([["**"]])
    assert here.cost("a/" * 100) > 10 * here.cost("a")
    assert elsewhere.cost("a/" * 100) < here.cost("a/" * 100)
    assert here.cost(None) > 0


def test_a_folder_that_is_a_link_is_followed_to_where_it_leads_now(tmp_path: Path) -> None:
    """A deployment turns the link, and the server is started again there, though the patterns stay."""
    for name in ("one", "two", "elsewhere"):
        (tmp_path / name).mkdir()
    (tmp_path / "one" / "data").mkdir()
    (tmp_path / "two" / "data").symlink_to(tmp_path / "elsewhere")
    current = tmp_path / "current"
    current.symlink_to(tmp_path / "one")
    found = Resources([["data/**"]], str(current))
    assert found.allows("data/x")
    current.unlink()
    current.symlink_to(tmp_path / "two")
    assert not found.allows("data/x")


def test_hundreds_of_paths_are_no_long_work(tmp_path: Path) -> None:
    """What they are counted at, in microseconds: access judges 50 ms of them for one call."""
    found = Resources([["**"]], str(tmp_path))
    assert sum(found.cost(f"src/package/module_{number}.py") for number in range(400)) < 50_000
