"""Text to data by content; hostile text is an error of ours that repeats none of it."""

import time
from typing import Any

import pytest

from gatewright.hosts.model import CannotRead
from gatewright.hosts.parse import MAX_SLOW_BYTES, parse


@pytest.mark.parametrize(
    ("text", "data"),
    [
        ('{"a": 1}', {"a": 1}),
        ('\ufeff{"a": 1}', {"a": 1}),
        ('// x\n{"a": 1, /* y */ "b": [1, 2,],}\n', {"a": 1, "b": [1, 2]}),
        ('{"a": "http://x/* no, */",}', {"a": "http://x/* no, */"}),
        ('{"a": "\\",]"}', {"a": '",]'}),
        ("{a: 'x', }", {"a": "x"}),
        ("[a]\nb = 1", {"a": {"b": 1}}),
        ('# c\nb = "x"\n', {"b": "x"}),
        ("[[servers]]\nid = 'a'", {"servers": [{"id": "a"}]}),
        ("a:\n  b: 1", {"a": {"b": 1}}),
        ("a: &x {k: 1}\nb:\n  <<: *x", {"a": {"k": 1}, "b": {"k": 1}}),
    ],
)
def test_each_syntax_is_told_by_its_content(text: str, data: Any) -> None:
    assert parse(text.encode()) == data


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ('{"a": hunter2}', "this is not JSON from line 1 on"),
        ('{\n"a": 1,\n"b" hunter2}', "this is not JSON from line 3 on"),
        ("[a]\nb = hunter2", "this is not TOML from line 2 on"),
        ("[a]\nb =", "this is not TOML from line 2 on"),
        ("a: b\n  c: [hunter2", "this is not YAML from line 2 on"),
        ("a: !!python/object:os.system hunter2", "this is not YAML from line 1 on"),
    ],
)
def test_an_error_names_the_line_and_nothing_of_the_text(text: str, what: str) -> None:
    with pytest.raises(CannotRead) as found:
        parse(text.encode())
    assert (found.value.kind, found.value.what) == ("syntax", what)
    assert "hunter2" not in str(found.value)


def test_what_is_not_text_is_named_with_its_line() -> None:
    with pytest.raises(CannotRead) as found:
        parse(b"a\n\xff")
    assert (found.value.kind, found.value.what) == ("not-text", "line 2 is not UTF-8")
    with pytest.raises(CannotRead, match="empty"):
        parse(b" \n")


def _bombs() -> dict[str, bytes]:
    steps = range(20)
    laughs = [b"%c: &%c [%s]" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in steps]
    merges = [
        b"%c: &%c {<<: [%s]}" % (98 + n, 98 + n, b",".join([b"*%c" % (97 + n)] * 9)) for n in steps
    ]
    return {
        "laughs": b"\n".join([b"a: &a [x, x, x]", *laughs]),
        "merges": b"\n".join([b"a: &a {x: 1}", *merges]),
        "itself": b"a: &a [*a]",
        "deep yaml": b"- " * 200_000 + b"x",
        "deep json": b"[" * 1_000_000,
        "deep toml": b"[a]\nb = " + b"[" * 100_000,
        "long key": b"a" + b".a" * 500_000 + b" = 1",
        "slow toml": b"a = 1\n" + b"# x\n" * (MAX_SLOW_BYTES // 4 + 1),
        "slow yaml": b"a: 1\n" + b"# x\n" * (MAX_SLOW_BYTES // 4 + 1),
        "quotes": b"{" + b'"\\' * 2_000_000,
        "comments": b"{" + b"/*" * 2_000_000,
        "commas": b"{" + b", " * 2_000_000,
    }


@pytest.mark.parametrize("name", _bombs())
def test_a_small_text_that_means_endless_work_is_refused_soon(name: str) -> None:
    began = time.process_time()
    with pytest.raises(CannotRead):
        parse(_bombs()[name])
    assert time.process_time() - began < 20
