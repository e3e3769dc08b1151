"""Spellings of paths and URLs, as Linux, Python and browsers read them: none that passes leads outside of what a caller may touch."""

import posixpath
import re
import urllib.request
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

import ada_url
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gatewright.validators.resources import Resources

HOST, BELOW, FOLDER = "api.example", "/v1", "/srv/data"
JUDGE = Resources([[f"https://{HOST}{BELOW}/**", FOLDER]])
ANY_HOST = Resources([["https://*/**", FOLDER]])

BEFORE = ["", " ", "\t", "\n", "\r\n", "\x01", "\x0b ", "\ufeff", "\u3000", "<", "URL:", "url: "]
SCHEMES = ["https", "HTTPS", "http", "file", "FILE", "ftp", "ht\ntps", "https ", "%68ttps", "wss", "jar:file", "view-source:https", "x"]  # fmt: skip
SLASHES = [":", ":/", "://", ":///", ":////", ":\\\\", ":/\\", "%3A%2F%2F", ":\t//", ":/ /"]
USERS = [
    "",
    "a b@",
    " a\nb@",
    f"{HOST}@",
    f"{HOST}:443@",
    f"{HOST}\\@",
    f"{HOST}#@",
    f"{HOST}?@",
    "@",
    "%61@",
    ":@",
]
HOSTS = [HOST, "API.Example", f"{HOST}.", f"{HOST}:443", f"{HOST}:8443", f"{HOST}:", "evil.example", "evil\u3002example",
    "evil.ex\nample", "evil.example%2f", "[::1]", "[::ffff:127.0.0.1]", "0x7f.1", "127.0.0.1", "localhost", "", " ",
    f"{HOST}.evil.example", f"evil.example/{HOST}", "\uff41pi.example"]  # fmt: skip
WAYS = [
    "..",
    "%2e%2e",
    ".%2E",
    "..;",
    "%252e%252e",
    "{..,x}",
    "\uff0e\uff0e",
    ". .",
    ".\t.",
    ".\n.",
    ".",
    "",
    "a%2fb",
]
BETWEEN = ["/", "//", "/./", "\\", "%2f", "%5c", "%252f", "/\t", ";/"]
BEHIND = ["", " ", " b", " a b", "\tb", "\nb", "\n\nSee what it says, it is good.", "?q=1", "?/../../../../etc/passwd", "#f", "#/@evil.example",
    "/@evil.example", ".", "/", ">"]  # fmt: skip
ROOTS = [
    "/",
    "//",
    "///",
    "/./",
    "//./",
    "/.//",
    "/x/../",
    "\\",
    "~/",
    "~root/",
    "C:/",
    "c:\\",
    "%2f",
    "/ /",
    "./",
    "../",
    "file:",
    "file:/",
]


def below(*roots: str) -> st.SearchStrategy[str]:
    """Paths below one of these, which climb somewhere."""
    steps = st.lists(st.tuples(st.sampled_from(WAYS), st.sampled_from(BETWEEN)), max_size=5)
    return st.builds(
        lambda root, between, some, end: root + between + "".join(map("".join, some)) + end,
        st.sampled_from(roots),
        st.sampled_from(BETWEEN),
        steps,
        st.sampled_from(["x", "admin", "etc/passwd", ""]),
    )


URLS = st.tuples(
    *map(st.sampled_from, (BEFORE, SCHEMES, SLASHES, USERS, HOSTS)),
    below("", BELOW, FOLDER),
    st.sampled_from(BEHIND),
).map("".join)
PATHS = st.tuples(
    st.sampled_from(BEFORE),
    st.sampled_from(ROOTS),
    below("srv/data", "etc", ""),
    st.sampled_from(BEHIND),
).map("".join)


def opened(path: str) -> bool:
    """Whether Linux, or who resolves `..` before, opens it inside."""
    found = "/" + posixpath.normpath(path).lstrip("/")
    # `file: x` has the name of a blank at its root, where nobody has anything.
    return (found + "/").startswith(FOLDER + "/") or found.startswith("/ ")


def fetched(scheme: str, host: str | None, port: int | None, path: str) -> bool:
    for _ in range(4):
        path = unquote(path)
    found = posixpath.normpath(path.replace("\\", "/").replace("..;", ".."))
    return (scheme, (host or "").lower(), port or 443) == ("https", HOST, 443) and (
        found + "/"
    ).startswith(BELOW + "/")


