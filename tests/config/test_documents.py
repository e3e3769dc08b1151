"""TOML files with lines: every key found again, every unreadable file named."""

import contextlib
import errno
import os
import tomllib
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatewright.config.documents import MAX_BYTES, has_long_key, is_there, parse, read
from gatewright.config.problems import Origin, SettingsError

FILE = Path("mgp.toml")


def test_every_header_and_key_has_the_line_where_it_stands() -> None:
    text = """# a comment with [brackets] and "quotes"
top = 1

[gateway]
instructions = '''
[not.a.table]
key = "not a key"
'''
"quoted key" = "# no comment"
port = 8420 # a comment

[[servers]]
id = "one"
args = [
  "a]", # with ] in it
  'b"',
]
[servers.env]
A = "x"
[[servers]]
id = "two"
mgp.trust_level = "standard"
[servers.mgp]
extensions = [ ]
[profiles."with.dot"]
servers = []
"""
    lines = parse(text.replace("[servers.mgp]\n", ""), FILE).lines
    assert lines == {
        ("top",): 2,
        ("gateway",): 4,
        ("gateway", "instructions"): 5,
        ("gateway", "quoted key"): 9,
        ("gateway", "port"): 10,
        ("servers", 0): 12,
        ("servers", 0, "id"): 13,
        ("servers", 0, "args"): 14,
        ("servers", 0, "env"): 18,
        ("servers", 0, "env", "A"): 19,
        ("servers", 1): 20,
        ("servers", 1, "id"): 21,
        ("servers", 1, "mgp", "trust_level"): 22,
        ("servers", 1, "extensions"): 23,
        ("profiles", "with.dot"): 24,
        ("profiles", "with.dot", "servers"): 25,
    }


def test_strings_that_end_with_quotes_do_not_hide_what_follows() -> None:
    lines = parse(
        'a = """x""\\""""""\nb = 1\nc = \'\'\'y\'\'\'\'\'\nd = "\\\\"\ne = 2\n', FILE
    ).lines
    assert lines == {("a",): 1, ("b",): 2, ("c",): 3, ("d",): 4, ("e",): 5}


def test_windows_line_ends_count_once() -> None:
    assert parse("a = 1\r\n\r\nb = 2\r\n", FILE).lines == {("a",): 1, ("b",): 3}


def test_what_has_no_line_of_its_own_gets_the_line_of_its_table() -> None:
    document = parse("[a]\nb = { c = { d = 1 } }\n", FILE)
    assert document.origin(("a", "b", "c", "d")) == Origin(FILE, 2)
    assert document.origin(("a", "missing")) == Origin(FILE, 1)
    assert document.origin(("elsewhere",)) == Origin(FILE, 0)


@pytest.mark.parametrize(
    ("text", "line"),
    [("a = 1\nb =\n", 2), ("a = 1\na = 2\n", 2), ("[[x]]\n[x]\n", 2), ('a = "open', 1)],
)
def test_what_is_not_toml_is_refused_with_its_line(text: str, line: int) -> None:
    with pytest.raises(SettingsError) as caught:
        parse(text, FILE)
    assert [problem.origin for problem in caught.value.problems] == [Origin(FILE, line)]


@pytest.mark.parametrize(
    "text",
    [
        "a = " + "[" * 100_000,
        "a = " + "9" * 10_000,
        "a." * 20_000 + "b = 1",
        "[" + "x." * 3000 + "x]",
    ],
    ids=["nesting", "digits", "dotted key", "dotted table"],
)
def test_a_hostile_file_is_refused_or_read_but_breaks_nothing(text: str) -> None:
    with contextlib.suppress(SettingsError):
        assert isinstance(parse(text, FILE).data, dict)


