"""Variables that choose what a program loads: named, asked for, or refused."""

from __future__ import annotations

import pytest
import typer

from gatewright.hosts.commands import import_consent
from gatewright.hosts.commands.import_consent import Consent


def at_terminal(patch: pytest.MonkeyPatch, *, there: bool, answer: bool = False) -> list[str]:
    asked: list[str] = []

    def confirm(text: str, **_: object) -> bool:
        asked.append(text)
        return answer

    patch.setattr(import_consent, "is_terminal", lambda _: there)
    patch.setattr(typer, "confirm", confirm)
    return asked


def test_without_a_terminal_only_what_was_named_is_permitted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert at_terminal(monkeypatch, there=False) == []
    assert Consent(["PATH"])("a", ("PATH",))
    assert not Consent(["PATH"])("a", ("PATH", "LD_PRELOAD"))
    assert not Consent()("a", ("PATH",))


@pytest.mark.parametrize("answer", [True, False])
def test_a_person_is_asked_once_for_each_server(
    answer: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = at_terminal(monkeypatch, there=True, answer=answer)
    consent = Consent()
    assert [consent(name, ("PATH",)) for name in "aab"] == [answer] * 3
    assert [text.split()[0] for text in asked] == ["a", "b"]
