"""What would be fetched as a URI, and what all clients read in one."""

import ada_url
import pytest

from gatewright.validators.uris import (
    Reading,
    has_scheme,
    host_text,
    is_copied,
    is_remote,
    is_uri,
    read,
    unbroken,
    unwrapped,
)


@pytest.mark.parametrize(
    "text",
    [
        "https://a.example",
        "https://a.example/b c",
        "https:a.example",
        "https:/a.example/b c",
        "HTTP:\\\\a.example",
        "ht\ntps://a.example",
        "h" + "\n" * 10_000 + "ttps://a.example",
        "<https://a.example/>",
        "URL: https://a.example/",
        "https%3a%2f%2fa.example",
        "%252fetc",
        "file:a",
        "file: /../etc",
        "file: a/../../etc",
        "jar:file:/a b!/c",
        "local_file:///etc",
        "asker:/a b",
        f"<https://a.example/?{'b' * 5000}>",
        f"<{' ' * 300}https://a.example/>",
        f"URL:{' ' * 5000}https://a.example/",
        "URL:\u00a0https://a.example/",
        "https://a b@c.example/d",
        "https:// is a@c.example",
        f"https://a {'b' * 5000}@c.example/",
        "s3:\n//a/b",
        "git::https://a.example/b",
    ],
)
def test_what_somebody_would_fetch_is_a_uri(text: str) -> None:
    assert is_uri(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a",
        "see https://a.example",
        "https:// is it",
        "https://a.example is",
        "file: a b",
        "a:b",
        "%d of %s",
        "url\nhttps://a.example/\nhttps://b.example/",
        "Changes\nhttps://a.example/1",
        "public:\n\t/** what it is */\n\tint a;",
        "Routes:\n/users\n/items",
        "default:\n\t//nothing",
        "https://a.example is down, says b@c.example to me",
        "std::vector::iterator",
    ],
)
def test_a_sentence_is_none(text: str) -> None:
    assert not is_uri(text)


@pytest.mark.parametrize(
    ("text", "uris", "paths"),
    [
        ("https://A.example:443/b?c#d", ["https://a.example/b"], []),
        ("https://a.example/b c", ["https://a.example/b", "https://a.example/b%20c"], []),
        ("https://a.example/b//c", ["https://a.example/b//c", "https://a.example/b/c"], []),
        ("https://0x7f.1/", ["https://127.0.0.1/"], []),
        ("urn:isbn:1", ["urn:isbn:1"], []),
        ("file:///a/../b?c", [], ["/b", "/a/../b?c"]),
    ],
)
def test_all_that_clients_read_is_told(text: str, uris: list[str], paths: list[str]) -> None:
    found = read(text)
    assert found is not None
    assert (sorted(found.uris), found.paths) == (sorted(uris), paths)
    assert isinstance(found, Reading)


@pytest.mark.parametrize(
    "text",
    [
        "https://",
        "https:a.example",
        "https:///a.example",
        "https://a.example\\@b.example/",
        "https://a.example#@b.example/",
        "https://a@b.example/",
        "https://a.example/\u200b",
        "https://a.example/x\ny",
        "https://a.example/../b",
        "https://a.example/b/..%2fc",
        "https://a.example/b/%252e%252e/c",
        "https://a.example/b/..;/c",
        "https://a.example/b/{..,x}/c",
        "https://a.example/b/\uff0e\uff0e/c",
        "https://a.example/b/c%2fd/../e",
        "file:a",
        "file://b.example/a",
        "file: /a",
        "local_file:///a",
    ],
)
def test_what_clients_read_differently_is_not_read(text: str) -> None:
    assert read(text) is None


def test_what_is_around_and_inside_a_url_is_taken_away() -> None:
    assert unwrapped("<URL: https://a.example>") == "https://a.example"
    assert unwrapped("<p>") == "p"
    assert unbroken("a\tb\r\nc d") == "abc d"


def test_a_host_has_no_scheme_and_no_blank() -> None:
    assert host_text("a.example:443/b c") == "//a.example:443/b c"
    assert host_text("::1") == "//[::1]"
    assert host_text("urn:a") == ""
    assert host_text("two words") is None
    assert has_scheme("urn:a")
    assert not has_scheme("a/b:c")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("git@a.example:b/c.git", True),
        ("git@gitlab:c.git", True),
        ("ann@box:b/c.git", True),
        ("ann@box:/etc/passwd", True),
        ("ann@[::1]:c", True),
        ("ext::sh -c id", True),
        ("FD::17", True),
        ("std::vector", False),
        ("a@npm:@b/c@1.2", False),
        ("a.b@127.0.0.1:/etc", True),
        ("a@b.example", False),
        ("a@b.example: hello", False),
        ("image@sha256:0a1b", False),
        ("a@npm:b@1.2", False),
        ("a", False),
    ],
)
def test_what_git_would_clone_from_a_host_without_a_scheme(text: str, *, found: bool) -> None:
    assert is_copied(text) is found


@pytest.mark.parametrize("key", ["repo", "repository", "remote", "gitRemote", "source"])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a.example:b/c.git", True),
        ("a.example:c", True),
        ("gitlab:b/c.git", True),
        ("me@box:c", True),
        ("hg::https://a.example", True),
        ("std::cout << x;", False),
        ("main.py:10", False),
        ("main.py:10:5", False),
        ("note: see there", False),
        ("origin", False),
    ],
)
def test_what_git_would_clone_is_seen_by_the_name_of_its_member(
    key: str, text: str, *, found: bool
) -> None:
    assert is_remote(key, text) is found
    assert not is_remote("text", text)


_MARKS = "\u0301\u0323" * 15


@pytest.mark.parametrize(
    "text",
    [
        f"https://example.net/a{_MARKS}{_MARKS}",
        f"https://example.net?q=a{_MARKS}{_MARKS}",
        f"note:a{_MARKS}{_MARKS}",
        f"note://host/a{_MARKS}{_MARKS}",
        "note:" + "\u00e4" * 400,
    ],
)
def test_marks_behind_a_host_are_no_matter_of_the_host(text: str) -> None:
    assert read(text) is not None


@pytest.mark.parametrize(
    "before", ["https://", "HTTPS:", " https:/", "https:////", "https://u:p@", "ftp://", "file://"]
)
@pytest.mark.parametrize(
    "host", ["a" + _MARKS * 2, "a" + (_MARKS + "\u034f") * 200, "a" + "%CC%81%CC%A3" * 200]
)
def test_a_host_that_takes_long_to_normalize_is_read_by_nobody(
    before: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def url(text: str) -> None:
        asked.append(text)
        raise ValueError

    monkeypatch.setattr(ada_url, "URL", url)
    assert (read(f"{before}{host}/b"), asked) == (None, [])
