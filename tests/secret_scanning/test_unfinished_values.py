"""Where a value that goes on in the next piece begins."""

from __future__ import annotations

import pytest

from gatewright.secret_scanning.unfinished_values import open_value


@pytest.mark.parametrize("quote", ['"', "'", "`", '\\"'])
@pytest.mark.parametrize("rest", ["", "q7w2e9r4\n", "q7w2e9r4\nt1y8u3i6\n" * 20])
def test_a_secret_in_quotes_is_open_until_they_close(quote: str, rest: str) -> None:
    text = f"say\npassword = {quote}{rest}".encode()
    assert open_value(text, 0, named=True) == len("say\npassword = ")
    closed = text + f"{quote}\nand".encode()
    assert open_value(closed, 0, named=True) == len(closed)


def test_its_name_may_have_gone() -> None:
    text = b'password = "q7w2e9r4\nt1y8'
    assert open_value(text, 11, named=True) == 11


@pytest.mark.parametrize(
    "text",
    [
        b"nothing of the kind",
        b"password = q7w2e9r4\n",
        b'the password: "is one of the words that people say\n',
        b'a pass: "x' + b"y" * 5000,
        b'value: "is one of the words that people say ' + b"and more " * 30,
    ],
)
def test_what_is_prose_or_too_long_is_not_open(text: bytes) -> None:
    assert open_value(text, 0, named=True) == len(text)


@pytest.mark.parametrize("value", ['"q7w2', '"q7w2"', "q7w2", '"q7w2",\n' + " " * 60 + '"name"'])
def test_a_value_may_be_named_behind_it(value: str) -> None:
    text = f'[{{"value": {value}'.encode()
    assert open_value(text, 0, named=False) == 3
    assert open_value(text + b" " * 300 + b'"', 0, named=False) in (3, len(text) + 301)
    done = f'[{{"value": {value}", '.encode() + b"other words " * 30
    assert open_value(done, 0, named=False) == len(done)
