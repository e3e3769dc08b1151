"""`paths`: a path stays inside its root, whoever decodes it on the way."""

import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.validators.options import BadOptions
from gatewright.validators.paths import path_rule, prepare

ROOT = "/data/project"

ALLOWED = [
    "readme.txt",
    "./a/b/../c",
    "a/..",
    ".",
    "a//b/",
    "..a/b..",
    "a/...",
    ".config/x",
    "année/été.txt",
    "日本語/資料.md",
    "with space/and (parens) [x].txt",
    "95%.csv",
    "20%off.txt",
    "a%20b.txt",
    "%E6%97%A5.txt",
    "c++/main.cc",
    "a+b=c,d;e.txt",
    "v1.0:final.txt",
    "it's $5.txt",
    "src/$slug.ts",
    "backup~",
    "#notes#",
    "etc/shadow",
    "/data/project",
    "/data/project/",
    "/data/project/x/../y",
    "/data/project//x",
    "x" * 255,
    "/data/./project/x",
    "/data//project/./x",
    "Screenshot 1.30.45\u202fPM.png",
    "می\u200cخواهم.txt",
    "👩\u200d🚀.png",
    " leading.txt",
    "0x2e.txt",
    "%s_%d.png",
    "src/**/*.py",
    "docs/*.{md,rst}",
    "[a-z]*/{1..9}.txt",
    "a/.../b",
    "..../b",
    "句。/x",
]

BLOCKED = {
    "empty": [""],
    "outside": [
        "..",
        "../x",
        "a/../../x",
        "./.././x",
        "a/b/../../../x",
        "/data/project/../x",
        "..;/x",
        "..?/x",
        "..#/x",
        ".?/.?/x",
        "??/x",
        ".*/x",
        "..;a=b/x",
        ".. /x",
        "a/.. /.. /x",
        "．．/x",
        "..／x",
        "‥/x",
        "․․/x",
        "..∕x",
        "..⁄x",
        "..∖x",
        "%EF%BC%8E%EF%BC%8E/x",
        "..%E2%88%95x",
        "+AC4ALgAv-x",
        "0x2e0x2e/x",
        "..0x2fx",
        " ../x",
        " ..",
        "a/ ../ ../x",
        "%20../x",
        "\u3000../x",
        "\u202f../x",
        "..+/x",
        "。。/x",
        "....//x",
        "..././x",
        "a/....//....//x",
        "..*/x",
        "[.][.]/x",
        "{..,a}/x",
        "{../x,y}",
        "a/{b,../../..}/x",
    ],
    "absolute": [
        "/",
        "/etc/hosts",
        "//data/project/x",
        "/data/projects/x",
        "/data",
        "/../data/project/x",
    ],
    "control_character": [
        "a\x00b",
        "a\nb",
        "..\u200b/x",
        "a\x7f",
        "\ufeffx",
        "a%00b",
        "..%0a/x",
        "a\u202eb",
    ],
    "backslash": ["..0x5cx", "..\\x", "a\\b", "\\\\host\\share", "%c3%a9\\x"],
    "home": "~|~/x|~root/x|~root|~5|~+|~-|~+/x|~-2/x|~ name|~x y| ~5|\uff5e5".split("|"),
    "variable": ["$HOME/x", "${HOME}/x", "$(id)", "a/`id`", "%TEMP%/x"],
    "drive": [
        "C:\\x"[:2] + "/x",
        "c:x",
        "file:///x",
        "https://example.net/x",
        "php://input",
        "data:x",
        "jar:file:x",
    ],
    "encoding": [
        "%2e%2e/x",
        "..%2fx",
        "%2E%2E%2Fx",
        "%252e%252e/x",
        "%25252e/x",
        "%%32%65/x",
        "..%c0%afx",
        "a%c1%9cx",
        "..%e0%80%afx",
        "%u002e%u002e/x",
        "%uff0e/x",
        "&#46;&#46;/x",
        "..&sol;x",
        "..%5cx",
        "a%ffb",
        "%zz..x",
        "%41/x",
    ],
    "too_long": ["a/" * 2100, "x" * 256, "é" * 128],
}