def by_browser(text: str) -> Iterator[bool]:
    try:
        found = ada_url.URL(text)
    except ValueError:
        return
    if found.protocol == "file:":
        yield found.hostname == "" and opened(unquote(found.pathname))
    elif found.protocol in {"http:", "https:", "ws:", "wss:", "ftp:"}:
        yield fetched(found.protocol[:-1], found.hostname, int(found.port or 443), found.pathname)


def by_python(text: str) -> Iterator[bool]:
    """As `urllib.request` does, and those who take URLs apart with `urlsplit`, as they go on to encode blanks."""
    try:
        asked = urllib.request.Request(text)  # noqa: S310 - nothing is opened
        if asked.type == "file":
            yield opened(urllib.request.url2pathname(asked.selector)) and asked.host in (
                "",
                "localhost",
                None,
            )
        found = urlsplit(text.lstrip())
        host, port = found.hostname, found.port
    except ValueError:
        return
    if " " in found.netloc:
        return
    if found.scheme in {"http", "https"} and re.fullmatch(r"[\w.-]+|[\da-f:.]+", host or ""):
        yield fetched(found.scheme, host, port, found.path)


def by_linux(text: str) -> Iterator[bool]:
    for one in (text, text.strip()):
        if one.startswith("/") and "\n" not in one and "\0" not in one:
            yield opened(one)


def readings(text: str) -> list[bool]:
    return [*by_browser(text), *by_python(text), *by_linux(text)]


def passes(judge: Resources, member: str, text: str) -> bool:
    return all(judge.allows(value) for _, value in judge.parts({member: text}))


@settings(max_examples=1500, deadline=None)
@given(st.one_of(URLS, PATHS), st.sampled_from(["url", "link", "path", "text"]))
@example("//etc/passwd", "link")
@example("https://evil.example/a b", "url")
@example("https:evil.example", "link")
@example("https::@evil.example/x", "link")
@example("https://a b@evil.example/v1/x", "link")
@example(f"<{' ' * 300}https://evil.example/v1/x>", "link")
@example("https://api.example\\@evil.example/v1/x", "url")
def test_no_spelling_that_passes_leads_outside(text: str, member: str) -> None:
    if passes(JUDGE, member, text):
        assert all(readings(text)), text


@settings(max_examples=500, deadline=None)
@given(PATHS, st.sampled_from(["url", "link", "path", "text"]))
@example("//etc/passwd", "link")
@example("//etc/passwd", "url")
def test_no_path_passes_as_a_url_of_any_host(text: str, member: str) -> None:
    if passes(ANY_HOST, member, text):
        assert all(by_linux(text)), text


@pytest.mark.parametrize("judge", [JUDGE, ANY_HOST])
@pytest.mark.parametrize(
    "text",
    [
        "https://api.example/v1/x",
        "https://API.example:443/v1/x?q=../..&mail=a@b.example#part",
        "https://api.example/v1/group%2Fproject",
        "https://api.example/v1/a b",
        "https://api.example/v1/x fails since noon",
        "https://api.example/v1/x\n\n" + "It fails since noon. " * 500,
        "https://api.example/v1/x\n\nIt fails since noon: see http://elsewhere.example/ and ../notes.",
        "/srv/data/x",
        "/srv/data//x/./y/../z",
        "/srv/data/my folder/x y.txt",
        "file:///srv/data/x",
    ],
)
def test_honest_spellings_of_what_is_inside_pass(judge: Resources, text: str) -> None:
    assert passes(judge, "link", text)
    assert all(readings(text))


@pytest.mark.parametrize(
    "text",
    [
        "see https://evil.example/x",
        "http: the protocol of the web",
        "https:// is how a URL begins",
        "https://api.example is down",
        "file: the report of May",
        "File it under: /etc",
        "std::vector<int>",
        "note: x",
        "12:30",
        "100%",
        "%d of %s",
        "<p>one</p>",
        "<https is a scheme>",
        "/* a comment\nof two lines */",
        "// a comment\nof two lines",
        "/node_modules\n/dist\n",
        "#!/bin/sh\necho https://evil.example",
        "key: value\nurl: https://evil.example",
        "a\n" * 5000 + "https://evil.example",
    ],
)
def test_ordinary_text_is_not_judged(text: str) -> None:
    assert list(JUDGE.parts({"text": text})) == []


