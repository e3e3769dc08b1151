from __future__ import annotations

import json

import pytest

from gatewright.discovery.tokens import count

TOOL = {
    "name": "read_file",
    "description": "Read the complete contents of a file from the file system. Handles various text encodings.",
    "inputSchema": {
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "Where the file is, from the root."}
        },
        "required": ["path"],
        "additionalProperties": False,
    },
}

# What o200k_base makes of them.
SAMPLES = [
    (TOOL["description"], 18),
    (json.dumps(TOOL), 77),
    (json.dumps(TOOL, indent=2), 101),
    (
        "指定されたファイルの内容を読み取り、テキストとして返します。パスは絶対パスでなければなりません。"
        * 3,
        96,
    ),
    (
        "Liest den Inhalt einer Datei und gibt ihn als Text zurück. Der Pfad muss absolut sein."
        * 3,
        58,
    ),
]


@pytest.mark.parametrize(("text", "tokens"), SAMPLES)
def test_a_count_is_right_within_a_tenth(text: str, tokens: int) -> None:
    assert count(text) == pytest.approx(tokens, rel=0.1)


def test_nothing_has_no_tokens_and_something_has_one() -> None:
    assert count("") == 0
    assert count(" ") == 1


def test_counts_of_long_texts_take_no_long_time() -> None:
    assert count("a" * 1_000_000) > 100_000
    assert count("\ud800😀" * 1000) > 0