@pytest.mark.parametrize("path", ALLOWED)
def test_paths_inside_the_root_pass(path: str) -> None:
    assert prepare({"root": ROOT}).judge(path) is None


@pytest.mark.parametrize(
    ("rule", "path"), [(rule, path) for rule, found in BLOCKED.items() for path in found]
)
def test_paths_that_lead_out_in_any_reading_are_refused(rule: str, path: str) -> None:
    """GRH-val-2"""
    found = prepare({"root": ROOT}).judge(path)
    assert found is not None
    assert found.rule == rule
    assert len(path) < 3 or path not in found.message


def test_links_are_followed_as_they_are_on_disk(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "data" / "deep").mkdir(parents=True)
    (root / "in").symlink_to("data")
    (root / "out").symlink_to("/")
    (root / "up").symlink_to("../outside")
    (root / "there").symlink_to(root / "data")
    (root / "loop").symlink_to("loop")
    (root / "data" / "back").symlink_to("..")
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    judge = prepare({"root": str(root)}).judge
    passing = ["in/x", "there/x", "in/deep/..", "data/back/in/x", "missing/x", str(root / "in")]
    assert [path for path in passing if judge(path) is not None] == []
    refused = [
        "out",
        "out/etc/x",
        "up/x",
        "loop",
        "in/back/../x",
        "there/../../x",
        "data/back/back",
    ]
    assert {path: (found := judge(path)) and found.rule for path in refused} == {
        "out": "link",
        "out/etc/x": "link",
        "up/x": "link",
        "loop": "link",
        "in/back/../x": "link",
        "there/../../x": "outside",
        "data/back/back": None,
    }
    behind = prepare({"root": str(alias)}).judge
    assert behind("in/x") is None
    assert behind(str(alias / "in")) is None
    assert behind(str(root / "in")) is None


@pytest.mark.parametrize(
    ("links", "path", "rule"),
    [
        ({}, "a/b", None),
        ({"a": "b"}, "a/x", None),
        ({"a": "/"}, "a/x", "link"),
        ({"a": "/data/project/b"}, "a/x", None),
        ({"a": "../x"}, "a", "link"),
        ({"a": "../project/b"}, "a/x", None),
        ({"a": "b", "b": "a"}, "a", "link"),
        ({"a/b": "/etc"}, "a/b/x", "link"),
        ({"a": "/etc"}, "a/../b", "link"),
    ],
)
def test_links_can_be_played(links: dict[str, str], path: str, rule: str | None) -> None:
    found = prepare({"root": ROOT}).judge({"path": path, "symlinks": links})
    assert (found and found.rule) == rule


def test_without_a_root_only_relative_paths_pass() -> None:
    judge = prepare({}).judge
    assert judge("a/b") is None
    assert [one and one.rule for one in map(judge, ("/a", "../a"))] == ["absolute", "outside"]


def test_a_root_has_to_be_absolute() -> None:
    with pytest.raises(BadOptions, match="absolute"):
        prepare({"root": "data"})


@pytest.mark.parametrize("value", [None, 3, ["a"], {"symlinks": {}}])
def test_what_is_no_path_is_refused(value: object) -> None:
    found = prepare({}).judge(value)
    assert found is not None
    assert found.rule == "no_path"


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "../x"},
        {"file_name": "a\nb"},
        {"targetDir": "~"},
        {"files": ["a", "../b"]},
        {"x": "/etc/hosts"},
        {"x": "a/../../b"},
        {"x": "..\\..\\b"},
        {"x": "%2e%2e/b"},
        {"x": "~/secret"},
        {"x": "~root/secret"},
        {"x": "~root"},
        {"x": "~"},
        {"x": "~+/secret"},
        {"x": "~-"},
        {"x": "~5/secret"},
        {"path": "~5"},
        {"path": "~ name"},
        {"deep": {"er": ["C:\\x"]}},
    ],
)
def test_paths_are_found_wherever_they_stand(arguments: object) -> None:
    validator = prepare({})
    assert any(validator.judge(value) is not None for _, value in validator.parts(arguments))


