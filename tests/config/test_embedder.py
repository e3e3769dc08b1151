"""`[discovery.embedder]`: what it needs, and what is not shown of it."""

from __future__ import annotations

from pathlib import Path

from gatewright.cli.config_values import values_of
from gatewright.config import load
from gatewright.config.changes import changes, policy_version
from gatewright.config.model import Settings


def said(folder: Path, text: str) -> Settings:
    file = folder / "mgp.toml"
    file.write_text(f"[discovery.embedder]\n{text}\n")
    return load(file)


ENDPOINT = 'type = "endpoint"\nurl = "http://me:hunter22@x/v1"\nmodel = "m"\n'


def test_without_a_word_vectors_are_those_of_the_package(tmp_path: Path) -> None:
    assert said(tmp_path, "").discovery.embedder.type == "built-in"


def test_neither_key_nor_password_is_shown_or_part_of_the_policys_name(tmp_path: Path) -> None:
    one = said(tmp_path, f'{ENDPOINT}key = "abcdefgh12345678"')
    two = said(tmp_path, f'{ENDPOINT}key = "${{secret:EMBED}}"')
    assert "abcdefgh" not in repr(one.discovery)
    shown = values_of(one)
    assert shown["discovery.embedder.key"] == "***"
    assert "hunter22" not in shown["discovery.embedder.url"]
    assert values_of(two)["discovery.embedder.key"] == "${secret:EMBED}"
    assert policy_version(one) == policy_version(two)
    assert changes(one, two).applied == ("discovery.embedder.key",)
