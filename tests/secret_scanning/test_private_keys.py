"""Private keys in text: whole ones, cut ones, escaped ones, and the mere mention of one."""

from __future__ import annotations

import pytest

from gatewright.secret_scanning.private_keys import goes_on, private_keys

LINE = b"MIIEvQIBADANBgkqhkiG9w0BAQEFAASC"
BEGIN, END = b"-----BEGIN RSA PRIVATE KEY-----", b"-----END RSA PRIVATE KEY-----"
KEY = b"\n".join((BEGIN, *[LINE] * 4, END))
PUTTY = b"PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nComment: c\nPublic-Lines: 1\n%b\nPrivate-Lines: 1\n%b\n"


def found(text: bytes) -> list[bytes]:
    return [text[start:end] for start, end, rule in private_keys(text) if rule == "private-key"]


@pytest.mark.parametrize("before", [b"", b"the key: ", KEY + b" and "])
@pytest.mark.parametrize("key", [KEY, KEY.replace(b"\n", b"\\n"), KEY.replace(b"RSA ", b"")])
def test_a_key_is_found_from_its_first_line_to_its_last(before: bytes, key: bytes) -> None:
    assert found(before + key + b" more")[-1] == key


def test_a_key_without_an_end_goes_as_far_as_base64() -> None:
    assert found(BEGIN + b"\n" + LINE * 3 + b"\n!") == [BEGIN + b"\n" + LINE * 3 + b"\n"]


@pytest.mark.parametrize("text", [b"", BEGIN, BEGIN + b" and " + END, LINE * 4, END])
def test_the_mention_of_a_key_is_none(text: bytes) -> None:
    assert found(text) == []


def test_an_end_that_is_far_away_belongs_to_something_else() -> None:
    text = BEGIN + b"\n" + LINE + b"\n! " + b"words " * 20_000 + END
    assert found(text) == [BEGIN + b"\n" + LINE + b"\n"]


@pytest.mark.parametrize("end", [b"\n", b"\\n"])
def test_a_cut_key_with_a_line_of_one_name_goes_as_far_as_base64(end: bytes) -> None:
    key = end.join((BEGIN, b"Version: GnuPG v1", b"", *[LINE] * 3, b"-----E"))
    assert found(b"a " + key) == [key.removesuffix(b"-----E")]


def test_of_a_putty_file_the_private_lines_go() -> None:
    assert found(PUTTY % (b"AAAAC3Nz", LINE)) == [LINE + b"\n"]


@pytest.mark.parametrize("rest", [b"", LINE, LINE + b"\n", LINE + b"\n---", LINE + b"\\"])
def test_a_key_whose_end_is_to_come_goes_on(rest: bytes) -> None:
    assert goes_on(b"key: " + BEGIN + b"\n" + rest, 5)
    assert not goes_on(b"key: " + BEGIN + b"\n" + rest + b"! other words", 5)
    assert not goes_on(b"key: " + BEGIN + b"\n" + rest, 4)
