"""Variables in values: one pass, and no literal placeholder ever gets through."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gatewright.config.sealed_file import SealedFile
from gatewright.config.secrets import Secrets
from gatewright.config.substitute import MAX_FILE_BYTES, Sources, Undefined, hides, substitute
from gatewright.storage.errors import StoreError
from tests.accepting import allow_secret

VARIABLES = {"TOKEN": "s3cret", "EMPTY": "", "NESTED": "${TOKEN}"}


def replace(text: str, variables: Mapping[str, str] = VARIABLES, folder: Path = Path()) -> str:
    sources = Sources(variables, lambda: SealedFile(folder), store=folder, file=folder / "mgp.toml")
    return substitute(text, sources, folder)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain", "plain"),
        ("$TOKEN", "$TOKEN"),
        ("${TOKEN}", "s3cret"),
        ("Bearer ${TOKEN}!", "Bearer s3cret!"),
        ("${env:TOKEN}", "s3cret"),
        ("${TOKEN:-other}", "s3cret"),
        ("${NONE:-other}", "other"),
        ("${NONE:-}", ""),
        ("${EMPTY}", ""),
        ("${EMPTY:-other}", "other"),
        ("${NONE:-a:-b}", "a:-b"),
        ("${NESTED}", "${TOKEN}"),
        ("$${TOKEN}", "${TOKEN}"),
        ("100%", "100%"),
    ],
)
def test_a_variable_is_replaced_once(text: str, expected: str) -> None:
    """MGP-15.2-3"""
    assert replace(text) == expected


def test_an_unset_variable_is_named_with_the_way_out() -> None:
    """MGP-15.2-3"""
    with pytest.raises(Undefined) as caught:
        replace("${CEREBRAS_API_KEY}", {})
    assert caught.value.what == "the environment variable CEREBRAS_API_KEY is not set"
    assert caught.value.instead == "set CEREBRAS_API_KEY, or write ${CEREBRAS_API_KEY:-default}"


@pytest.mark.parametrize(
    "text",
    [
        "${}",
        "${1}",
        "${A B}",
        "${cmd: id}",
        "${A:-${TOKEN}}",
        "${input:x}",
    ],
)
def test_what_only_looks_like_a_variable_is_refused(text: str) -> None:
    with pytest.raises(Undefined) as caught:
        replace(text)
    assert "not a substitution" in caught.value.what


@given(st.text(alphabet="${}:-aT1 \n", max_size=30))
def test_no_placeholder_survives(text: str) -> None:
    try:
        found = replace(text, {"T": "value", "a": "other"})
    except Undefined:
        return
    assert found.count("${") == text.count("$${")


def test_what_is_not_closed_is_refused() -> None:
    with pytest.raises(Undefined, match="has no end"):
        replace("${TOKEN")


def test_a_secret_comes_from_the_store_and_is_not_looked_at_again(tmp_path: Path) -> None:
    SealedFile(tmp_path).put("token", "${TOKEN}")
    allow_secret("token", tmp_path / "mgp.toml", tmp_path, VARIABLES)
    assert replace("Bearer ${secret:token}", folder=tmp_path) == "Bearer ${TOKEN}"


def test_a_secret_that_is_missing_or_no_name_is_named_with_the_way_out(tmp_path: Path) -> None:
    with pytest.raises(Undefined, match=r"the secret token is not set; .*secret set token"):
        replace("${secret:token}", folder=tmp_path)
    for text in ("${secret:}", "${secret:a/b}", "${secret:a:-b}"):
        with pytest.raises(Undefined, match="no name of a secret"):
            replace(text, folder=tmp_path)


def test_the_store_is_opened_only_when_it_is_needed_and_its_failure_is_told() -> None:
    def closed() -> Secrets:
        raise StoreError("locked")

    sources = Sources(VARIABLES, closed, store=Path("/nowhere"))
    assert substitute("${TOKEN}", sources, Path()) == "s3cret"
    with pytest.raises(Undefined, match="the secret token cannot be read: locked"):
        substitute("${secret:token}", sources, Path())


def test_a_file_below_the_configuration_is_read_without_its_last_line_end(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    (tmp_path / "below/token").write_text("two\nlines\r\n")
    (tmp_path / "link").symlink_to("below/token")
    assert replace("<${file:below/token}>", folder=tmp_path) == "<two\nlines>"
    assert replace("${file:link}", folder=tmp_path) == "two\nlines"


def test_no_way_leads_out_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("hunter2")
    folder = tmp_path / "config"
    folder.mkdir()
    (folder / "link").symlink_to("../outside")
    (folder / "up").symlink_to("..")
    (folder / "fine").write_text("x")
    bad = ["../outside", str(tmp_path / "outside"), "link", "up/outside", "", "a/../fine", "up"]
    for name in bad:
        with pytest.raises(Undefined, match="is not below|leads out") as found:  # noqa: RUF043
            replace(f"${{file:{name}}}", folder=folder)
        assert "hunter2" not in str(found.value)


def test_what_is_no_short_text_file_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "long").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    (tmp_path / "bytes").write_bytes(b"\xff")
    (tmp_path / "nul").write_bytes(b"a\0b")
    (tmp_path / "most").write_bytes(b"x" * MAX_FILE_BYTES)
    wrong = {"fifo": "regular", "long": "bytes", "bytes": "UTF-8", "nul": "NUL", "none": "No such"}
    for name, why in {**wrong, ".": "directory"}.items():
        with pytest.raises(Undefined, match=why):
            replace(f"${{file:{name}}}", folder=tmp_path)
    assert len(replace("${file:most}", folder=tmp_path)) == MAX_FILE_BYTES


def test_what_takes_something_in_may_hide_something() -> None:
    found = [hides(text) for text in ("plain", "$${x}", "a ${X} b", "${secret:x}")]
    assert found == [False, False, True, True]