@pytest.mark.parametrize(
    "arguments",
    [
        {"path": "a/b.txt", "content": "cd ../..\nrm /x"},
        {"query": "either/or ... or not", "url": "https://example.net/../x"},
        {"text": "wait... what", "ratio": "3/4", "n": 1},
        {"text": "~5 minutes", "count": "~5", "about": "~ 3.5", "version": "~=1.2", "x": "~~y~~"},
        {"/etc/x": "y"},
    ],
)
def test_other_texts_are_left_alone(arguments: object) -> None:
    validator = prepare({})
    assert [v for _, v in validator.parts(arguments) if validator.judge(v) is not None] == []


@given(st.text(alphabet=st.sampled_from("./a%2e5c;\\~\u2215 \uff0e"), max_size=40))
def test_what_passes_stays_inside_for_a_plain_reader(text: str) -> None:
    if path_rule(text, ROOT) is None and not text.startswith("/"):
        assert Path(f"{ROOT}/{text}").resolve().is_relative_to(ROOT)


@given(st.text(max_size=60))
def test_any_text_gets_a_verdict(text: str) -> None:
    assert path_rule(text, ROOT) is None or prepare({"root": ROOT}).judge(text) is not None


def test_a_path_may_be_as_long_as_a_file_system_takes() -> None:
    assert path_rule("a/" * 2048, ROOT) is None
    assert path_rule("a/" * 2048 + "a", ROOT) == "too_long"
    assert path_rule("a/" + "é" * 127, ROOT) is None


@pytest.mark.parametrize(("links", "rule"), [(40, None), (41, "link")])
def test_links_are_followed_as_often_as_a_kernel_does(links: int, rule: str | None) -> None:
    chain = {f"l{number}": f"l{number + 1}" for number in range(links)}
    found = prepare({"root": ROOT}).judge({"path": "l0/x", "symlinks": chain})
    assert (found and found.rule) == rule


def test_below_what_is_not_there_the_file_system_is_asked_nothing() -> None:
    asked: list[str] = []

    def readlink(path: str) -> str | None:
        asked.append(path)
        return "" if "none" in path else None

    assert path_rule("a/none/" + "b/" * 1000, "/srv", readlink) is None
    assert asked == ["/srv/a", "/srv/a/none"]
    asked.clear()
    assert path_rule("none/../c/d", "/srv", readlink) is None
    assert asked == ["/srv/none", "/srv/c", "/srv/c/d"]


def test_a_link_behind_what_is_not_there_is_followed() -> None:
    links = {"/srv/none": "", "/srv/out": "/etc"}
    assert path_rule("none/../out/x", "/srv", links.get) == "link"


def test_a_path_of_more_components_than_are_looked_up_is_refused() -> None:
    assert path_rule("a/" * 256, "/srv", lambda _: None) is None
    assert path_rule("a/" * 257, "/srv", lambda _: None) == "too_long"


def test_what_is_not_there_is_told_from_what_is_no_link(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    judge = prepare({"root": str(tmp_path)})
    for path in ("file", "file/below", "none/below"):
        assert judge.judge(path) is None


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EIO, errno.ESTALE])
def test_where_the_gateway_may_not_look_no_link_is_taken_for_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    def denied(self: Path) -> Path:
        raise OSError(number, os.strerror(number), str(self))

    judge = prepare({"root": str(tmp_path)})
    assert judge.judge("closed/a") is None
    monkeypatch.setattr(Path, "readlink", denied)
    objection = judge.judge("closed/a")
    assert objection is not None
    assert objection.rule == "unseen"


def test_a_name_that_no_file_system_takes_is_not_followed() -> None:
    def readlink(path: str) -> str | None:
        raise ValueError(path)

    assert path_rule("a", "/srv", readlink) == "unseen"