@pytest.mark.parametrize(
    "text",
    ["machine learning", "function () {\n return 1 }", "the big one", "biology and physics/x"],
)
def test_a_sentence_is_no_host(text: str) -> None:
    assert list(JUDGE.parts({"domain": text, "callback": text})) == []


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ("api.example/v1/x", True),
        ("api.example:443/v1/x", True),
        ("api.example/v1/a b", True),
        ("evil.example/a b", False),
        ("evil.\nexample/v1/x", False),
        ("api.example\\@evil.example/v1/x", False),
        ("api.example:x@evil.example/v1/x", False),
        ("fe80::1", False),
        ("asker:/x", False),
    ],
)
def test_a_url_without_its_scheme_is_judged_by_the_name_of_its_member(
    text: str, *, allowed: bool
) -> None:
    assert passes(JUDGE, "url", text) is allowed
    assert list(JUDGE.parts({"url": text}))


def test_a_host_and_a_uri_without_slashes_are_what_they_say() -> None:
    assert passes(Resources([["http://[fe80::1]"]]), "host", "fe80::1")
    assert passes(Resources([["urn:isbn:1"]]), "uri", "urn:isbn:1")
    assert not passes(Resources([["https://**"]]), "uri", "urn:isbn:1")


@pytest.mark.parametrize(
    "path",
    [
        "{..,x}/y",
        "{a,../../b}",
        "{a,/../../b}",
        ".?/y",
        ".*/y",
        "[.]./y",
        "....//....//etc/passwd",
        ".?/.?/....//etc/passwd",
    ],
)
@pytest.mark.parametrize("folder", [f"{FOLDER}/", "src/"])
def test_what_shells_and_careless_cleaners_make_a_way_up_is_one(folder: str, path: str) -> None:
    assert not passes(Resources([[FOLDER, "src"]]), "path", folder + path)


def test_an_honest_pattern_of_names_passes() -> None:
    judge = Resources([[FOLDER, "src"]])
    for path in (
        "src/*",
        "src/**/*.py",
        "src/{a,b}.py",
        f"{FOLDER}/[a-c]*/x",
        "src/a/../b",
        "src/a..b",
    ):
        assert passes(judge, "path", path)
    assert passes(judge, "path", "/srv/other/../data/x")


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": {"config/settings.py": "x"}},
        {"files": [{"settings.py": "x"}]},
        {"hosts": {"evil.example": 1}},
        {"text": "/etc/passwd\0\nmore"},
        {"text": "../../etc/passwd\0\nmore"},
        {"repo": "git@evil.example:a/b.git"},
        {"path": "git@evil.example:a/b.git"},
        {"repo": "git::https://evil.example/a"},
        {"urls": "https://api.example/v1/a https://evil.example/b"},
        {"links": "https://api.example/v1/a, https://evil.example/b"},
        {"links": "https://api.example/v1/a\nhttps://evil.example/b"},
    ],
)
def test_what_is_named_in_other_ways_is_judged(arguments: object) -> None:
    judge = Resources([["https://api.example/v1/**", FOLDER, "src"]])
    found = [value for _, value in judge.parts(arguments)]
    assert not all(map(judge.allows, found))


@pytest.mark.parametrize(
    "arguments",
    [
        {"files": {"src/a.py": "x"}},
        {"file": {"name": "x", "size": 1}},
        {"hosts": {"api.example/v1/x": 1}},
        {"text": "one\0two"},
        {"text": "ann@mail.example: see you"},
        {"links": "https://api.example/v1/a, https://api.example/v1/b"},
        {"links": "https://api.example/v1/a\nhttps://api.example/v1/b"},
        {"text": "https://api.example/v1/a\nand https://elsewhere.example/b"},
        {"csv": "url\nhttps://elsewhere.example/a\n"},
    ],
)
def test_what_only_looks_like_that_is_not_refused(arguments: object) -> None:
    judge = Resources([["https://api.example/v1/**", FOLDER, "src"]])
    assert all(judge.allows(value) for _, value in judge.parts(arguments))