def test_an_unreadable_file_is_named_with_what_is_wrong(tmp_path: Path) -> None:
    long = tmp_path / "long.toml"
    long.write_bytes(b"#" * (MAX_BYTES + 1))
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'a = 1\nname = "\xe9"\n')
    fifo = tmp_path / "fifo.toml"
    os.mkfifo(fifo)
    found = {}
    for path in (tmp_path / "none.toml", tmp_path, long, latin, fifo):
        with pytest.raises(SettingsError) as caught:
            read(path)
        found[path.name] = caught.value.problems[0]
    assert "no such file" in found["none.toml"].what
    assert "regular file" in found[tmp_path.name].what
    assert "regular file" in found["fifo.toml"].what
    assert str(MAX_BYTES) in found["long.toml"].instead
    assert found["latin.toml"].origin == Origin(latin, 2)
    assert "UTF-8" in found["latin.toml"].what


def test_a_byte_order_mark_is_no_part_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "bom.toml"
    path.write_bytes(b"\xef\xbb\xbfa = 1\n")
    assert read(path).data == {"a": 1}


_ALPHABET = st.text(alphabet="ab.=[]{}\"'\\#,\n\r \t1é", max_size=60)


@given(_ALPHABET)
@example("\"a\" = ''''''\n")
@example("[[a]]\n[[a.b]]\n[a.b.c]\nd = 1\n")
def test_lines_are_found_for_whatever_is_toml(text: str) -> None:
    try:
        expected = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    document = parse(text, FILE)
    assert document.data == expected
    for path, line in document.lines.items():
        value: object = expected
        for step in path:
            value = value[step]  # type: ignore[index]
        assert 1 <= line <= text.count("\n") + 1


@pytest.mark.parametrize("text", ["{} = 1", "[{}]", "[[{}]]"])
def test_tables_that_are_too_deep_are_refused_by_name(text: str) -> None:
    """Whoever goes through a document recurses."""
    with pytest.raises(SettingsError, match=r"mgp\.toml.*more than 64 others"):
        parse(text.format(".".join("a" * 80)), FILE)
    assert parse(text.format(".".join("a" * 30)), FILE).data
    with pytest.raises(SettingsError, match="more than 64 others"):
        parse("a = " + "[" * 70 + "]" * 70, FILE)


@pytest.mark.parametrize("part", ["a", "-", '""', '"!"', '" . "', r'"\""', "'\"'", "' '", "''"])
@pytest.mark.parametrize("dot", [".", " .\t"])
def test_a_dotted_key_has_at_most_a_hundred_parts(part: str, dot: str) -> None:
    """However they are quoted. Of a text that is refused nothing is parsed, so that no number of parts costs time."""
    assert not has_long_key(dot.join([part] * 100) + " = 1")
    for text in ("{} = 1", "[{}]", "[[{}]]", "a = {{ {} = 1 }}", "b = 1\n{} = 1"):
        long = text.format(dot.join([part] * 101))
        assert has_long_key(long)
        with pytest.raises(SettingsError, match="more than a hundred parts"):
            parse(long, FILE)
    huge = dot.join([part] * (MAX_BYTES // len(part + dot)))
    with pytest.raises(SettingsError, match="more than a hundred parts"):
        parse(f"{huge} = 1", FILE)


def test_many_short_keys_are_no_long_one() -> None:
    assert not has_long_key("x = 'a.b'\n" * 200)
    assert not has_long_key("x = ['a', 'b', \"1.2.3.4\"]\n" * 200)


def test_what_cannot_be_looked_at_is_no_file_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "mgp.toml"
    (tmp_path / "folder").mkdir()
    (tmp_path / "nowhere").symlink_to("gone")
    file.touch()
    assert is_there(file)
    assert not is_there(tmp_path / "folder")
    assert is_there(tmp_path / "folder", plain=False)
    for name in ("gone", "nowhere", "mgp.toml/x", "a\0b"):
        assert not is_there(tmp_path / name)
    (tmp_path / "circle").symlink_to("circle")
    assert is_there(tmp_path / "circle")

    def closed(*_: object, **__: object) -> os.stat_result:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "stat", closed)
    assert is_there(file)
